/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/conf.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include <unistd.h>

#include "nfsd-io/server/conf_dirs.h"
#include "nfsd-io/server/conf_read.h"
#include "nfsd-io/server/conf_table.h"
#include "nfsd-io/server/conf_value.h"

/* A file of nothing but mistakes must not fill memory.  Warnings stop first, so that errors are
 * never lost. */
#define WARNINGS_MAX 500
#define ERRORS_MAX 1000

/* A name of some length must fit before it (IDMAP_MAX). */
#define DOMAIN_MAX 80
#define DOMAIN_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"

struct load {
	struct conf *c;
	struct conf_errors *e;
};

static bool errors_grow(struct conf_errors *e)
{
	char **line = realloc(e->line, (e->n + 1) * sizeof(*line));
	bool *warning;

	if (!line)
		return false;
	e->line = line;
	warning = realloc(e->warning, (e->n + 1) * sizeof(*warning));
	if (!warning)
		return false;
	e->warning = warning;
	return true;
}

/* What stands in a file may be any bytes; what is printed is not to move a terminal's cursor. */
static char *without_controls(char *s)
{
	char *out = malloc(4 * strlen(s) + 1), *p = out;

	for (const char *c = s; out && *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			p += sprintf(p, "\\%03o", (unsigned char)*c);
		else
			*p++ = *c;
	}
	if (!out)
		return s;
	*p = '\0';
	free(s);
	return out;
}

void conf_error(struct conf_errors *e, bool warning, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (e->n >= (warning ? WARNINGS_MAX : ERRORS_MAX) || !errors_grow(e))
		return;
	va_start(ap, fmt);
	n = vasprintf(&e->line[e->n], fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	e->line[e->n] = without_controls(e->line[e->n]);
	e->warning[e->n++] = warning;
	e->nwarnings += warning;
}

void conf_errors_free(struct conf_errors *e)
{
	for (unsigned i = 0; i < e->n; i++)
		free(e->line[i]);
	free(e->line);
	free(e->warning);
	memset(e, 0, sizeof(*e));
}

const char *conf_intern(const char *s)
{
	static struct name {
		struct name *next;
		char text[];
	} * names;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct name *n;

	pthread_mutex_lock(&lock);
	for (n = names; n && strcmp(n->text, s); n = n->next)
		;
	if (!n && (n = malloc(sizeof(*n) + strlen(s) + 1))) {
		strcpy(n->text, s);
		n->next = names;
		names = n;
	}
	pthread_mutex_unlock(&lock);
	return n ? n->text : "?";
}

static struct conf_export *export_section(struct conf *c, const struct conf_item *i)
{
	struct conf_export *more, *x;

	for (unsigned n = 0; n < c->nexports; n++)
		if (!strcmp(c->exports[n].path, i->arg))
			return &c->exports[n];
	more = realloc(c->exports, (c->nexports + 1) * sizeof(*more));
	if (!more)
		return NULL;
	c->exports = more;
	x = &more[c->nexports];
	memset(x, 0, sizeof(*x));
	x->path = strdup(i->arg);
	if (!x->path)
		return NULL;
	x->file = i->file;
	x->line = i->line;
	c->nexports++;
	return x;
}

/* Said once, where the section begins; its keys say nothing more. */
static void check_section(const struct load *l, const struct conf_item *i)
{
	const char *like = conf_table_like_section(i->section);

	if (conf_table_has_section(i->section) || conf_table_knfsd(i->section, "", ""))
		return;
	if (like)
		conf_error(l->e, false, "%s: [%s]: unknown section (did you mean [%s]?)", i->at,
			   i->section, like);
	else
		conf_error(l->e, false, "%s: [%s]: unknown section", i->at, i->section);
}

static void unknown_key(const struct load *l, const struct conf_item *i, const char *section)
{
	const char *like = conf_table_like_key(section, i->name),
		   *other = conf_table_elsewhere(i->name);

	if (other && strcasecmp(other, section))
		conf_error(l->e, false, "%s: [%s] %s: unknown key (it belongs to [%s])", i->at,
			   i->section, i->name, other);
	else if (like)
		conf_error(l->e, false, "%s: [%s] %s: unknown key (did you mean %s?)", i->at,
			   i->section, i->name, like);
	else
		conf_error(l->e, false, "%s: [%s] %s: unknown key", i->at, i->section, i->name);
}

static int set_key(const struct load *l, const struct conf_key *k, void *field,
		   const struct conf_item *i)
{
	char why[512] = "out of memory";
	int err = conf_value_set(k, field, i->value, why, sizeof(why));

	if (err)
		conf_error(l->e, false, "%s: [%s] %s: %s", i->at, i->section, i->name, why);
	return err;
}

/* [export "PATH"]: the keys of [io] that can differ by export. */
static void take_export(const struct load *l, const struct conf_item *i)
{
	const struct conf_key *k = i->name ? conf_table_find("io", i->name) : NULL;
	struct conf_export *x;
	char *field;

	if (!i->name && *i->arg == '/') {
		export_section(l->c, i);
		return;
	}
	if (*i->arg != '/') {
		if (i->name)
			return;
		conf_error(l->e, false,
			   "%s: [%s \"%s\"]: a path that begins with / must stand here", i->at,
			   i->section, i->arg);
		return;
	}
	if (k && !k->set_offset) {
		conf_error(l->e, false,
			   "%s: [%s \"%s\"] %s: holds for the whole server: put it in [io]", i->at,
			   i->section, i->arg, i->name);
		return;
	}
	if (!k) {
		unknown_key(l, i, "io");
		return;
	}
	x = export_section(l->c, i);
	if (!x)
		return;
	field = (char *)&x->io + (k->offset - offsetof(struct conf, io));
	if (!set_key(l, k, field, i))
		*(bool *)((char *)x + k->set_offset) = true;
}

static void take_item(void *user, const struct conf_item *i)
{
	const struct load *l = user;
	const struct conf_key *k = i->name ? conf_table_find(i->section, i->name) : NULL;
	const char *word;

	if (!strcasecmp(i->section, "export")) {
		take_export(l, i);
		return;
	}
	if (!i->name) {
		check_section(l, i);
		return;
	}
	if (*i->arg) {
		conf_error(l->e, false, "%s: [%s \"%s\"]: only [export \"PATH\"] takes an argument",
			   i->at, i->section, i->arg);
		return;
	}
	if (k) {
		if (!set_key(l, k, (char *)l->c + k->offset, i))
			l->c->where[k - conf_table] = (struct conf_where){i->file, i->line};
		return;
	}
	word = conf_table_knfsd(i->section, i->name, i->value);
	if (word && *word)
		conf_error(l->e, true, "%s: [%s] %s: no effect: %s", i->at, i->section, i->name,
			   word);
	else if (!word && conf_table_has_section(i->section))
		unknown_key(l, i, i->section);
}

/* "-o section.key=value" or "-o 'export "/path".key=value'". */
static void take_override(struct load *l, const char *word)
{
	const char *eq = strchr(word, '='), *dot = NULL, *quote = strchr(word, '"'), *endq = NULL;
	struct conf_item i = {.arg = "", .file = "-o", .at = "-o"};
	char *section, *arg = NULL, *name = NULL;

	if (quote && (endq = strchr(quote + 1, '"')))
		eq = strchr(endq, '=');
	if (eq)
		dot = endq ? memchr(endq, '.', (size_t)(eq - endq))
			   : memchr(word, '.', (size_t)(eq - word));
	if (!dot || dot == word || dot + 1 == eq) {
		conf_error(l->e, false, "-o %s: not section.key=value", word);
		return;
	}
	section = strndup(word, endq ? strcspn(word, " \"") : (size_t)(dot - word));
	name = strndup(dot + 1, (size_t)(eq - dot) - 1);
	if (endq)
		arg = strndup(quote + 1, (size_t)(endq - quote) - 1);
	if (section && name && (!endq || arg)) {
		i.section = section;
		if (arg)
			i.arg = arg;
		take_item(l, &i);
		i.name = name;
		i.value = eq + 1;
		take_item(l, &i);
	}
	free(section);
	free(name);
	free(arg);
}

static void set_defaults(struct conf *c)
{
	char why[256];

	for (unsigned i = 0; i < conf_table_len; i++)
		conf_value_set(&conf_table[i], (char *)c + conf_table[i].offset, conf_table[i].def,
			       why, sizeof(why));
}

/* Set as by a file, so that -o still wins but plain defaults do not. */
static void preset(struct load *l, const char *section, const char *name, const char *value)
{
	const struct conf_key *k = conf_table_find(section, name);
	struct conf_item i = {section, "", name, value, "embedded default", 0, "embedded default"};

	set_key(l, k, (char *)l->c + k->offset, &i);
	l->c->where[k - conf_table] = (struct conf_where){"embedded default", 0};
}

static bool set_by_operator(const struct conf *c, const char *section, const char *name)
{
	const struct conf_where *w = &c->where[conf_table_find(section, name) - conf_table];

	return w->file && strcmp(w->file, "embedded default");
}

static bool names_a_client(const struct conf_options *o)
{
	for (unsigned i = 0; i < o->nexport_args; i++)
		if (strchr(o->export_args[i], ':') && !strstr(o->export_args[i], ":("))
			return true;
	return false;
}

/* The embedded default: nothing outside of this host, nothing that needs root. */
static void set_embedded(struct load *l, const struct conf_options *o)
{
	preset(l, "nfsd", "port", "20490");
	preset(l, "nfsd", "rpcbind", "n");
	if (!names_a_client(o))
		preset(l, "nfsd", "host", "127.0.0.1, ::1");
	preset(l, "exports", "file", "");
	preset(l, "exports", "directory", "");
}

static void read_files(struct load *l, const char *file)
{
	char *dir = strdup(file), *slash = dir ? strrchr(dir, '/') : NULL, *confd = NULL;

	if (dir && asprintf(&confd, "%.*s/conf.d", slash ? (int)(slash - dir) : 1,
			    slash ? dir : ".") >= 0) {
		conf_read_file(file, take_item, l, l->e);
		conf_read_dir(confd, take_item, l, l->e);
		free(confd);
	}
	free(dir);
}

static int copy_args(struct conf *c, const struct conf_options *o)
{
	if (!o->nexport_args)
		return 0;
	c->export_args = calloc(o->nexport_args, sizeof(*c->export_args));
	if (!c->export_args)
		return -ENOMEM;
	for (; c->nexport_args < o->nexport_args; c->nexport_args++) {
		c->export_args[c->nexport_args] = strdup(o->export_args[c->nexport_args]);
		if (!c->export_args[c->nexport_args])
			return -ENOMEM;
	}
	return 0;
}

static int replace(char **field, char *value)
{
	if (!value)
		return -ENOMEM;
	free(*field);
	*field = value;
	return 0;
}

static void drop_if_empty(char **field)
{
	if (*field && !**field) {
		free(*field);
		*field = NULL;
	}
}

/* As libnfsidmap, which clients use, but without a look into the DNS. */
static char *host_domain(void)
{
	char host[256] = "";
	const char *dot;

	gethostname(host, sizeof(host) - 1);
	dot = strchr(host, '.');
	return strdup(dot && dot[1] ? dot + 1 : "localdomain");
}

/* Values that follow from others. */
static int derive(struct conf *c)
{
	char *key = NULL, *sock = NULL;
	int err = 0;

	if (c->embedded && !set_by_operator(c, "nfsd", "state-directory-path"))
		err = replace(&c->state_dir, conf_dirs_state());
	if (c->embedded && !c->nexport_args && !*c->exports_file && !*c->exports_dir && !err)
		err = replace(&c->embedded_dir, conf_dirs_export());
	if (c->embedded && !set_by_operator(c, "control", "socket") && !err)
		err = replace(&c->socket,
			      asprintf(&sock, "%s/control.sock", c->state_dir) < 0 ? NULL : sock);
	if (!*c->key_file && !err)
		err = replace(&c->key_file,
			      asprintf(&key, "%s/fh.key", c->state_dir) < 0 ? NULL : key);
	if (c->idmap_names && !*c->domain && !err)
		err = replace(&c->domain, host_domain());
	/* --export says what to serve: the standard files are read besides only when asked for. */
	if (c->nexport_args && !set_by_operator(c, "exports", "file"))
		*c->exports_file = '\0';
	if (c->nexport_args && !set_by_operator(c, "exports", "directory"))
		*c->exports_dir = '\0';
	drop_if_empty(&c->exports_file);
	drop_if_empty(&c->exports_dir);
	return err;
}

static bool nothing_installed(void)
{
	return access(CONF_FILE, F_OK) && access(CONF_DIR, F_OK) && access("/etc/exports", F_OK);
}

int conf_load(struct conf *c, const struct conf_options *o, struct conf_errors *e)
{
	struct load l = {c, e};
	unsigned before = conf_nerrors(e);
	int err;

	memset(c, 0, sizeof(*c));
	set_defaults(c);
	c->embedded = !o->file && (o->nexport_args || nothing_installed());
	if (c->embedded)
		set_embedded(&l, o);
	else if (o->file || !access(CONF_FILE, F_OK))
		read_files(&l, o->file ? o->file : CONF_FILE);
	for (unsigned i = 0; i < o->noverrides; i++)
		take_override(&l, o->overrides[i]);
	err = copy_args(c, o);
	if (!err)
		err = derive(c);
	if (err)
		conf_error(e, false, "state directory: %s", strerror(-err));
	if (c->domain && (strlen(c->domain) > DOMAIN_MAX ||
			  c->domain[strspn(c->domain, DOMAIN_CHARS)]))
		conf_error(e, false, "[nfsd] domain: not the name of a domain");
	if (!c->vers3 && (!c->vers4 || !(c->vers40 || c->vers41 || c->vers42)))
		conf_error(e, false, "[nfsd] vers3, vers4: no version is left to be served");
	if (c->socket && strlen(c->socket) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		conf_error(e, false, "[control] socket: %s: a socket's name has at most %zu bytes",
			   c->socket, sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	return conf_nerrors(e) > before ? -1 : 0;
}

void conf_free(struct conf *c)
{
	for (unsigned i = 0; i < conf_table_len; i++)
		conf_value_clear(&conf_table[i], (char *)c + conf_table[i].offset);
	for (unsigned i = 0; i < c->nexports; i++)
		free(c->exports[i].path);
	for (unsigned i = 0; i < c->nexport_args; i++)
		free(c->export_args[i]);
	free(c->exports);
	free(c->export_args);
	free(c->embedded_dir);
	memset(c, 0, sizeof(*c));
}

struct root_io conf_io_for(const struct conf *c, const char *path)
{
	struct root_io io = c->io;

	for (unsigned i = 0; i < c->nexports; i++) {
		const struct conf_export *x = &c->exports[i];

		if (strcmp(x->path, path))
			continue;
		if (x->set_read_mode)
			io.read_mode = x->io.read_mode;
		if (x->set_write_mode)
			io.write_mode = x->io.write_mode;
		if (x->set_rule)
			io.rule = x->io.rule;
		if (x->set_read_direct_min)
			io.read_direct_min = x->io.read_direct_min;
		if (x->set_min_middle)
			io.min_middle = x->io.min_middle;
		if (x->set_on_unsupported)
			io.fail_unsupported = x->io.fail_unsupported;
		if (x->set_reply)
			io.reply = x->io.reply;
		if (x->set_splice_buffered)
			io.splice_buffered = x->io.splice_buffered;
		if (x->set_receive)
			io.receive = x->io.receive;
	}
	return io;
}

void conf_note_restart(const struct conf *old, const struct conf *new, struct conf_errors *e)
{
	for (unsigned i = 0; i < conf_table_len; i++) {
		const struct conf_key *k = &conf_table[i];

		if (k->restart && !conf_value_equal(k, (const char *)old + k->offset,
						    (const char *)new + k->offset))
			conf_error(e, true, "[%s] %s: changed, takes effect at the next start",
				   k->section, k->name);
	}
}
