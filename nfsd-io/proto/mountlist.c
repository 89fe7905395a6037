/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/mountlist.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct entry *next;
	char *host, *path;
};

struct mountlist {
	pthread_mutex_t lock;
	struct entry *newest;
	unsigned n;
};

int mountlist_new(struct mountlist **out)
{
	struct mountlist *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	pthread_mutex_init(&m->lock, NULL);
	*out = m;
	return 0;
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	free(e->host);
	free(e->path);
	free(e);
}

void mountlist_free(struct mountlist *m)
{
	if (!m)
		return;
	while (m->newest) {
		struct entry *e = m->newest;

		m->newest = e->next;
		entry_free(e);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* Drops matching entries; under the lock. */
static void drop(struct mountlist *m, const char *host, const char *path)
{
	for (struct entry **p = &m->newest; *p;) {
		struct entry *e = *p;

		if (strcmp(e->host, host) || (path && strcmp(e->path, path))) {
			p = &e->next;
			continue;
		}
		*p = e->next;
		m->n--;
		entry_free(e);
	}
}

static void drop_oldest(struct mountlist *m)
{
	struct entry **p = &m->newest;

	while ((*p)->next)
		p = &(*p)->next;
	entry_free(*p);
	*p = NULL;
	m->n--;
}

void mountlist_add(struct mountlist *m, const char *host, const char *path)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (!e)
		return;
	e->host = strdup(host);
	e->path = strdup(path);
	if (!e->host || !e->path) {
		entry_free(e);
		return;
	}
	pthread_mutex_lock(&m->lock);
	drop(m, host, path);
	if (m->n == MOUNTLIST_MAX)
		drop_oldest(m);
	e->next = m->newest;
	m->newest = e;
	m->n++;
	pthread_mutex_unlock(&m->lock);
}

void mountlist_remove(struct mountlist *m, const char *host, const char *path)
{
	pthread_mutex_lock(&m->lock);
	drop(m, host, path);
	pthread_mutex_unlock(&m->lock);
}

unsigned mountlist_count(struct mountlist *m)
{
	unsigned n;

	pthread_mutex_lock(&m->lock);
	n = m->n;
	pthread_mutex_unlock(&m->lock);
	return n;
}

void mountlist_each(struct mountlist *m, void (*fn)(void *arg, const char *host, const char *path),
		    void *arg)
{
	pthread_mutex_lock(&m->lock);
	for (struct entry *e = m->newest; e; e = e->next)
		fn(arg, e->host, e->path);
	pthread_mutex_unlock(&m->lock);
}
