/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/peek4.h"

#include "rpc/cursor.h"

#define TAG_MAX 1024
#define TEXT_MAX 65536 /* of any opaque walked over */

/* Numbers, so that this file needs no codec. */
enum {
	ACCESS = 3,
	CLOSE,
	COMMIT,
	CREATE,
	GETATTR = 9,
	GETFH,
	LINK,
	LOOKUP = 15,
	LOOKUPP,
	NVERIFY,
	OPEN,
	OPEN_CONFIRM = 20,
	OPEN_DOWNGRADE,
	PUTFH,
	PUTPUBFH,
	PUTROOTFH,
	READ,
	READDIR,
	READLINK,
	REMOVE,
	RENAME,
	RENEW,
	RESTOREFH,
	SAVEFH,
	SECINFO,
	SETATTR,
	VERIFY = 37,
	WRITE,
	SEQUENCE = 53,
	READ_PLUS = 68,
	SEEK,
	NOPS,
};

/*
 * The arguments of an operation: 4, 8, s (16): so many bytes; o: opaque; b: bitmap; O: what OPEN
 * has behind its owner.  NULL: not walked over.
 */
static const char *const shapes[NOPS] = {
	[ACCESS] = "4",      [CLOSE] = "4s",    [COMMIT] = "84",       [GETATTR] = "b",
	[GETFH] = "",        [LINK] = "o",      [LOOKUP] = "o",        [LOOKUPP] = "",
	[NVERIFY] = "bo",    [OPEN] = "4448oO", [OPEN_CONFIRM] = "s4", [OPEN_DOWNGRADE] = "s444",
	[PUTFH] = "o",       [PUTPUBFH] = "",   [PUTROOTFH] = "",      [READ] = "s84",
	[READDIR] = "8844b", [READLINK] = "",   [REMOVE] = "o",        [RENAME] = "oo",
	[RENEW] = "8",       [RESTOREFH] = "",  [SAVEFH] = "",         [SECINFO] = "o",
	[SETATTR] = "sbo",   [VERIFY] = "bo",   [SEQUENCE] = "s4444",  [READ_PLUS] = "s84",
	[SEEK] = "s84",
};

struct walk {
	struct cursor c;
	uint32_t left; /* operations */
	uint32_t op;
};

static void skip_opaque(struct cursor *c)
{
	uint32_t len;

	cursor_get_opaque(c, TEXT_MAX, &len);
}

static void skip_bitmap(struct cursor *c)
{
	cursor_skip(c, (size_t)cursor_get_u32(c) * 4);
}

static void skip_createhow(struct cursor *c)
{
	uint32_t mode = cursor_get_u32(c);

	if (mode > 3)
		c->bad = true;
	if (mode >= 2)
		cursor_skip(c, 8);
	if (mode == 2)
		return;
	skip_bitmap(c);
	skip_opaque(c);
}

static void skip_claim(struct cursor *c)
{
	switch (cursor_get_u32(c)) {
	case 1: /* PREVIOUS */
		cursor_skip(c, 4);
		break;
	case 2: /* DELEGATE_CUR */
		cursor_skip(c, 16);
		skip_opaque(c);
		break;
	case 0: /* NULL */
	case 3: /* DELEGATE_PREV */
		skip_opaque(c);
		break;
	case 5: /* DELEG_CUR_FH */
		cursor_skip(c, 16);
		break;
	case 4: /* FH */
	case 6: /* DELEG_PREV_FH */
		break;
	default:
		c->bad = true;
	}
}

static void skip_shape(struct cursor *c, const char *shape)
{
	for (; *shape; shape++) {
		switch (*shape) {
		case '4':
			cursor_skip(c, 4);
			break;
		case '8':
			cursor_skip(c, 8);
			break;
		case 's':
			cursor_skip(c, 16);
			break;
		case 'o':
			skip_opaque(c);
			break;
		case 'b':
			skip_bitmap(c);
			break;
		default:
			if (cursor_get_bool(c))
				skip_createhow(c);
			skip_claim(c);
		}
	}
}

static void begin(struct walk *w, const uint8_t *args, size_t len)
{
	uint32_t tag;

	cursor_init_const(&w->c, args, len);
	cursor_get_opaque(&w->c, TAG_MAX, &tag);
	cursor_skip(&w->c, 4);
	w->left = cursor_get_u32(&w->c);
}

/* The next operation; its arguments are at the cursor. */
static bool next(struct walk *w)
{
	if (!cursor_ok(&w->c) || !w->left)
		return false;
	w->left--;
	w->op = cursor_get_u32(&w->c);
	return cursor_ok(&w->c);
}

/* False: this one cannot be walked over. */
static bool skip(struct walk *w)
{
	const char *shape = w->op < NOPS ? shapes[w->op] : NULL;

	if (shape)
		skip_shape(&w->c, shape);
	return shape;
}

enum peek4 peek4_payload(const uint8_t *args, size_t len, size_t *at, uint32_t *bytes,
			 uint64_t *offset)
{
	struct walk w;

	begin(&w, args, len);
	while (next(&w)) {
		if (w.op != WRITE) {
			if (!skip(&w))
				return PEEK4_PLAIN;
			continue;
		}
		cursor_skip(&w.c, 16);
		*offset = cursor_get_u64(&w.c);
		cursor_skip(&w.c, 4);
		*bytes = cursor_get_u32(&w.c);
		*at = cursor_pos(&w.c);
		if (cursor_ok(&w.c) && *bytes)
			return PEEK4_PAYLOAD;
	}
	return cursor_ok(&w.c) ? PEEK4_PLAIN : PEEK4_MORE;
}

/* The count of READ, READ_PLUS and READDIR, and the cursor behind their arguments. */
static uint32_t count_of(struct walk *w)
{
	uint32_t n;

	cursor_skip(&w->c, w->op == READDIR ? 20 : 24);
	n = cursor_get_u32(&w->c);
	if (w->op == READDIR)
		skip_bitmap(&w->c);
	return cursor_ok(&w->c) ? n : 0;
}

uint32_t peek4_demand(const uint8_t *args, size_t len, uint32_t max)
{
	struct walk w;
	uint64_t sum = 0;

	begin(&w, args, len);
	while (next(&w) && sum < max) {
		if (w.op == READ || w.op == READ_PLUS || w.op == READDIR)
			sum += count_of(&w);
		else if (!skip(&w))
			break;
	}
	return sum < max ? (uint32_t)sum : max;
}
