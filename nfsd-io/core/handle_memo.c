/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/handle_memo.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define SLOTS (1u << 17) /* 8 MiB, of which only what is used is ever touched */
#define DATA_WORDS 3	 /* of the handle's bytes: btrfs has 20 */

/*
 * The clock that stamps a birth moves in steps of some milliseconds: within one, a number could be
 * given back and used again with the same birth.  Older than this, it cannot.
 */
#define SETTLED_S 2

/* Which object, then its handle. */
struct words {
	uint64_t dev, ino, born_s, born_ns_type_len, data[DATA_WORDS];
};
#define WORDS (sizeof(struct words) / sizeof(uint64_t))

/* `turn` is odd while it is written; a reader who saw two different ones saw nothing. */
static struct slot {
	_Atomic uint64_t turn;
	_Atomic uint64_t word[WORDS];
} __attribute__((aligned(64))) slots[SLOTS];

static uint64_t dev_of(const struct statx *x)
{
	return (uint64_t)x->stx_dev_major << 32 | x->stx_dev_minor;
}

/* Numbers given out one after the other lie side by side, and do not push each other out. */
static struct slot *slot_of(const struct statx *x)
{
	uint64_t ino = x->stx_ino;

	return &slots[(ino ^ ino >> 32 ^ dev_of(x) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS];
}

static bool read_slot(struct slot *s, struct words *out)
{
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_acquire), word[WORDS];

	if (!turn || turn % 2)
		return false;
	/* Each before what follows it, so that `turn` is looked at last. */
	for (unsigned i = 0; i < WORDS; i++)
		word[i] = atomic_load_explicit(&s->word[i], memory_order_acquire);
	memcpy(out, word, sizeof(word));
	return atomic_load_explicit(&s->turn, memory_order_relaxed) == turn;
}

/* Nothing is lost for good by giving way to another writer. */
static void write_slot(struct slot *s, const struct words *w)
{
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_relaxed), word[WORDS];

	memcpy(word, w, sizeof(word));
	if (turn % 2 || !atomic_compare_exchange_strong(&s->turn, &turn, turn + 1))
		return;
	for (unsigned i = 0; i < WORDS; i++)
		atomic_store_explicit(&s->word[i], word[i], memory_order_release);
	atomic_store_explicit(&s->turn, turn + 2, memory_order_release);
}

static bool has_birth(const struct statx *x)
{
	return (x->stx_mask & HANDLE_MEMO_MASK) == HANDLE_MEMO_MASK;
}

bool handle_memo_find(const struct statx *x, struct khandle *out)
{
	struct words w;

	if (!has_birth(x) || !read_slot(slot_of(x), &w))
		return false;
	if (w.ino != x->stx_ino || w.dev != dev_of(x) ||
	    w.born_s != (uint64_t)x->stx_btime.tv_sec ||
	    w.born_ns_type_len >> 32 != x->stx_btime.tv_nsec)
		return false;
	out->type = (uint8_t)(w.born_ns_type_len >> 8);
	out->len = (uint8_t)w.born_ns_type_len;
	memcpy(out->data, w.data, sizeof(w.data));
	return true;
}

void handle_memo_note(const struct statx *x, const struct khandle *k)
{
	struct words w = {
		.dev = dev_of(x),
		.ino = x->stx_ino,
		.born_s = (uint64_t)x->stx_btime.tv_sec,
		.born_ns_type_len =
			(uint64_t)x->stx_btime.tv_nsec << 32 | (uint64_t)k->type << 8 | k->len,
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	if (!has_birth(x) || k->len > sizeof(w.data) ||
	    x->stx_btime.tv_sec + SETTLED_S > now.tv_sec)
		return;
	memcpy(w.data, k->data, k->len);
	write_slot(slot_of(x), &w);
}
