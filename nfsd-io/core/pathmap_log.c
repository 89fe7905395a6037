/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/pathmap_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_HEAD 6 /* sum and len */
#define LOG_RECORD_MAX (LOG_HEAD + 1 + 2 * (2 + KHANDLE_MAX) + NAME_MAX)
#define LOG_SLACK 65536 /* dead records always tolerated */
#define LOG_BATCH 65536 /* bytes a write when rewriting */

enum { LOG_SET = 'S', LOG_DROP = 'D' };

struct pathmap_log_record {
	uint8_t op;
	struct khandle id, parent;
	char name[NAME_MAX + 1];
};

static uint32_t pathmap_log_sum(const uint8_t *p, size_t len)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

static uint8_t *pathmap_log_put_id(uint8_t *p, const struct khandle *k)
{
	*p++ = k->type;
	*p++ = k->len;
	memcpy(p, k->data, k->len);
	return p + k->len;
}

static size_t pathmap_log_encode(uint8_t *rec, const struct khandle *id,
				 const struct khandle *parent, const char *name)
{
	const struct khandle none = { 0 };
	uint8_t *p = rec + LOG_HEAD;
	uint32_t sum;
	uint16_t len;

	*p++ = id ? LOG_SET : LOG_DROP;
	p = pathmap_log_put_id(p, id ? id : &none);
	p = pathmap_log_put_id(p, parent);
	p = (uint8_t *)mempcpy(p, name, strlen(name));
	len = p - rec - LOG_HEAD;
	memcpy(rec + 4, &len, sizeof(len));
	sum = pathmap_log_sum(rec + 4, p - rec - 4);
	memcpy(rec, &sum, sizeof(sum));
	return p - rec;
}

static const uint8_t *pathmap_log_take_id(const uint8_t *p, const uint8_t *end, struct khandle *k)
{
	if (!p || end - p < 2 || p[1] > KHANDLE_MAX || end - p < 2 + p[1])
		return NULL;
	*k = (struct khandle){ .type = p[0], .len = p[1] };
	memcpy(k->data, p + 2, k->len);
	return p + 2 + k->len;
}

/* Bytes taken; 0 when no whole, sound record lies at `p`. */
static size_t pathmap_log_decode(const uint8_t *p, size_t avail, struct pathmap_log_record *out)
{
	const uint8_t *end, *q;
	uint32_t sum;
	uint16_t len;

	if (avail < LOG_HEAD)
		return 0;
	memcpy(&sum, p, sizeof(sum));
	memcpy(&len, p + 4, sizeof(len));
	if (len < 1 || len > avail - LOG_HEAD || sum != pathmap_log_sum(p + 4, 2 + (size_t)len))
		return 0;
	end = p + LOG_HEAD + len;
	out->op = p[LOG_HEAD];
	q = pathmap_log_take_id(p + LOG_HEAD + 1, end, &out->id);
	q = pathmap_log_take_id(q, end, &out->parent);
	if (!q || q == end || end - q > NAME_MAX || memchr(q, 0, end - q) ||
	    memchr(q, '/', end - q))
		return 0;
	memcpy(out->name, q, end - q);
	out->name[end - q] = 0;
	return LOG_HEAD + len;
}

static int pathmap_log_apply(const struct pathmap_log_record *rec, struct pathmap_table *t)
{
	struct pathlink *l;

	if (rec->op == LOG_SET)
		return pathmap_table_set(t, &rec->id, &rec->parent, rec->name);
	l = pathmap_table_name(t, &rec->parent, rec->name);
	if (l)
		pathmap_table_drop(t, l);
	return 0;
}

static int pathmap_log_replay(struct pathmap_log *log, struct pathmap_table *t)
{
	struct pathmap_log_record rec;
	struct stat st;
	size_t at = 0, n;
	uint8_t *map;
	int rc = 0;

	if (fstat(log->fd, &st) < 0)
		return -errno;
	if (st.st_size == 0)
		return 0;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, log->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	while (rc >= 0 && (n = pathmap_log_decode(map + at, st.st_size - at, &rec)) > 0) {
		rc = pathmap_log_apply(&rec, t);
		at += n;
		log->records++;
	}
	munmap(map, st.st_size);
	if (rc < 0)
		return rc;
	/* What follows was being written when the process died. */
	return at < (size_t)st.st_size && ftruncate(log->fd, at) < 0 ? -errno : 0;
}

int pathmap_log_open(struct pathmap_log *log, const char *path, struct pathmap_table *t)
{
	int rc = -ENOMEM;

	*log = (struct pathmap_log){ .fd = -1, .path = strdup(path) };
	if (!log->path)
		return rc;
	log->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = log->fd < 0 || flock(log->fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	if (rc == 0)
		rc = pathmap_log_replay(log, t);
	if (rc < 0)
		pathmap_log_close(log);
	return rc;
}

void pathmap_log_close(struct pathmap_log *log)
{
	if (log->fd >= 0) {
		if (log->unsynced)
			fdatasync(log->fd);
		close(log->fd);
	}
	free(log->path);
	*log = (struct pathmap_log){ .fd = -1 };
}

static bool pathmap_log_write(int fd, const uint8_t *p, size_t len)
{
	return len == 0 || write(fd, p, len) == (ssize_t)len;
}

static bool pathmap_log_dump(int fd, const struct pathmap_table *t)
{
	uint8_t *buf = malloc(LOG_BATCH + LOG_RECORD_MAX);
	size_t len = 0;
	bool ok = buf;

	for (const struct pathlink *l = t->oldest; ok && l; l = l->newer) {
		len += pathmap_log_encode(buf + len, &l->id, &l->parent, l->name);
		if (len >= LOG_BATCH) {
			ok = pathmap_log_write(fd, buf, len);
			len = 0;
		}
	}
	ok = ok && pathmap_log_write(fd, buf, len) && fdatasync(fd) == 0;
	free(buf);
	return ok;
}

/*
 * A new name is durable only with its directory; should that
 * fail, the old log is there after a crash.
 */
static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(dir);
}

/*
 * The live links alone, under a new name, then in place of the old; a failure keeps the long one.
 */
static void pathmap_log_compact(struct pathmap_log *log, const struct pathmap_table *t)
{
	char tmp[PATH_MAX];
	int fd;

	log->records = t->count;
	if (snprintf(tmp, sizeof(tmp), "%s.new", log->path) >= (int)sizeof(tmp))
		return;
	fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !pathmap_log_dump(fd, t) ||
	    rename(tmp, log->path) < 0) {
		unlink(tmp);
		close(fd);
		return;
	}
	close(log->fd);
	log->fd = fd;
	sync_directory(log->path);
}

void pathmap_log_append(struct pathmap_log *log, const struct pathmap_table *t,
			const struct khandle *id, const struct khandle *parent, const char *name)
{
	uint8_t rec[LOG_RECORD_MAX];
	size_t len;

	if (log->fd < 0)
		return;
	len = pathmap_log_encode(rec, id, parent, name);
	if (!pathmap_log_write(log->fd, rec, len)) {
		/* Behind a half record nothing could be read back: no more of it. */
		pathmap_log_close(log);
		return;
	}
	log->unsynced = true;
	if (++log->records > 2 * (uint64_t)t->count + LOG_SLACK)
		pathmap_log_compact(log, t);
}
