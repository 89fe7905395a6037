/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/pathmap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nfsd-io/core/object.h"
#include "nfsd-io/core/pathmap_log.h"
#include "nfsd-io/core/pathmap_table.h"

#define PATHMAP_DEPTH 512    /* directories between an object and the root */
#define PATHMAP_TRIES 8	     /* links of one object followed before giving up */
#define PATHMAP_SEARCH 10000 /* names looked at in a directory for one that was moved */

struct pathmap {
	/*
	 * Handles are opened under `names` for reading and things renamed under
	 * it for writing, or what is just being moved would be at neither place.
	 */
	pthread_rwlock_t names;
	/* table and log, inside `names`; never held over a look at the served tree */
	pthread_mutex_t lock;
	struct pathmap_table table;
	struct pathmap_log log;
	int rootfd; /* borrowed */
	dev_t dev;
	struct khandle root;
};

/* A stream of opens must not keep a rename out for good. */
static void pathmap_names_init(pthread_rwlock_t *names)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(names, &attr);
	pthread_rwlockattr_destroy(&attr);
}

int pathmap_new(struct pathmap **out, int rootfd, const char *log, const char **why)
{
	struct pathmap *m = calloc(1, sizeof(*m));
	struct stat st;
	int rc;

	if (why)
		*why = "";
	if (!m)
		return -ENOMEM;
	m->rootfd = rootfd;
	m->log.fd = -1;
	pthread_mutex_init(&m->lock, NULL);
	pathmap_names_init(&m->names);
	rc = pathmap_table_init(&m->table, PATHMAP_MAX);
	if (rc == 0)
		rc = khandle_identify(rootfd, &m->root);
	if (rc == 0 && fstat(rootfd, &st) < 0)
		rc = -errno;
	if (rc < 0) {
		pathmap_free(m);
		return rc;
	}
	m->dev = st.st_dev;
	if (log && (rc = pathmap_log_open(&m->log, log, &m->table)) < 0 && why)
		*why = rc == -EWOULDBLOCK ? "its log is in use by another server" : strerror(-rc);
	*out = m;
	return 0;
}

void pathmap_free(struct pathmap *m)
{
	if (!m)
		return;
	pathmap_log_close(&m->log);
	pathmap_table_fini(&m->table);
	pthread_mutex_destroy(&m->lock);
	pthread_rwlock_destroy(&m->names);
	free(m);
}

int pathmap_sync(struct pathmap *m)
{
	int fd = -1, rc = 1;

	pthread_mutex_lock(&m->lock);
	/* A duplicate: the log may be given up or rewritten meanwhile. */
	if (m->log.unsynced && m->log.fd >= 0) {
		fd = fcntl(m->log.fd, F_DUPFD_CLOEXEC, 0);
		rc = fd < 0 ? -errno : 1;
		m->log.unsynced = fd < 0;
	} else {
		rc = 0;
	}
	pthread_mutex_unlock(&m->lock);
	if (fd < 0)
		return rc;
	if (fdatasync(fd) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

unsigned pathmap_count(struct pathmap *m)
{
	unsigned n;

	pthread_mutex_lock(&m->lock);
	n = m->table.count;
	pthread_mutex_unlock(&m->lock);
	return n;
}

static int pathmap_set(struct pathmap *m, const struct khandle *id, const struct khandle *parent,
		       const char *name)
{
	int rc;

	pthread_mutex_lock(&m->lock);
	rc = pathmap_table_set(&m->table, id, parent, name);
	if (rc > 0)
		pathmap_log_append(&m->log, &m->table, id, parent, name);
	pthread_mutex_unlock(&m->lock);
	return rc < 0 ? rc : 0;
}

/* Forget (parent, name), unless it means another object than `id` by now. */
static void pathmap_unset(struct pathmap *m, const struct khandle *id, const struct khandle *parent,
			  const char *name)
{
	struct pathlink *l;

	pthread_mutex_lock(&m->lock);
	l = pathmap_table_name(&m->table, parent, name);
	if (l && khandle_equal(&l->id, id)) {
		pathmap_table_drop(&m->table, l);
		pathmap_log_append(&m->log, &m->table, NULL, parent, name);
	}
	pthread_mutex_unlock(&m->lock);
}

static bool pathmap_known(struct pathmap *m, const struct khandle *id)
{
	bool known;

	pthread_mutex_lock(&m->lock);
	known = khandle_equal(id, &m->root) || pathmap_table_id(&m->table, id, 0);
	pthread_mutex_unlock(&m->lock);
	return known;
}

int pathmap_learn(struct pathmap *m, int dirfd, const char *name, const struct khandle *id)
{
	struct khandle parent;
	int rc = khandle_identify(dirfd, &parent);

	if (rc == 0 && !pathmap_known(m, &parent))
		rc = pathmap_learn_fd(m, dirfd, &parent);
	return rc < 0 ? rc : pathmap_set(m, id, &parent, name);
}

static int pathmap_top(const struct pathmap *m)
{
	int fd = fcntl(m->rootfd, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* One step down from *fd, which it replaces; what is there now is learnt. */
static int pathmap_walk_step(struct pathmap *m, int *fd, const char *name, struct khandle *at)
{
	struct khandle parent = *at;
	int next = object_step(m->dev, *fd, name), rc;

	if (next < 0)
		return next;
	close(*fd);
	*fd = next;
	rc = khandle_identify(next, at);
	return rc < 0 ? rc : pathmap_set(m, at, &parent, name);
}

int pathmap_learn_fd(struct pathmap *m, int fd, const struct khandle *id)
{
	char path[PATH_MAX], *name, *save;
	struct khandle at = m->root;
	int dir, rc;

	if (pathmap_known(m, id))
		return 0;
	rc = object_path_below(m->rootfd, fd, path, sizeof(path));
	if (rc < 0)
		return rc;
	dir = pathmap_top(m);
	if (dir < 0)
		return dir;
	for (name = strtok_r(path, "/", &save); name && rc == 0; name = strtok_r(NULL, "/", &save))
		rc = pathmap_walk_step(m, &dir, name, &at);
	close(dir);
	if (rc == 0 && !khandle_equal(&at, id))
		rc = -ESTALE; /* renamed while we walked */
	return rc;
}

/*
 * The names from the root to `id`, outermost last, NUL after each, as the
 * table has them by the nth link; the count, 0 when there is no such link, or
 * -ESTALE.  Parents are touched after children,
 * so that a directory never grows older than what is in it.
 */
static int pathmap_chain(struct pathmap *m, const struct khandle *id, unsigned nth, char *buf,
			 size_t size)
{
	struct pathlink *l = pathmap_table_id(&m->table, id, nth);
	size_t used = 0, len;

	if (!l)
		return 0;

	for (int depth = 1; l && depth <= PATHMAP_DEPTH; depth++) {
		len = strlen(l->name) + 1;
		if (used + len > size)
			break;
		memcpy(buf + used, l->name, len);
		used += len;
		pathmap_table_touch(&m->table, l);
		if (khandle_equal(&l->parent, &m->root))
			return depth;
		l = pathmap_table_id(&m->table, &l->parent, 0);
	}
	return -ESTALE;
}

/*
 * The fast way: follow the names, look at nothing but what is at the end.
 * -ENODATA: no nth link.
 * Not inlined: its arrays have no place in the recursion of its caller.
 */
__attribute__((noinline)) static int pathmap_follow(struct pathmap *m, const struct khandle *id,
						    unsigned nth)
{
	char names[PATH_MAX];
	const char *at[PATHMAP_DEPTH];
	struct khandle found;
	int n, fd, next;

	pthread_mutex_lock(&m->lock);
	n = pathmap_chain(m, id, nth, names, sizeof(names));
	pthread_mutex_unlock(&m->lock);
	if (n <= 0)
		return n < 0 ? n : -ENODATA;
	at[0] = names;
	for (int i = 1; i < n; i++)
		at[i] = at[i - 1] + strlen(at[i - 1]) + 1;
	fd = pathmap_top(m);
	for (int i = n - 1; i >= 0 && fd >= 0; i--) {
		next = object_step(m->dev, fd, at[i]);
		close(fd);
		fd = next;
	}
	if (fd >= 0 && (khandle_identify(fd, &found) < 0 || !khandle_equal(&found, id))) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Look through a directory for `id` under another name; learn it.  O_PATH descriptor or -ESTALE. */
static int pathmap_search(struct pathmap *m, int dirfd, const struct khandle *parent,
			  const struct khandle *id)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = -ESTALE;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *d;
	struct khandle k;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -ESTALE;
	}
	for (int n = 0; found < 0 && n < PATHMAP_SEARCH && (d = readdir(dir)); n++) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		found = object_step(m->dev, dirfd, d->d_name);
		if (found < 0)
			continue;
		if (khandle_identify(found, &k) == 0 && khandle_equal(&k, id)) {
			pathmap_set(m, id, parent, d->d_name);
			break;
		}
		close(found);
		found = -ESTALE;
	}
	closedir(dir);
	return found < 0 ? -ESTALE : found;
}

static int pathmap_resolve(struct pathmap *m, const struct khandle *id, int depth);

/*
 * The thorough way: find the parent itself, moved or not, then the name in it, then any name in it.
 */
static int pathmap_repair(struct pathmap *m, const struct khandle *id, const struct khandle *parent,
			  const char *name, int depth)
{
	struct khandle found;
	int dir, fd;

	if (khandle_equal(parent, &m->root))
		dir = pathmap_top(m);
	else
		dir = pathmap_resolve(m, parent, depth + 1);
	if (dir < 0)
		return dir;
	fd = object_step(m->dev, dir, name);
	if (fd < 0 || khandle_identify(fd, &found) < 0 || !khandle_equal(&found, id)) {
		if (fd >= 0)
			close(fd);
		fd = pathmap_search(m, dir, parent, id);
	}
	close(dir);
	return fd;
}

/* Would another look, later, find what is not found now?  Then the table keeps its link. */
static bool pathmap_passing(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EINTR ||
	       err == -EAGAIN || err == -EACCES || err == -EIO;
}

/* Any link of `id`, copied out; false: none. */
static bool pathmap_link(struct pathmap *m, const struct khandle *id, struct khandle *parent,
			 char name[NAME_MAX + 1])
{
	struct pathlink *l;

	pthread_mutex_lock(&m->lock);
	l = pathmap_table_id(&m->table, id, 0);
	if (l) {
		*parent = l->parent;
		snprintf(name, NAME_MAX + 1, "%s", l->name);
	}
	pthread_mutex_unlock(&m->lock);
	return l;
}

/* All links the fast way, then one by one thoroughly; those that lead nowhere are forgotten. */
static int pathmap_resolve(struct pathmap *m, const struct khandle *id, int depth)
{
	char name[NAME_MAX + 1];
	struct khandle parent;
	int fd = -ESTALE;

	if (depth > PATHMAP_DEPTH)
		return -ESTALE;
	for (int nth = 0; nth < PATHMAP_TRIES && fd != -ENODATA; nth++) {
		fd = pathmap_follow(m, id, nth);
		if (fd >= 0 || pathmap_passing(fd))
			return fd;
	}
	for (int tries = 0; tries < PATHMAP_TRIES && pathmap_link(m, id, &parent, name); tries++) {
		fd = pathmap_repair(m, id, &parent, name, depth);
		if (fd >= 0 || pathmap_passing(fd))
			return fd;
		pathmap_unset(m, id, &parent, name);
	}
	return -ESTALE;
}

int pathmap_open(struct pathmap *m, const struct khandle *id)
{
	int fd;

	pthread_rwlock_rdlock(&m->names);
	fd = pathmap_resolve(m, id, 0);
	pthread_rwlock_unlock(&m->names);
	return fd;
}

void pathmap_names_lock(struct pathmap *m)
{
	pthread_rwlock_wrlock(&m->names);
}

void pathmap_names_unlock(struct pathmap *m)
{
	pthread_rwlock_unlock(&m->names);
}

/* What the table says (parent, name) is; false: nothing. */
static bool pathmap_named(struct pathmap *m, const struct khandle *parent, const char *name,
			  struct khandle *id)
{
	struct pathlink *l;

	pthread_mutex_lock(&m->lock);
	l = pathmap_table_name(&m->table, parent, name);
	if (l)
		*id = l->id;
	pthread_mutex_unlock(&m->lock);
	return l;
}

/*
 * (dirfd, name) lost what it meant: forget it, unless another thread has put
 * something there since and it was learnt already.
 */
void pathmap_removed(struct pathmap *m, int dirfd, const char *name)
{
	struct khandle parent, id, now;
	int fd;

	if (khandle_identify(dirfd, &parent) < 0 || !pathmap_named(m, &parent, name, &id))
		return;
	fd = object_step(m->dev, dirfd, name);
	if (fd < 0 || khandle_identify(fd, &now) < 0 || !khandle_equal(&now, &id))
		pathmap_unset(m, &id, &parent, name);
	if (fd >= 0)
		close(fd);
}

void pathmap_moved(struct pathmap *m, int olddir, const char *oldname, int newdir,
		   const char *newname)
{
	int fd = object_step(m->dev, newdir, newname);
	struct khandle id;

	/* The new name first: at no time is it without one. */
	if (fd >= 0 && khandle_identify(fd, &id) == 0)
		pathmap_learn(m, newdir, newname, &id);
	if (fd >= 0)
		close(fd);
	pathmap_removed(m, olddir, oldname);
}
