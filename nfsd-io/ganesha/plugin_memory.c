/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "nfsd-io/ganesha/plugin.h"

/*
 * Records and the data of WRITEs, of powers of two and a page more.  All are
 * ordinary blocks of the heap: whoever gets one may free() it, and any block
 * that is large enough and begins with a page may come in.
 */
#define SMALLEST 15 /* 32 KiB */
#define CLASSES 6
#define PAGE 4096u
#define SLACK (2 * PAGE) /* bytes a block may have more than its class */

struct kept {
	struct kept *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *kept[CLASSES]; /* the last used first: it may still be in the CPU's cache */
static size_t bytes, most;
static plugin_rpc_malloc_t *others;

static size_t size_of(unsigned class)
{
	return ((size_t)1 << (SMALLEST + class)) + PAGE;
}

/* The smallest for `n` bytes, or CLASSES. */
static unsigned class_for(size_t n)
{
	unsigned class = 0;

	if (n <= size_of(0) / 2)
		return CLASSES;
	while (class < CLASSES && size_of(class) < n)
		class++;
	return class;
}

static void *take(unsigned class)
{
	struct kept *k;

	pthread_mutex_lock(&lock);
	k = kept[class];
	if (k) {
		kept[class] = k->next;
		bytes -= size_of(class);
	}
	pthread_mutex_unlock(&lock);
	return k ? k : aligned_alloc(PAGE, size_of(class));
}

static bool keep(void *p)
{
	size_t n = malloc_usable_size(p);
	unsigned class = class_for(n > SLACK ? n - SLACK : 0);
	bool room;

	if (class == CLASSES || size_of(class) > n)
		return false;
	pthread_mutex_lock(&lock);
	room = bytes + size_of(class) <= most;
	if (room) {
		((struct kept *)p)->next = kept[class];
		kept[class] = p;
		bytes += size_of(class);
	}
	pthread_mutex_unlock(&lock);
	return room;
}

static void *rpc_malloc(size_t n, const char *file, int line, const char *function)
{
	unsigned class = class_for(n);
	void *p = class < CLASSES ? take(class) : NULL;

	/* Who finds no memory says so, and ends. */
	return p ? p : others(n, file, line, function);
}

static void rpc_free(void *p, size_t unused)
{
	(void)unused;
	if (!p || (uintptr_t)p % PAGE || !keep(p))
		free(p);
}

void *plugin_memory_block(size_t n)
{
	unsigned class = class_for(n);

	return most && class < CLASSES ? take(class) : NULL;
}

void plugin_memory_init(uint64_t max_bytes)
{
	if (!max_bytes)
		return;
	most = max_bytes;
	/* READs' replies are taken and given back past us. */
	mallopt(M_MMAP_THRESHOLD, 8 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
	if (!plugin_rpc_allocate_with(rpc_malloc, rpc_free, &others))
		LogWarn(COMPONENT_FSAL, "NFSDIO: Keep_Memory: this ntirpc keeps its allocator");
}
