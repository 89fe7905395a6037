/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/ganesha/plugin.h"

/*
 * By the key of the handle, which no other file gets while
 * the file system lives.  Few: a list will do.
 */
struct lost {
	struct lost *next;
	size_t len;
	uint8_t key[];
};

#define LOST_MAX 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lost *list;
static unsigned count;
static bool all; /* more than we can remember: every file */

static struct lost *find(const struct gsh_buffdesc *key)
{
	struct lost *l;

	for (l = list; l; l = l->next)
		if (l->len == key->len && !memcmp(l->key, key->addr, key->len))
			break;
	return l;
}

static void remember(const struct gsh_buffdesc *key)
{
	struct lost *l = count < LOST_MAX ? malloc(sizeof(*l) + key->len) : NULL;

	if (!l) {
		all = true;
		return;
	}
	l->len = key->len;
	memcpy(l->key, key->addr, key->len);
	l->next = list;
	list = l;
	count++;
}

void plugin_lost_add(struct fsal_obj_handle *obj)
{
	struct gsh_buffdesc key;

	obj->obj_ops->handle_to_key(obj, &key);
	pthread_mutex_lock(&lock);
	if (!find(&key))
		remember(&key);
	pthread_mutex_unlock(&lock);
	LogCrit(COMPONENT_FSAL,
		"NFSDIO: write-back of file %" PRIu64
		" failed: until a restart NFSv3 COMMITs of it are refused",
		obj->fileid);
}

bool plugin_lost_has(struct fsal_obj_handle *obj)
{
	struct gsh_buffdesc key;
	bool has;

	obj->obj_ops->handle_to_key(obj, &key);
	pthread_mutex_lock(&lock);
	has = all || find(&key);
	pthread_mutex_unlock(&lock);
	return has;
}

unsigned plugin_lost_count(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}
