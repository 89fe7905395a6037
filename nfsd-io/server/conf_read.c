/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/conf_read.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)
#define DEPTH_MAX 8
#define FILES_MAX                                                                                  \
	256 /* in one reading: files that include each other twice would grow without bound */

/* One reading: where values go, and how many files it took. */
struct reading {
	conf_item_fn *fn;
	void *user;
	struct conf_errors *e;
	unsigned files;
};

struct source {
	const char *text;
	size_t left;
	const char *file; /* interned */
	unsigned line;
	unsigned depth; /* of includes */
	char *section, *arg;
	bool skip;        /* in a section that was not understood */
	char *long_value; /* the value of this line when it is too long for libinih */
	struct reading *to;
};

static void read_file(const char *path, unsigned depth, struct reading *to);

static void complain(struct source *s, const char *what, const char *word)
{
	conf_error(s->to->e, false, "%s:%u: %s%s", s->file, s->line, what, word);
}

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return s;
}

/* One pair of quotes around the whole. */
static char *unquote(char *s)
{
	size_t len = strlen(s);

	if (len >= 2 && (*s == '"' || *s == '\'') && s[len - 1] == *s) {
		s[len - 1] = '\0';
		return s + 1;
	}
	return s;
}

/* Same rule as libinih's: " ;" begins a comment. */
static void strip_comment(char *s)
{
	for (; *s; s++) {
		if (*s == ';' && isspace((unsigned char)s[-1])) {
			*s = '\0';
			return;
		}
	}
}

static void hand_over(struct source *s, const char *name, const char *value)
{
	struct conf_item i = {s->section, s->arg, name, value, s->file, s->line, NULL};
	char *at;

	if (asprintf(&at, "%s:%u", s->file, s->line) < 0)
		return;
	i.at = at;
	s->to->fn(s->to->user, &i);
	free(at);
}

/* "[name]" or "[name "arg"]": what follows the bracket may only be a comment. */
static void begin_section(struct source *s, const char *line)
{
	const char *close = strchr(line, ']'), *quote = strchr(line, '"');
	char *inside, *name, *arg;

	s->skip = true;
	if (quote && close && quote < close) {
		const char *endq = strchr(quote + 1, '"');

		close = endq ? strchr(endq, ']') : NULL;
	}
	if (!close) {
		complain(s, "section without ]: ", line);
		return;
	}
	inside = strndup(line + 1, (size_t)(close - line) - 1);
	if (!inside)
		return;
	name = trim(inside);
	arg = name + strcspn(name, " \t\"");
	free(s->section);
	free(s->arg);
	s->section = strndup(name, (size_t)(arg - name));
	s->arg = strdup(unquote(trim(arg)));
	free(inside);
	s->skip = !s->section || !s->arg;
	if (!s->skip)
		hand_over(s, NULL, NULL);
}

/* The next line of the text in *line (malloc'd), or NULL at the end. */
static char *next_line(struct source *s)
{
	const char *nl = memchr(s->text, '\n', s->left);
	size_t len = nl ? (size_t)(nl - s->text) : s->left, used = nl ? len + 1 : len;
	char *line;

	if (!s->left)
		return NULL;
	s->line++;
	line = strndup(s->text, len);
	if (line && strlen(line) != len) {
		complain(s, "NUL byte", "");
		*line = '\0';
	}
	s->text += used;
	s->left -= used;
	return line;
}

/* libinih asks for a line of at most num - 1 bytes; it gets one it can take. */
static char *give_line(char *out, int num, void *stream)
{
	struct source *s = stream;
	char *raw = next_line(s), *line, *eq;

	if (!raw)
		return NULL;
	line = trim(raw);
	free(s->long_value);
	s->long_value = NULL;
	strcpy(out, "\n");
	eq = strchr(line, '=');
	if (*line == '[') {
		begin_section(s, line);
	} else if (*line && *line != '#' && *line != ';') {
		if (!eq || eq == line) {
			complain(s, "not \"name = value\": ", line);
		} else if (strlen(line) + 2 <= (size_t)num) {
			sprintf(out, "%s\n", line);
		} else if (eq - line + 3 <= num) {
			strip_comment(eq + 1);
			s->long_value = strdup(trim(eq + 1));
			sprintf(out, "%.*s=\n", (int)(eq - line), line);
		} else {
			complain(s, "a name this long is none", "");
		}
	}
	free(raw);
	return out;
}

/* include = [-]file: read here and now; "-" says it may be missing. */
static void include(struct source *s, const char *value)
{
	bool optional = *value == '-';
	const char *slash = strrchr(s->file, '/'), *path = value + optional;
	char *full = NULL;

	if (s->depth >= DEPTH_MAX || s->to->files >= FILES_MAX) {
		complain(s, "too many files include one another: ", value);
		return;
	}
	if (*path != '/' && slash) {
		if (asprintf(&full, "%.*s/%s", (int)(slash - s->file), s->file, path) < 0)
			return;
		path = full;
	}
	if (!access(path, R_OK) || (!optional && errno != ENOENT))
		read_file(path, s->depth + 1, s->to);
	else if (!optional)
		complain(s, "include: no such file: ", path);
	free(full);
}

static int take_value(void *user, const char *section, const char *name, const char *value)
{
	struct source *s = user;
	char *copy = strdup(s->long_value ? s->long_value : value), *v;

	(void)section; /* cut at 50 bytes there */
	if (!copy)
		return 0;
	v = unquote(trim(copy));
	if (v == trim(copy) && *v == '$') {
		const char *env = getenv(v + 1);

		if (!env)
			conf_error(s->to->e, true, "%s:%u: %s: environment variable %s is not set",
				   s->file, s->line, name, v + 1);
		free(copy);
		v = copy = strdup(env ? env : "");
	}
	if (!copy)
		return 0;
	if (!strcasecmp(name, "include"))
		include(s, v);
	else if (!s->section)
		complain(s, "not in any [section]: ", name);
	else if (!s->skip)
		hand_over(s, name, v);
	free(copy);
	return 1;
}

static void read_text(const char *text, size_t len, const char *file, unsigned depth,
		      struct reading *to)
{
	struct source s = {.text = text, .left = len, .file = file, .depth = depth, .to = to};

	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		s.text += 3;
		s.left -= 3;
	}
	/* Its own errors are only lines the reader has already judged, or no memory. */
	if (ini_parse_stream(give_line, &s, take_value, &s) < 0)
		conf_error(to->e, false, "%s: out of memory", file);
	free(s.section);
	free(s.arg);
	free(s.long_value);
}

int conf_read_all(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *buf = NULL;
	size_t at = 0;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (!(buf = malloc(FILE_MAX + 1)))
		err = -ENOMEM;
	while (!err && at <= FILE_MAX) {
		ssize_t n = read(fd, buf + at, FILE_MAX + 1 - at);

		if (n < 0 && errno != EINTR)
			err = -errno;
		if (!n)
			break;
		if (n > 0)
			at += (size_t)n;
	}
	close(fd);
	if (!err && at > FILE_MAX)
		err = -EFBIG;
	if (err) {
		free(buf);
		return err;
	}
	buf[at] = '\0';
	*text = buf;
	*len = at;
	return 0;
}

static void read_file(const char *path, unsigned depth, struct reading *to)
{
	char *text;
	size_t len;
	int err = conf_read_all(path, &text, &len);

	to->files++;
	if (err) {
		conf_error(to->e, false, "%s: %s", path, strerror(-err));
		return;
	}
	read_text(text, len, conf_intern(path), depth, to);
	free(text);
}

void conf_read_file(const char *path, conf_item_fn *fn, void *user, struct conf_errors *e)
{
	struct reading to = {fn, user, e, 0};

	read_file(path, 0, &to);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool wanted(const char *name, const char *suffix)
{
	size_t len = strlen(name), slen = strlen(suffix);

	return *name != '.' && len > slen && !strcmp(name + len - slen, suffix);
}

int conf_read_names(const char *dir, const char *suffix, char ***paths, unsigned *n)
{
	DIR *d = opendir(dir);
	struct dirent *de;

	*paths = NULL;
	*n = 0;
	if (!d)
		return -errno;
	while ((de = readdir(d))) {
		char **more, *path;

		if (!wanted(de->d_name, suffix))
			continue;
		more = realloc(*paths, (*n + 1) * sizeof(*more));
		if (more)
			*paths = more;
		if (!more || asprintf(&path, "%s/%s", dir, de->d_name) < 0)
			break;
		more[(*n)++] = path;
	}
	closedir(d);
	if (*n)
		qsort(*paths, *n, sizeof(**paths), by_name);
	return de ? -ENOMEM : 0;
}

void conf_read_dir(const char *dir, conf_item_fn *fn, void *user, struct conf_errors *e)
{
	char **paths;
	unsigned n;
	int err = conf_read_names(dir, ".conf", &paths, &n);

	if (err && err != -ENOENT)
		conf_error(e, false, "%s: %s", dir, strerror(-err));
	for (unsigned i = 0; i < n; i++) {
		conf_read_file(paths[i], fn, user, e);
		free(paths[i]);
	}
	free(paths);
}
