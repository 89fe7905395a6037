/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "tools/nfsload_work.h"

#include <stdlib.h>

#include "tests/lib/stamp.h"
#include "tools/nfsload_cost.h"

struct io {
	struct source source;
	struct work *work;
	struct proto_fh file;
	uint64_t records, issued, chance;
	uint64_t *order; /* a permutation of the records, or NULL: ascending */
	uint8_t *payload; /* what is written when nobody will look */
	bool checking;	 /* reading back what was written */
	uint8_t verf[8];
	bool verf_known, verf_changed;
};

static struct io io;

/* --- contents: 8 bytes at a time, each telling the record and where in it ------------------ */

static uint64_t stamp_word(uint64_t record, uint32_t i)
{
	return (record + 1) * 0x9e3779b97f4a7c15u ^ (i + 1) * 0xd6e8feb86659fd93u;
}

static void record_fill(uint8_t *buf, uint64_t record, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word = stamp_word(record, i / 8);

		memcpy(buf + i, &word, len - i < 8 ? len - i : 8);
	}
}

static bool record_good(const uint8_t *buf, uint64_t record, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t word = stamp_word(record, i / 8);

		if (memcmp(buf + i, &word, len - i < 8 ? len - i : 8))
			return false;
	}
	return true;
}

static uint32_t record_len(uint64_t record)
{
	uint64_t left = io.work->total - record * io.work->size;

	return left < io.work->size ? left : io.work->size;
}

/* --- the source ------------------------------------------------------------------------- */

static enum op_kind kind_next(void)
{
	const struct work *w = io.work;

	if (io.checking || w->kind[0] == 'r')
		return OP_READ;
	if (w->kind[0] == 'w')
		return OP_WRITE;
	return stamp_random(&io.chance) % 100 < w->read_percent ? OP_READ : OP_WRITE;
}

static bool io_next(struct source *s, struct lane *l)
{
	struct work *w = io.work;
	bool round = w->seconds > 0 && !io.checking;
	uint64_t n = io.issued % io.records;

	(void)s;
	if (round ? work_over(w) : io.issued == io.records)
		return false;
	io.issued++;
	l->record = io.order ? io.order[n] : n;
	l->op.kind = kind_next();
	l->op.fh = &io.file;
	l->op.offset = w->first + l->record * w->size;
	l->op.len = record_len(l->record);
	if (l->op.kind == OP_READ)
		return true;
	l->op.stable = w->stable;
	l->op.payload = w->verify ? l->buf : io.payload;
	if (w->verify)
		record_fill(l->buf, l->record, l->op.len);
	return true;
}

static void note_verf(const uint8_t verf[8])
{
	if (!io.verf_known)
		memcpy(io.verf, verf, 8);
	io.verf_known = true;
	io.verf_changed |= !!memcmp(io.verf, verf, 8);
}

static void io_note(struct work *w, struct lane *l)
{
	if (l->op.status || l->op.count != l->op.len) {
		w->errors++;
		return;
	}
	if (l->op.kind == OP_WRITE) {
		note_verf(l->op.verf);
	} else if (w->verify && !record_good(l->buf, l->record, l->op.len)) {
		w->errors++;
		return;
	}
	if (io.checking)
		return;
	w->ops++;
	w->bytes += l->op.len;
}

static bool io_done(struct source *s, struct lane *l)
{
	(void)s;
	io_note(io.work, l);
	return false;
}

/* --- around it -------------------------------------------------------------------------- */

static void shuffle(uint64_t seed)
{
	for (uint64_t i = 0; i < io.records; i++)
		io.order[i] = i;
	for (uint64_t i = io.records; i > 1; i--) {
		uint64_t k = stamp_random(&seed) % i, t = io.order[i - 1];

		io.order[i - 1] = io.order[k];
		io.order[k] = t;
	}
}

int io_prepare(struct work *w)
{
	struct client *c = w->client;
	struct op remove = { .kind = OP_REMOVE, .fh = &c->root, .name = w->name };
	uint64_t state = w->seed + 1;

	io.source = (struct source){ io_next, io_done };
	io.work = w;
	io.chance = state;
	io.records = (w->total + w->size - 1) / w->size;
	io.payload = malloc(w->size);
	io.order = w->seed ? malloc(io.records * sizeof *io.order) : NULL;
	if (!io.payload || (w->seed && !io.order)) {
		memcpy(c->error, "out of memory", 14);
		return -1;
	}
	for (uint64_t i = 0; i < w->size; i++)
		io.payload[i] = stamp_random(&state);
	if (io.order)
		shuffle(w->seed);
	if (w->fresh)
		loop_call(c, &remove);
	return c->proto->open(c, w->name, w->kind[0] == 'w', &io.file);
}

static int commit(struct work *w)
{
	struct op op = { .kind = OP_COMMIT, .fh = &io.file };
	uint64_t start = cost_now_ns();

	if (!io.verf_known || w->stable)
		return 0;
	if (loop_call(w->client, &op)) {
		w->errors++;
		return op.status == PROTO_BROKEN ? -1 : 0;
	}
	w->commit_s = (cost_now_ns() - start) / 1e9;
	note_verf(op.verf);
	w->errors += io.verf_changed;
	return 0;
}

int io_run(struct work *w)
{
	io.issued = 0;
	io.checking = false;
	return loop_run(w->client, &io.source, w->hist) ? -1 : commit(w);
}

int io_verify(struct work *w)
{
	double rate = w->client->rate;
	int err;

	io.issued = 0;
	io.checking = true;
	w->client->rate = 0;
	err = loop_run(w->client, &io.source, NULL);
	w->client->rate = rate;
	return err;
}
