/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * COMPOUND4args: what looks at a prefix of them never changes its mind as more
 * comes, agrees with the codecs about where data are, and each operation's
 * arguments survive decoding and encoding.  What is decoded by hand (sets of
 * attributes, values to be set, names) agrees with the codecs as well.
 * Input: the arguments.
 */
#include <string.h>

#include "nfsd-io/proto/nfs4_attr.h"
#include "nfsd-io/proto/peek4.h"
#include "nfsd-io/proto/utf8.h"
#include "tests/lib/fuzz.h"

#define OP_XDR ((xdrproc_t)xdr_nfs_argop4)
#define DEMAND_MAX (1 << 20)

static uint8_t once[65536], twice[65536];
static struct proto_env env; /* owners are numbers */
static struct req req = {.env = &env};

struct seen {
	enum peek4 how;
	size_t at;
	uint32_t bytes, demand;
	uint64_t offset;
};

/* From a block of exactly `len` bytes: one more read is the sanitizer's to see. */
static struct seen look(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct seen s = {0};

	FUZZ_CHECK(copy);
	memcpy(copy, data, len);
	s.how = peek4_payload(copy, len, &s.at, &s.bytes, &s.offset);
	s.demand = peek4_demand(copy, len, DEMAND_MAX);
	free(copy);
	FUZZ_CHECK(s.demand <= DEMAND_MAX);
	if (s.how == PEEK4_PAYLOAD)
		FUZZ_CHECK(s.bytes && s.at <= len && s.at >= 4);
	return s;
}

/* What a prefix tells is what the whole tells. */
static void check_prefix(const uint8_t *data, size_t len, const struct seen *all)
{
	struct seen s = look(data, len);

	FUZZ_CHECK(s.demand <= all->demand);
	FUZZ_CHECK(s.how == PEEK4_MORE || s.how == all->how);
	if (s.how == PEEK4_PAYLOAD)
		FUZZ_CHECK(s.at == all->at && s.bytes == all->bytes && s.offset == all->offset);
}

static struct seen check_peek(const uint8_t *data, size_t size)
{
	struct seen all = look(data, size);
	size_t step = size / 64 + 1;

	FUZZ_CHECK(peek4_demand(data, size, 4096) == (all.demand < 4096 ? all.demand : 4096));
	for (size_t len = 0; len < size; len += step)
		check_prefix(data, len, &all);
	if (all.how == PEEK4_PAYLOAD) {
		check_prefix(data, all.at, &all);
		FUZZ_CHECK(look(data, all.at - 1).how == PEEK4_MORE);
	}
	return all;
}

/* The words kept of one set; none beyond them is left out of `beyond`. */
static void check_set(const uint8_t *at, size_t len, const bitmap4 *b)
{
	struct v4_attrs a;
	struct cursor c;
	bool beyond;

	cursor_init_const(&c, at, len);
	FUZZ_CHECK(v4_attr_get(&c, &a, &beyond) == NFS4_OK);
	for (u_int i = 0; i < b->bitmap4_len; i++) {
		if (i < V4_ATTR_WORDS)
			FUZZ_CHECK(a.word[i] == b->bitmap4_val[i]);
		else
			FUZZ_CHECK(beyond || !b->bitmap4_val[i]);
	}
	cursor_init(&c, twice, sizeof(twice));
	v4_put_attrs(&c, &a);
	FUZZ_CHECK(cursor_ok(&c) && cursor_pos(&c) <= 4 + 4 * V4_ATTR_WORDS);
}

static void check_sattr(const uint8_t *at, size_t len, const fattr4 *in)
{
	struct v4_sattr byhand, bycodec;
	struct cursor c;

	for (uint32_t minor = 0; minor <= V4_MINOR_MAX; minor++) {
		enum v4_sattr_use use = minor & 1 ? V4_SATTR_SET : V4_SATTR_NEW;
		uint32_t status;

		v4(&req)->minor = minor;
		cursor_init_const(&c, at, len);
		status = v4_sattr_get(&req, &c, use, &byhand);
		FUZZ_CHECK(status == v4_sattr_decode(&req, in, use, &bycodec));
		if (!status)
			FUZZ_CHECK(!memcmp(&byhand.asked, &bycodec.asked, sizeof(byhand.asked)) &&
				   byhand.s.size == bycodec.s.size &&
				   byhand.s.mode == bycodec.s.mode &&
				   byhand.s.uid == bycodec.s.uid && byhand.s.gid == bycodec.s.gid);
	}
}

/* What may be made is what may be looked up, if it is UTF-8. */
static void check_name(const uint8_t *at, size_t len, const component4 *name)
{
	char out[NAME_MAX + 1];
	struct cursor c;
	uint32_t status;

	cursor_init_const(&c, at, len);
	status = v4_get_old_name(&c, out);
	FUZZ_CHECK(status == v4_name_check(name));
	if (!status) {
		FUZZ_CHECK(strlen(out) == name->component4_len &&
			   !memcmp(out, name->component4_val, strlen(out)));
		if (!utf8_valid(out, strlen(out)))
			status = NFS4ERR_INVAL;
	}
	cursor_init_const(&c, at, len);
	FUZZ_CHECK(status == v4_get_name(&c, out));
}

/* `at`: the operation's arguments, as many as the codec took. */
static void check_by_hand(const uint8_t *at, size_t len, const nfs_argop4 *op)
{
	switch (op->argop) {
	case OP_GETATTR:
		check_set(at, len, &op->nfs_argop4_u.opgetattr.attr_request);
		break;
	case OP_READDIR:
		check_set(at + 24, len - 24, &op->nfs_argop4_u.opreaddir.attr_request);
		break;
	case OP_SETATTR:
		check_sattr(at + 16, len - 16, &op->nfs_argop4_u.opsetattr.obj_attributes);
		break;
	case OP_LOOKUP:
		check_name(at, len, &op->nfs_argop4_u.oplookup.objname);
		break;
	case OP_REMOVE:
		check_name(at, len, &op->nfs_argop4_u.opremove.target);
		break;
	default:
		break;
	}
}

/* A set of more words than are kept comes out shorter; nothing comes out longer. */
static void check_round_trip(const nfs_argop4 *op, size_t consumed)
{
	nfs_argop4 again = {0};
	struct cursor c;
	size_t len;

	cursor_init(&c, once, sizeof(once));
	FUZZ_CHECK(codec_encode(&c, OP_XDR, op));
	len = cursor_pos(&c);
	FUZZ_CHECK(len <= consumed);
	cursor_init(&c, once, len);
	FUZZ_CHECK(codec_decode(&c, OP_XDR, &again) && cursor_left(&c) == 0);
	cursor_init(&c, twice, len);
	FUZZ_CHECK(codec_encode(&c, OP_XDR, &again) && cursor_left(&c) == 0);
	FUZZ_CHECK(memcmp(once, twice, len) == 0);
	codec_free(OP_XDR, &again);
}

/* The first WRITE with data that the codecs come to, if peek4 walks over what stands before it. */
static void check_write(const struct seen *s, const WRITE4args *w, size_t end)
{
	size_t pad = -(size_t)w->data.data_len & 3;

	if (s->how == PEEK4_PLAIN)
		return;
	FUZZ_CHECK(s->how == PEEK4_PAYLOAD && s->bytes == w->data.data_len &&
		   s->offset == w->offset);
	FUZZ_CHECK(s->at + s->bytes + pad == end);
}

/* One operation; false when it does not decode. */
static bool check_op(struct cursor *c, const struct seen *s, bool *written)
{
	size_t from = cursor_pos(c);
	nfs_argop4 op = {0};

	if (!codec_decode(c, OP_XDR, &op))
		return false;
	check_round_trip(&op, cursor_pos(c) - from);
	check_by_hand(c->base + from + 4, cursor_pos(c) - from - 4, &op);
	if (op.argop == OP_WRITE && op.nfs_argop4_u.opwrite.data.data_len && !*written) {
		check_write(s, &op.nfs_argop4_u.opwrite, cursor_pos(c));
		*written = true;
	}
	codec_free(OP_XDR, &op);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c;
	struct seen s;
	bool written = false;
	uint32_t n;

	if (size > sizeof(once))
		return 0;
	s = check_peek(data, size);
	cursor_init_const(&c, data, size);
	cursor_get_opaque(&c, V4_TAG_MAX, &n);
	cursor_skip(&c, 4);
	n = cursor_get_u32(&c);
	while (n-- && cursor_ok(&c) && check_op(&c, &s, &written))
		continue;
	return 0;
}
