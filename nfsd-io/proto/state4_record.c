/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "nfsd-io/proto/state4_int.h"

#define SCHEMA 4 /* nfsdcld's */
#define BUSY_MS 5000 /* somebody looks at the database with nfsdclddb */

struct state4_record {
	pthread_mutex_t lock;
	sqlite3 *db;
	int dir; /* locked: one server a directory */
	uint64_t current, recovery; /* epochs; recovery 0: none */
};

/* Run one statement without results. */
static int run(struct state4_record *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int run(struct state4_record *r, const char *fmt, ...)
{
	char sql[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sql, sizeof(sql), fmt, ap);
	va_end(ap);
	return sqlite3_exec(r->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -EIO;
}

/* One row of up to two integers: how many rows there are, 0 or 1; or -EIO. */
static int get(struct state4_record *r, const char *sql, uint64_t out[2])
{
	sqlite3_stmt *st;
	int res, i;

	if (sqlite3_prepare_v2(r->db, sql, -1, &st, NULL) != SQLITE_OK)
		return -EIO;
	res = sqlite3_step(st);
	for (i = 0; res == SQLITE_ROW && i < sqlite3_column_count(st) && i < 2; i++)
		out[i] = (uint64_t)sqlite3_column_int64(st, i);
	sqlite3_finalize(st);
	return res == SQLITE_ROW ? 1 : res == SQLITE_DONE ? 0 : -EIO;
}

static int create_epoch(struct state4_record *r, uint64_t epoch)
{
	return run(r, "CREATE TABLE \"rec-%016llx\" (id BLOB PRIMARY KEY, princhash BLOB);",
		   (unsigned long long)epoch);
}

static int create_schema(struct state4_record *r)
{
	int err = run(r, "CREATE TABLE parameters (key TEXT PRIMARY KEY, value TEXT);");

	if (!err)
		err = run(r, "INSERT INTO parameters VALUES ('version', '%d');", SCHEMA);
	if (!err)
		err = run(r, "CREATE TABLE grace (current INTEGER, recovery INTEGER);");
	if (!err)
		err = run(r, "INSERT INTO grace VALUES (1, 0);");
	return err ? err : create_epoch(r, 1);
}

static int check_schema(struct state4_record *r)
{
	uint64_t v[2] = {0};
	int n = get(r, "SELECT count(*) FROM sqlite_master;", v);

	if (n < 0)
		return n;
	if (!v[0])
		return create_schema(r);
	n = get(r, "SELECT value FROM parameters WHERE key = 'version';", v);
	return n == 1 && v[0] == SCHEMA ? 0 : -EPROTO;
}

/*
 * What was current becomes what can be reclaimed.  A start during grace has the
 * same to reclaim as the one before: what was recorded since does not count yet.
 */
static int next_epoch(struct state4_record *r)
{
	uint64_t v[2] = {0};

	if (get(r, "SELECT current, recovery FROM grace;", v) != 1)
		return -EIO;
	r->current = v[0];
	r->recovery = v[1];
	if (r->recovery)
		return run(r, "DELETE FROM \"rec-%016llx\";", (unsigned long long)r->current);
	r->recovery = r->current++;
	if (run(r, "UPDATE grace SET current = %llu, recovery = %llu;",
		(unsigned long long)r->current, (unsigned long long)r->recovery))
		return -EIO;
	return create_epoch(r, r->current);
}

static int tell_each(struct state4_record *r, state4_record_each *each, void *arg)
{
	sqlite3_stmt *st;
	char sql[64];
	int res;

	snprintf(sql, sizeof(sql), "SELECT id FROM \"rec-%016llx\";",
		 (unsigned long long)r->recovery);
	if (sqlite3_prepare_v2(r->db, sql, -1, &st, NULL) != SQLITE_OK)
		return -EIO;
	while ((res = sqlite3_step(st)) == SQLITE_ROW)
		each(arg, sqlite3_column_blob(st, 0), (uint32_t)sqlite3_column_bytes(st, 0));
	sqlite3_finalize(st);
	return res == SQLITE_DONE ? 0 : -EIO;
}

/* One sync a change by the write-ahead log; FULL: it is there before the change counts as made. */
static int open_db(struct state4_record *r, const char *path)
{
	if (sqlite3_open_v2(path, &r->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return -EIO;
	sqlite3_busy_timeout(r->db, BUSY_MS);
	if (run(r, "PRAGMA journal_mode = WAL;") || run(r, "PRAGMA synchronous = FULL;") ||
	    run(r, "BEGIN IMMEDIATE;"))
		return -EIO;
	return 0;
}

static int begin(struct state4_record *r, const char *dir)
{
	char path[PATH_MAX];
	int err;

	r->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0)
		return -errno;
	if (flock(r->dir, LOCK_EX | LOCK_NB))
		return -EBUSY;
	snprintf(path, sizeof(path), "%s/main.sqlite", dir);
	err = open_db(r, path);
	if (!err)
		err = check_schema(r);
	return err ? err : next_epoch(r);
}

static void explain(const struct state4_record *r, int err, char *why, size_t len)
{
	if (err == -EBUSY)
		snprintf(why, len, "another server uses the directory");
	else if (err == -EPROTO)
		snprintf(why, len, "main.sqlite: not of version %d", SCHEMA);
	else if (r->db)
		snprintf(why, len, "main.sqlite: %s", sqlite3_errmsg(r->db));
	else
		snprintf(why, len, "%s", strerror(-err));
}

int state4_record_open(struct state4_record **out, const char *dir, state4_record_each *each,
		       void *arg, char *why, size_t len)
{
	struct state4_record *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		snprintf(why, len, "out of memory");
		return -ENOMEM;
	}
	pthread_mutex_init(&r->lock, NULL);
	err = begin(r, dir);
	if (!err)
		err = tell_each(r, each, arg);
	if (!err)
		err = run(r, "COMMIT;");
	if (err) {
		explain(r, err, why, len);
		state4_record_close(r);
		return err;
	}
	*out = r;
	return 0;
}

/* The statement at `sql` has one parameter: the owner. */
static int change(struct state4_record *r, const char *sql, const uint8_t *owner, uint32_t len)
{
	sqlite3_stmt *st;
	int res;

	if (sqlite3_prepare_v2(r->db, sql, -1, &st, NULL) != SQLITE_OK)
		return -EIO;
	sqlite3_bind_blob(st, 1, owner, (int)len, SQLITE_STATIC);
	res = sqlite3_step(st);
	sqlite3_finalize(st);
	return res == SQLITE_DONE ? 0 : -EIO;
}

int state4_record_add(struct state4_record *r, const uint8_t *owner, uint32_t len)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO \"rec-%016llx\" VALUES (?, NULL);",
		 (unsigned long long)r->current);
	return change(r, sql, owner, len);
}

/* From what can be reclaimed, too: who leaves during grace has nothing left to come back to. */
int state4_record_remove(struct state4_record *r, const uint8_t *owner, uint32_t len)
{
	uint64_t epoch[2] = {r->recovery, r->current};
	char sql[96];
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++) {
		snprintf(sql, sizeof(sql), "DELETE FROM \"rec-%016llx\" WHERE id = ?;",
			 (unsigned long long)epoch[i]);
		if (epoch[i])
			err = change(r, sql, owner, len);
	}
	return err;
}

int state4_record_grace_done(struct state4_record *r)
{
	int err;

	if (!r->recovery)
		return 0;
	err = run(r, "BEGIN IMMEDIATE;");
	if (!err)
		err = run(r, "UPDATE grace SET recovery = 0;");
	if (!err)
		err = run(r, "DROP TABLE \"rec-%016llx\";", (unsigned long long)r->recovery);
	if (err)
		run(r, "ROLLBACK;");
	else
		err = run(r, "COMMIT;");
	if (!err)
		r->recovery = 0;
	return err;
}

void state4_record_lock(struct state4_record *r)
{
	pthread_mutex_lock(&r->lock);
}

void state4_record_unlock(struct state4_record *r)
{
	pthread_mutex_unlock(&r->lock);
}

void state4_record_close(struct state4_record *r)
{
	if (!r)
		return;
	sqlite3_close(r->db);
	if (r->dir > 0)
		close(r->dir);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
