/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/exports.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "nfsd-io/server/exports_client.h"
#include "nfsd-io/server/exports_opts.h"
#include "nfsd-io/server/exports_text.h"

#define PATH_LEN_MAX 4095

/* One line: its path and what its -options give every client. */
struct line {
	struct exports_text text;
	struct export_table *t;
	char path[PATH_LEN_MAX + 1];
	struct exports_opts defaults;
};

/* "//" and "/" at the end folded; false when it is not an absolute path that can be one. */
static bool fold_path(const char *in, char *out)
{
	size_t n = 0;

	if (*in != '/')
		return false;
	for (; *in; in++) {
		if (*in == '/' && (in[1] == '/' || !in[1]) && (n || in[1]))
			continue;
		if (n >= PATH_LEN_MAX)
			return false;
		out[n++] = *in;
	}
	if (n > 1 && out[n - 1] == '/')
		n--;
	out[n] = '\0';
	return true;
}

/* Room for one more behind n: doubled at powers of two, so that a long file is not copied once a
 * line. */
static void *room(void *array, unsigned n, size_t size)
{
	if (n & (n - 1))
		return array;
	return reallocarray(array, n ? 2 * (size_t)n : 1, size);
}

static struct export *export_of(struct export_table *t, const char *path)
{
	struct export *more;

	for (unsigned i = t->n; i-- > 0;)
		if (!strcmp(t->exports[i].path, path))
			return &t->exports[i];
	more = room(t->exports, t->n, sizeof(*more));
	if (!more)
		return NULL;
	t->exports = more;
	more += t->n;
	memset(more, 0, sizeof(*more));
	more->path = strdup(path);
	if (!more->path)
		return NULL;
	t->n++;
	return more;
}

static int append(struct export *x, const struct export_client *c)
{
	struct export_client *more = room(x->clients, x->nclients, sizeof(*more));

	if (!more)
		return -ENOMEM;
	x->clients = more;
	more[x->nclients++] = *c;
	return 0;
}

static bool is_sorted(const struct export *x)
{
	for (unsigned i = 1; i < x->nclients; i++)
		if (x->clients[i - 1].match > x->clients[i].match)
			return false;
	return true;
}

/* Match order: by kind, and in each as written.  Once a text, not once a client. */
static int sort(struct export *x)
{
	struct export_client *to;
	unsigned n = 0;
	size_t size = 1;

	if (is_sorted(x))
		return 0;
	while (size < x->nclients) /* as room() would have made it */
		size *= 2;
	to = reallocarray(NULL, size, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (unsigned kind = EXPORT_HOST; kind <= EXPORT_ANY; kind++)
		for (unsigned i = 0; i < x->nclients; i++)
			if (x->clients[i].match == kind)
				to[n++] = x->clients[i];
	free(x->clients);
	x->clients = to;
	return 0;
}

static int sort_all(struct export_table *t, struct conf_errors *e)
{
	int err = 0;

	for (unsigned i = 0; i < t->n && !err; i++)
		err = sort(&t->exports[i]);
	if (err)
		conf_error(e, false, "%s", strerror(-err));
	return err;
}

/* FNV-1a */
static uint32_t hash_of(const char *pattern)
{
	uint32_t h = 2166136261u;

	for (; *pattern; pattern++)
		h = (h ^ (uint32_t)tolower((unsigned char)*pattern)) * 16777619u;
	return h;
}

static const struct export_client *twin(const struct export *x, const struct export_client *c)
{
	for (unsigned i = 0; i < x->nclients; i++)
		if (x->clients[i].pattern_hash == c->pattern_hash &&
		    x->clients[i].match == c->match &&
		    (c->match == EXPORT_ANY || !strcasecmp(x->clients[i].pattern, c->pattern)))
			return &x->clients[i];
	return NULL;
}

static int fsid_agrees(const struct line *l, const struct export *x, uint32_t fsid)
{
	for (unsigned i = 0; fsid && i < x->nclients; i++) {
		uint32_t other = x->clients[i].opts.fsid;

		if (other && other != fsid) {
			exports_text_say(&l->text, false,
					 "%s: fsid=%u here but %u at %s:%u: an export has one",
					 x->path, fsid, other, x->clients[i].file,
					 x->clients[i].line);
			return -EINVAL;
		}
	}
	return 0;
}

/* Takes what `c` owns. */
static int add(struct line *l, struct export_client *c)
{
	struct export *x = export_of(l->t, l->path);
	const struct export_client *same = x ? twin(x, c) : NULL;
	int err;

	if (same) {
		exports_text_say(&l->text, true,
				 "%s is exported to \"%s\" already at %s:%u: this one is ignored",
				 l->path, *c->pattern ? c->pattern : "*", same->file, same->line);
		err = 0;
		exports_client_fini(c);
		return err;
	}
	err = x ? fsid_agrees(l, x, c->opts.fsid) : -ENOMEM;
	if (!err)
		err = append(x, c);
	if (err)
		exports_client_fini(c);
	return err;
}

static int add_named(struct line *l, const char *name, const struct exports_opts *o)
{
	struct export_client c = {.opts = o->o, .file = l->text.file, .line = l->text.line};
	const char *why;
	int err = exports_client_init(&c, name, &why);

	if (err == -ENOTSUP) {
		exports_text_say(&l->text, true,
				 "%s: Kerberos is not served: this client is ignored", name);
		return 0;
	}
	if (err) {
		exports_text_say(&l->text, false, "client \"%s\": %s", name, why);
		return err;
	}
	c.pattern_hash = hash_of(c.pattern);
	return add(l, &c);
}

/* Nobody named: the world, as exports(5) has it, whether or not that was meant. */
static int add_world(struct line *l, const char *options, const struct exports_opts *o)
{
	exports_text_say(
		&l->text, true,
		"%s%s%s%s: no client named: exported to the world; write *(...) if that is meant",
		l->path, options ? " (" : "", options ? options : "", options ? ")" : "");
	return add_named(l, "", o);
}

/* "client(opts)", "client", "(opts)". */
static int take_client(struct line *l, char *word)
{
	char *open = strchr(word, '('), *close = open ? strchr(open, ')') : NULL;
	struct exports_opts o = l->defaults;

	if (open && (!close || close[1])) {
		exports_text_say(&l->text, false, "%s: %s", word,
				 close ? "something behind )"
				       : "no ): blanks are not allowed between ( and )");
		return -EINVAL;
	}
	if (open) {
		*open++ = '\0';
		*close = '\0';
		if (exports_opts_parse(&o, open, &l->text))
			return -EINVAL;
	}
	return *word ? add_named(l, word, &o) : add_world(l, open, &o);
}

static int take_clients(struct line *l)
{
	char word[EXPORTS_WORD_MAX];
	unsigned n = 0;
	int err = 0, got;

	while ((got = exports_text_word(&l->text, word)) > 0) {
		if (*word == '-') {
			if (exports_opts_parse(&l->defaults, word + 1, &l->text))
				err = -EINVAL;
			continue;
		}
		if (take_client(l, word))
			err = -EINVAL;
		n++;
	}
	if (!got && !n && !err)
		err = add_world(l, NULL, &l->defaults);
	return got ? got : err;
}

static int take_line(struct line *l)
{
	char word[EXPORTS_WORD_MAX];
	int err = exports_text_word(&l->text, word);

	if (err < 0)
		return err;
	exports_opts_default(&l->defaults);
	if (!fold_path(word, l->path)) {
		exports_text_say(&l->text, false, "\"%s\": an absolute path must come first", word);
		return -EINVAL;
	}
	return take_clients(l);
}

int exports_parse(struct export_table *t, const char *text, size_t len, const char *file,
		  struct conf_errors *e)
{
	struct line *l = calloc(1, sizeof(*l));
	int err = 0;

	if (!l)
		return -1;
	l->t = t;
	exports_text_init(&l->text, text, len, file, e);
	while (exports_text_line(&l->text))
		if (take_line(l))
			err = -1;
	free(l);
	return sort_all(t, e) ? -1 : err;
}

/* Who started the server: behind sudo, not root but who called it. */
static uint32_t caller(const char *sudo, uint32_t id)
{
	const char *env = geteuid() ? NULL : getenv(sudo);
	char *end;
	unsigned long v = env ? strtoul(env, &end, 10) : 0;

	return env && *env && !*end && v < UINT32_MAX ? (uint32_t)v : id;
}

/*
 * No client named on the command line: this host only, and everybody there is
 * who started the server.  When that is root, only root's own ports may come:
 * else any local user could leave files of root behind.
 */
static int add_loopback(struct line *l, const char *options)
{
	uint32_t uid = caller("SUDO_UID", geteuid()), gid = caller("SUDO_GID", getegid());
	struct exports_opts o;
	int err;

	exports_opts_default(&o);
	o.o.rw = true;
	o.o.secure = uid == 0;
	if (exports_opts_parse(&o, options, &l->text))
		return -EINVAL;
	if (!o.squash_given) {
		o.o.all_squash = true;
		o.o.anonuid = uid;
		o.o.anongid = gid;
	}
	err = add_named(l, "127.0.0.0/8", &o);
	return err ? err : add_named(l, "::1", &o);
}

/* DIR of a --export word: made absolute, in *path; what stands behind its colon in *rest, NULL when
 * nothing. */
static int split_arg(const char *word, char **path, const char **rest)
{
	const char *colon = strchr(word, ':');
	char *dir;

	/* A directory whose name has a colon can be served, but not with clients named. */
	if (colon && !access(word, F_OK))
		colon = NULL;
	*rest = colon ? colon + 1 : NULL;
	dir = colon ? strndup(word, (size_t)(colon - word)) : strdup(word);
	if (!dir)
		return -ENOMEM;
	*path = realpath(dir, NULL);
	if (!*path && *dir == '/')
		*path = strdup(dir);
	free(dir);
	return *path ? 0 : -ENOENT;
}

int exports_arg(struct export_table *t, const char *word, struct conf_errors *e)
{
	struct line *l = calloc(1, sizeof(*l));
	const char *rest = NULL;
	char *path = NULL, *options = NULL;
	int err = l ? split_arg(word, &path, &rest) : -ENOMEM;

	if (err) {
		conf_error(e, false, "--export %s: %s", word, strerror(-err));
		goto fail;
	}
	l->t = t;
	exports_text_init(&l->text, rest ? rest : "", rest ? strlen(rest) : 0, "--export", e);
	l->text.line = 0;
	exports_opts_default(&l->defaults);
	err = fold_path(path, l->path) ? 0 : -EINVAL;
	if (err) {
		conf_error(e, false, "--export %s: not a path that can be exported", word);
	} else if (!rest || !*rest) {
		err = add_loopback(l, "");
	} else if (*rest == '(' && rest[strlen(rest) - 1] == ')') {
		options = strndup(rest + 1, strlen(rest) - 2);
		err = options ? add_loopback(l, options) : -ENOMEM;
	} else {
		err = take_clients(l);
	}
fail:
	free(options);
	free(path);
	free(l);
	if (sort_all(t, e))
		err = -ENOMEM;
	return err ? -1 : 0;
}
