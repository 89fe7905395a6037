/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "nfsd-io/ganesha/plugin.h"

#define PAGE 4096u
/*
 * Blocks from here on are mappings of their own.  The largest that are kept
 * are: between the blocks of an arena they would hold all of it in memory.
 * What READs take and give back past us is not, so that it stays.
 */
#define MAPPED ((1u << 20) + (64u << 10))

/*
 * Records and the data of WRITEs, in classes by bytes.  All are ordinary
 * blocks of the heap: whoever gets one may free() it, and any that is large
 * enough and begins with a page may come in.
 */
static const size_t sizes[] = { 36 << 10, 68 << 10, 132 << 10, 260 << 10, (1 << 20) + PAGE };
#define CLASSES 5
#define SMALLEST (16u << 10)

struct kept {
	struct kept *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *kept[CLASSES]; /* the last used first: it may still be in the CPU's cache */
static size_t bytes, most;
static plugin_rpc_malloc_t *others;

/* The smallest for `n` bytes, or CLASSES. */
static unsigned class_for(size_t n)
{
	unsigned class = 0;

	if (n < SMALLEST)
		return CLASSES;
	while (class < CLASSES && sizes[class] < n)
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
		bytes -= sizes[class];
	}
	pthread_mutex_unlock(&lock);
	return k ? k : aligned_alloc(PAGE, class == CLASSES - 1 ? MAPPED : sizes[class]);
}

/* The largest that `n` bytes are enough for, unless they are far more than it; or CLASSES. */
static unsigned class_within(size_t n)
{
	unsigned class = CLASSES;

	while (class > 0)
		if (sizes[--class] <= n)
			return n < 2 * sizes[class] ? class : CLASSES;
	return CLASSES;
}

static bool keep(void *p)
{
	unsigned class = class_within(malloc_usable_size(p));
	bool room;

	if (class == CLASSES)
		return false;
	pthread_mutex_lock(&lock);
	room = bytes + sizes[class] <= most;
	if (room) {
		((struct kept *)p)->next = kept[class];
		kept[class] = p;
		bytes += sizes[class];
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

/* Bytes of an arena. */
static int trim_for(uint64_t max_bytes)
{
	const uint64_t least = 2 << 20, greatest = 64 << 20;
	uint64_t n = max_bytes / 16;

	return (int)(n < least ? least : n > greatest ? greatest : n);
}

static int arenas(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 2 ? 2 : cpus > 1024 ? 1024 : (int)cpus;
}

void plugin_memory_init(uint64_t max_bytes)
{
	if (!max_bytes)
		return;
	most = max_bytes;
	/*
	 * READs' replies are taken and given back past us, by whichever thread: in the heap's eight
	 * arenas for each CPU they would hardly ever find memory that has been used before.
	 */
	mallopt(M_ARENA_MAX, arenas());
	mallopt(M_MMAP_THRESHOLD, MAPPED);
	mallopt(M_TRIM_THRESHOLD, trim_for(max_bytes));
	if (!plugin_rpc_allocate_with(rpc_malloc, rpc_free, &others))
		LogWarn(COMPONENT_FSAL, "NFSDIO: Keep_Memory: this ntirpc keeps its allocator");
}
