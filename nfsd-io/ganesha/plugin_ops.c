/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>

#include "nfsd-io/ganesha/plugin.h"

/* A table of operations a FSAL below has: VFS, and perhaps XFS. */
struct ops {
	struct fsal_obj_ops *live;
	struct fsal_obj_ops saved;
};

/* writers; readers see what `count` covers */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ops tables[4];
static _Atomic unsigned count;

static const struct ops *find(const struct fsal_obj_ops *live)
{
	unsigned n = atomic_load_explicit(&count, memory_order_acquire);

	for (unsigned i = 0; i < n; i++)
		if (tables[i].live == live)
			return &tables[i];
	return NULL;
}

const struct fsal_obj_ops *plugin_ops_saved(const struct fsal_obj_handle *obj)
{
	const struct ops *o = find(obj->obj_ops);

	assert(o); /* it was our function in the table that was called */
	return &o->saved;
}

/* Truncation and allocation find no operation half done. */
static fsal_status_t ops_setattr2(struct fsal_obj_handle *obj, bool bypass, struct state_t *state,
				  struct fsal_attrlist *attrs)
{
	bool size = obj->type == REGULAR_FILE && FSAL_TEST_MASK(attrs->valid_mask, ATTR_SIZE);
	struct plugin_file *pf = size ? plugin_file_exclude(obj) : NULL;
	fsal_status_t st = plugin_ops_saved(obj)->setattr2(obj, bypass, state, attrs);

	if (pf)
		plugin_file_readmit(pf);
	return st;
}

static fsal_status_t ops_fallocate(struct fsal_obj_handle *obj, struct state_t *state,
				   uint64_t offset, uint64_t length, bool allocate)
{
	struct plugin_file *pf = obj->type == REGULAR_FILE ? plugin_file_exclude(obj) : NULL;
	fsal_status_t st = plugin_ops_saved(obj)->fallocate(obj, state, offset, length, allocate);

	if (pf)
		plugin_file_readmit(pf);
	return st;
}

/* ganesha wants descriptors back, or has removed the name. */
static fsal_status_t ops_close(struct fsal_obj_handle *obj)
{
	plugin_file_close(obj, false);
	return plugin_ops_saved(obj)->close(obj);
}

static void ops_release(struct fsal_obj_handle *obj)
{
	if (obj->type == REGULAR_FILE)
		plugin_file_close(obj, true);
	plugin_ops_saved(obj)->release(obj);
}

static void replace(struct fsal_obj_ops *live)
{
	live->read2 = plugin_io_read;
	live->write2 = plugin_io_write;
	live->commit2 = plugin_io_commit;
	live->setattr2 = ops_setattr2;
	live->fallocate = ops_fallocate;
	live->close = ops_close;
	live->release = ops_release;
}

int plugin_ops_replace(struct fsal_obj_handle *first, const struct fsal_export *exp)
{
	struct gsh_buffdesc key;
	unsigned n;
	int ret = 0;

	if (find(first->obj_ops))
		return 0;
	pthread_mutex_lock(&lock);
	n = atomic_load(&count);
	first->obj_ops->handle_to_key(first, &key);
	if (find(first->obj_ops)) {
		ret = 0; /* by another thread, meanwhile */
	} else if (n == sizeof(tables) / sizeof(tables[0]) ||
		   !plugin_layout_fits(first, exp, &key)) {
		ret = -ENOTSUP;
	} else {
		tables[n] = (struct ops){ .live = first->obj_ops, .saved = *first->obj_ops };
		atomic_store_explicit(&count, n + 1, memory_order_release);
		replace(tables[n].live);
	}
	pthread_mutex_unlock(&lock);
	return ret;
}
