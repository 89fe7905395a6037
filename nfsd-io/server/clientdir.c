/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/clientdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/proto/state4_show.h"
#include "nfsd-io/server/log.h"

#define NAME "clients"
#define SECOND 1000000000ull

/* A client that has its files, or has yet to get them (`written_ns` 0). */
struct entry {
	uint32_t number, changes;
	uint64_t written_ns;
};

struct list {
	struct entry *e;
	size_t n, max;
	bool short_of_memory;
};

struct clientdir {
	char *path;
	int fd;
	struct list known; /* by number */
};

static const char *const files[] = {"info", "states", "info.new", "states.new"};

static void remove_client(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlinkat(fd, files[i], 0);
	close(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

/* Only directories of clients: their names are numbers. */
static void remove_clients(int dir)
{
	int copy = dup(dir);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *de;

	if (!d) {
		if (copy >= 0)
			close(copy);
		return;
	}
	rewinddir(d);
	while ((de = readdir(d)))
		if (strspn(de->d_name, "0123456789") == strlen(de->d_name))
			remove_client(dir, de->d_name);
	closedir(d);
}

static int open_dir(struct clientdir *d, const char *socket)
{
	const char *slash = strrchr(socket, '/');

	if (asprintf(&d->path, "%.*s" NAME, slash ? (int)(slash + 1 - socket) : 0, socket) < 0) {
		d->path = NULL;
		return -ENOMEM;
	}
	if (mkdir(d->path, 0700) && errno != EEXIST)
		return -errno;
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return d->fd < 0 ? -errno : 0;
}

struct clientdir *clientdir_new(const char *socket)
{
	struct clientdir *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return NULL;
	err = open_dir(d, socket);
	if (err) {
		log_line(LOG_NOTICE, "%s: %s: no files about NFSv4 clients",
			 d->path ? d->path : NAME, strerror(-err));
		free(d->path);
		free(d);
		return NULL;
	}
	remove_clients(d->fd);
	return d;
}

void clientdir_free(struct clientdir *d)
{
	if (!d)
		return;
	remove_clients(d->fd);
	close(d->fd);
	rmdir(d->path);
	free(d->path);
	free(d->known.e);
	free(d);
}

/* --- the sweep ------------------------------------------------------------------------ */

static void add(void *arg, const struct state4_client_info *c)
{
	struct list *l = arg;

	if (!c->confirmed || l->short_of_memory)
		return;
	if (l->n == l->max) {
		size_t max = l->max ? 2 * l->max : 64;
		struct entry *e = realloc(l->e, max * sizeof(*e));

		if (!e) {
			l->short_of_memory = true;
			return;
		}
		l->e = e;
		l->max = max;
	}
	l->e[l->n++] = (struct entry){.number = c->number, .changes = c->changes};
}

static int by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void put_file(int dir, unsigned which, const char *text, size_t len)
{
	const char *tmp = files[which + 2];
	int fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good;

	if (fd < 0)
		return;
	good = write(fd, text, len) == (ssize_t)len;
	close(fd);
	if (!good || renameat(dir, tmp, dir, files[which]))
		unlinkat(dir, tmp, 0);
}

static void put_client(struct clientdir *d, const char *name, char *const text[2],
		       const size_t len[2])
{
	int dir;

	if (mkdirat(d->fd, name, 0700) && errno != EEXIST)
		return;
	dir = openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return;
	for (unsigned i = 0; i < 2; i++)
		put_file(dir, i, text[i], len[i]);
	close(dir);
}

/* Both files, as they are now. */
static void write_client(struct clientdir *d, struct state4 *state, uint32_t number)
{
	char *text[2] = {NULL, NULL}, name[16];
	size_t len[2] = {0, 0};
	FILE *f[2] = {open_memstream(&text[0], &len[0]), open_memstream(&text[1], &len[1])};
	int err = f[0] && f[1] ? state4_show(state, number, f[0], f[1]) : -ENOMEM;

	for (unsigned i = 0; i < 2; i++)
		if (f[i] && fclose(f[i]))
			err = -ENOMEM;
	snprintf(name, sizeof(name), "%u", number);
	if (!err)
		put_client(d, name, text, len);
	free(text[0]);
	free(text[1]);
}

/* What is known of those that are still there; the others' files go. */
static void compare(struct clientdir *d, struct list *now)
{
	size_t i = 0, k = 0;

	while (k < d->known.n) {
		struct entry *old = &d->known.e[k];

		if (i < now->n && now->e[i].number < old->number) {
			i++;
		} else if (i < now->n && now->e[i].number == old->number) {
			now->e[i].written_ns =
				now->e[i].changes == old->changes ? old->written_ns : 0;
			i++;
			k++;
		} else {
			char name[16];

			snprintf(name, sizeof(name), "%u", old->number);
			remove_client(d->fd, name);
			k++;
		}
	}
}

static void write_clients(struct clientdir *d, struct state4 *state, uint64_t now_ns)
{
	unsigned left = CLIENTDIR_SWEEP;

	for (size_t i = 0; i < d->known.n && left; i++) {
		struct entry *e = &d->known.e[i];

		if (e->written_ns && now_ns - e->written_ns < CLIENTDIR_STALE_S * SECOND)
			continue;
		write_client(d, state, e->number);
		e->written_ns = now_ns;
		left--;
	}
}

void clientdir_sweep(struct clientdir *d, struct state4 *state, uint64_t now_ns)
{
	struct list now = {0};

	if (!d)
		return;
	state4_client_each(state, add, &now);
	if (now.n)
		qsort(now.e, now.n, sizeof(*now.e), by_number);
	if (!now.short_of_memory) {
		compare(d, &now);
		free(d->known.e);
		d->known = now;
	} else {
		free(now.e);
	}
	write_clients(d, state, now_ns);
}
