/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/proto/idmap.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_BYTES 256
#define SLOTS 1024
#define KNOWN_S 600
#define UNKNOWN_S 60
#define ASKING_S 10 /* others tell the old text so long, however slow the database is */

struct slot {
	bool used;
	uint32_t id;
	uint64_t until_s;
	struct idmap_text text;
};

/* Direct-mapped: a collision only asks the database again. */
struct idmap {
	char *domain;
	struct table {
		pthread_mutex_t lock;
		struct slot slots[SLOTS];
	} tables[2]; /* by enum hostdb */
};

int idmap_new(struct idmap **out, const char *domain)
{
	struct idmap *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->domain = strdup(domain);
	if (!m->domain) {
		free(m);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_mutex_init(&m->tables[i].lock, NULL);
	*out = m;
	return 0;
}

void idmap_free(struct idmap *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < 2; i++)
		pthread_mutex_destroy(&m->tables[i].lock);
	free(m->domain);
	free(m);
}

void idmap_flush(struct idmap *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < 2; i++) {
		pthread_mutex_lock(&m->tables[i].lock);
		memset(m->tables[i].slots, 0, sizeof(m->tables[i].slots));
		pthread_mutex_unlock(&m->tables[i].lock);
	}
}

/* --- telling ------------------------------------------------------------------------- */

static void number_text(uint32_t id, struct idmap_text *out)
{
	out->len = (uint32_t)snprintf(out->text, sizeof(out->text), "%u", id);
}

/* Who is going to ask again says so: until then the old text is good enough for others. */
static bool recall(struct table *t, uint32_t id, bool will_ask, uint64_t now_s,
		   struct idmap_text *out)
{
	struct slot *s = &t->slots[id % SLOTS];
	bool fresh;

	pthread_mutex_lock(&t->lock);
	fresh = s->used && s->id == id && now_s < s->until_s;
	if (fresh)
		*out = s->text;
	else if (will_ask && s->used && s->id == id)
		s->until_s = now_s + ASKING_S;
	pthread_mutex_unlock(&t->lock);
	return fresh;
}

/* What is not known for certain gives way to what was known before. */
static void keep(struct table *t, uint32_t id, bool certain, uint64_t until_s,
		 struct idmap_text *text)
{
	struct slot *s = &t->slots[id % SLOTS];

	pthread_mutex_lock(&t->lock);
	if (!certain && s->used && s->id == id)
		*text = s->text;
	*s = (struct slot){true, id, until_s, *text};
	pthread_mutex_unlock(&t->lock);
}

static int name_text(const struct idmap *m, enum hostdb db, uint32_t id, struct idmap_text *out)
{
	char name[NAME_BYTES];
	int err = hostdb_name(db, id, name, sizeof(name)), n;

	if (err)
		return err;
	n = snprintf(out->text, sizeof(out->text), "%s@%s", name, m->domain);
	if (n < 0 || (size_t)n >= sizeof(out->text))
		return -ENAMETOOLONG;
	out->len = (uint32_t)n;
	return 0;
}

int idmap_tell(struct idmap *m, enum hostdb db, uint32_t id, bool may_block, uint64_t now_s,
	       struct idmap_text *out)
{
	int err;

	if (!m) {
		number_text(id, out);
		return 0;
	}
	if (recall(&m->tables[db], id, may_block, now_s, out))
		return 0;
	if (!may_block)
		return -EAGAIN;
	err = name_text(m, db, id, out);
	if (err)
		number_text(id, out);
	keep(&m->tables[db], id, !err || err == -ENOENT || err == -ENAMETOOLONG,
	     now_s + (err ? UNKNOWN_S : KNOWN_S), out);
	return 0;
}

/* --- understanding --------------------------------------------------------------------- */

/* A number that is one from end to end; (uid_t)-1 is nobody's. */
static bool number(const char *text, uint32_t len, uint32_t *out)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || n > UINT32_MAX)
			return false;
		n = n * 10 + (uint64_t)(text[i] - '0');
	}
	*out = (uint32_t)n;
	return n < UINT32_MAX;
}

/* RFC 8881 s.5.9: without "@" the sender had no translation, and there is none here. */
static bool of_domain(const struct idmap *m, const char *at, const char *end)
{
	size_t len = strlen(m->domain);

	return at && (size_t)(end - at - 1) == len && !strncasecmp(at + 1, m->domain, len);
}

/* The part before the last "@", terminated: a name may have one of its own. */
static int name_of(const struct idmap *m, const char *text, uint32_t len, char name[NAME_BYTES])
{
	const char *at = memrchr(text, '@', len);
	size_t n = at ? (size_t)(at - text) : len;

	if (m && !of_domain(m, at, text + len))
		return -ENOENT;
	if (!n || n >= NAME_BYTES || memchr(text, '\0', n))
		return -ENOENT;
	memcpy(name, text, n);
	name[n] = '\0';
	return 0;
}

int idmap_understand(const struct idmap *m, enum hostdb db, const char *text, uint32_t len,
		     uint32_t *id)
{
	char name[NAME_BYTES];
	int err;

	if (!len)
		return -EINVAL;
	if (number(text, len, id))
		return 0;
	err = name_of(m, text, len, name);
	if (!err)
		err = hostdb_id(db, name, id);
	/*
	 * A lookup may fail in as many ways as there are name services: none of them is an owner.
	 */
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE || err == -EINTR)
		return -EAGAIN;
	return err ? -ENOENT : 0;
}
