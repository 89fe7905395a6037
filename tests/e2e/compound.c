/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * compound HOST PORT DIR: COMPOUND itself, with operations that only move
 * filehandles: order, tags, minor versions, illegal and cut calls, limits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4c.h"

static struct v4c c;
static struct v4c_fh root, file; /* an empty one */

static uint32_t run_op(nfs_opnum4 op)
{
	v4c_begin_bare(&c);
	v4c_op(&c, op);
	return v4c_run(&c);
}

static void nothing_to_do(void)
{
	v4c_begin_bare(&c);
	c.tag = "an empty one";
	tap_is(v4c_run(&c), NFS4_OK, "a COMPOUND without operations is well");
	tap_ok(c.res.tag.utf8string_len == 12 &&
		       !memcmp(c.res.tag.utf8string_val, "an empty one", 12),
	       "the tag comes back");
	tap_is(c.res.resarray.resarray_len, 0, "there are no results");
	c.tag = NULL;
}

static void handles(void)
{
	struct v4c_fh fh;

	tap_is(run_op(OP_GETFH), NFS4ERR_NOFILEHANDLE, "GETFH without a filehandle");
	tap_is(run_op(OP_SAVEFH), NFS4ERR_NOFILEHANDLE, "SAVEFH without a filehandle");
	tap_is(run_op(OP_RESTOREFH), NFS4ERR_RESTOREFH, "RESTOREFH without a saved one");
	v4c_begin_bare(&c);
	v4c_putfh(&c, &root);
	v4c_op(&c, OP_SAVEFH);
	v4c_op(&c, OP_RESTOREFH);
	v4c_getfh(&c);
	tap_is(v4c_run(&c), NFS4_OK, "saved and restored");
	tap_ok(v4c_keep_fh(&c, &fh) && fh.len == root.len && !memcmp(fh.data, root.data, fh.len),
	       "the filehandle is the one put");
	fh = root;
	fh.data[fh.len - 1] ^= 1;
	v4c_begin_bare(&c);
	v4c_putfh(&c, &fh);
	v4c_getfh(&c);
	tap_is(v4c_run(&c), NFS4ERR_STALE, "an altered handle is stale");
	tap_is(c.res.resarray.resarray_len, 1, "nothing runs behind an error");
}

static uint8_t data[1 << 20];

/* WRITE with what follows, and READ alone and with what follows, of `len` bytes at `offset`. */
static void write_and_read(uint64_t offset, uint32_t len)
{
	const READ4resok *got;

	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 7 + offset + (i >> 8));
	v4c_begin(&c);
	v4c_putfh(&c, &file);
	v4c_write(&c, &v4c_anonymous, offset, UNSTABLE4, data, len);
	v4c_getfh(&c);
	v4c_commit(&c, 0, 0);
	tap_is(v4c_run(&c), NFS4_OK, "WRITE in the middle of a COMPOUND");
	tap_is(v4c_res(&c, OP_WRITE)
		       ? v4c_res(&c, OP_WRITE)->nfs_resop4_u.opwrite.WRITE4res_u.resok4.count
		       : 0,
	       len, "all of it is written");
	tap_is(v4c_last(&c), OP_COMMIT, "what stands behind the data runs");
	for (int more = 0; more < 2; more++) {
		v4c_begin(&c);
		v4c_putfh(&c, &file);
		v4c_read(&c, &v4c_anonymous, offset, len);
		if (more)
			v4c_getfh(&c);
		tap_is(v4c_run(&c), NFS4_OK,
		       more ? "READ before another operation" : "READ at the end");
		if (!v4c_res(&c, OP_READ))
			continue;
		got = &v4c_res(&c, OP_READ)->nfs_resop4_u.opread.READ4res_u.resok4;
		tap_ok(got->data.data_len == len && !memcmp(got->data.data_val, data, len) &&
			       got->eof,
		       "%u bytes at %llu come back", len, (unsigned long long)offset);
	}
}

static void two_writes(void)
{
	const READ4resok *got;

	v4c_begin(&c);
	v4c_putfh(&c, &file);
	v4c_write(&c, &v4c_anonymous, 0, FILE_SYNC4, "one", 3);
	v4c_write(&c, &v4c_anonymous, 3, FILE_SYNC4, "two", 3);
	v4c_read(&c, &v4c_anonymous, 0, 3);
	v4c_read(&c, &v4c_anonymous, 0, 6);
	tap_is(v4c_run(&c), NFS4_OK, "two WRITEs and two READs in one COMPOUND");
	got = &v4c_res(&c, OP_READ)->nfs_resop4_u.opread.READ4res_u.resok4;
	tap_ok(got->data.data_len == 6 && !memcmp(got->data.data_val, "onetwo", 6),
	       "each has its own data");
}

static void edges(void)
{
	static const struct {
		uint64_t offset;
		uint32_t count, status;
		const char *name;
	} commits[] = {
		{0, 0, NFS4_OK, "COMMIT of all"},
		{0xffffffffffffffff, 0, NFS4_OK, "COMMIT at the last offset"},
		{0xfffffffffffffff0, 64, NFS4ERR_INVAL, "COMMIT beyond all offsets"},
	};

	for (size_t i = 0; i < sizeof(commits) / sizeof(commits[0]); i++) {
		v4c_begin(&c);
		v4c_putfh(&c, &file);
		v4c_commit(&c, commits[i].offset, commits[i].count);
		tap_is(v4c_run(&c), commits[i].status, commits[i].name);
	}
	v4c_begin(&c);
	v4c_putfh(&c, &file);
	v4c_write(&c, &v4c_anonymous, INT64_MAX, UNSTABLE4, "x", 1);
	tap_is(v4c_run(&c), NFS4ERR_FBIG, "WRITE beyond what a file can have");
	v4c_begin(&c);
	v4c_putfh(&c, &file);
	v4c_write(&c, &v4c_anonymous, 0, UNSTABLE4, "", 0);
	tap_is(v4c_run(&c), NFS4_OK, "WRITE of nothing");
	v4c_begin(&c);
	v4c_putfh(&c, &file);
	v4c_read(&c, &v4c_anonymous, UINT64_MAX, 10);
	tap_is(v4c_run(&c), NFS4_OK, "READ beyond all offsets is the end of the file");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4c_read(&c, &v4c_anonymous, 0, 10);
	tap_is(v4c_run(&c), NFS4ERR_ISDIR, "READ of a directory");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4c_write(&c, &v4c_anonymous, 0, UNSTABLE4, "x", 1);
	tap_is(v4c_run(&c), NFS4ERR_ISDIR, "WRITE to a directory");
	v4c_begin(&c);
	v4c_putfh(&c, &root);
	v4c_commit(&c, 0, 0);
	tap_is(v4c_run(&c), NFS4ERR_ISDIR, "COMMIT of a directory");
}

static void with_data(void)
{
	struct rawnfs_fh dir = {.len = root.len}, fh = {0};

	memcpy(dir.data, root.data, root.len);
	tap_is(rawnfs_create(&c.raw, &dir, "data", &fh), 0, "a file");
	file.len = fh.len;
	memcpy(file.data, fh.data, fh.len);
	two_writes();
	write_and_read(0, 5000);
	write_and_read(4999, 65537);
	write_and_read(70000, sizeof(data));
	edges();
}

static void limits(void)
{
	static const struct { uint32_t op; const char *name;
	} illegal[] = {
		{0, "operation 0"},     {1, "operation 1"},
		{2, "operation 2"},     {40, "an operation of 4.1 in 4.0"},
		{200, "operation 200"}, {OP_ILLEGAL, "OP_ILLEGAL"},
	};
	struct rawnfs_call call;

	for (size_t i = 0; i < sizeof(illegal) / sizeof(illegal[0]); i++) {
		v4c_begin_bare(&c);
		v4c_op(&c, OP_ILLEGAL);
		v4c_encode(&c, &call);
		cursor_set_u32(call.c.p - 4, illegal[i].op);
		tap_is(v4c_send(&c, &call), NFS4ERR_OP_ILLEGAL, illegal[i].name);
		tap_is(v4c_last(&c), OP_ILLEGAL, "it is told as OP_ILLEGAL");
		rawnfs_call_end(&call);
	}
	v4c_begin_bare(&c);
	for (int i = 0; i < 65; i++)
		v4c_putfh(&c, &root);
	tap_is(v4c_run(&c), NFS4ERR_RESOURCE, "65 operations are too many in 4.0");
	c.tag = "\xc3\x28";
	v4c_begin_bare(&c);
	tap_is(v4c_run(&c), NFS4ERR_INVAL, "a tag that is not UTF-8");
	c.tag = NULL;
	c.minor = 3;
	tap_is(run_op(OP_ILLEGAL), NFS4ERR_MINOR_VERS_MISMATCH, "minor version 3");
	tap_is(c.res.resarray.resarray_len, 0, "a minor version that is not there has no results");
	c.minor = 1;
	tap_is(run_op(OP_PUTROOTFH), NFS4ERR_OP_NOT_IN_SESSION, "4.1 without SEQUENCE");
	v4c_begin_bare(&c);
	v4c_op(&c, OP_DESTROY_CLIENTID);
	v4c_op(&c, OP_PUTROOTFH);
	tap_is(v4c_run(&c), NFS4ERR_NOT_ONLY_OP,
	       "something else beside an operation that stands alone");
	c.minor = 0;
}

/* Everything but the RPC header cut at each byte: an answer each time, and the connection lives. */
static void cut_short(void)
{
	struct rawnfs_call call;
	size_t len, header;
	bool good = true;

	v4c_begin_bare(&c);
	v4c_putfh(&c, &root);
	v4c_lookup(&c, "data");
	v4c_getattr(&c, 0xffffffff, 0xffffffff, 0);
	v4c_write(&c, &v4c_anonymous, 0, UNSTABLE4, "abcdef", 6);
	v4c_getfh(&c);
	rawnfs_call_begin(&c.raw, &call, NFS4_PROGRAM, NFS_V4, 1);
	header = rawnfs_call_len(&call);
	rawnfs_call_end(&call);
	v4c_encode(&c, &call);
	len = rawnfs_call_len(&call);
	for (size_t at = header; at < len; at++) {
		uint32_t status;

		call.c.p = call.c.base + at;
		status = v4c_send(&c, &call);
		good &= status != NFS4_OK &&
			(status != V4C_BROKEN || (c.err == -EPROTO && c.rpc.stat == 4));
	}
	tap_ok(good, "a call cut at any byte is refused");
	rawnfs_call_end(&call);
	tap_ok(rawnfs_alive(&c.raw), "the connection lives");
}

/*
 * A WRITE of `len` bytes and `more` behind it, all but the last of 10000: the status.
 */
static uint32_t write_on(struct v4c *v, uint32_t len, unsigned more)
{
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 11 + len + (i >> 9));
	v4c_begin(v);
	v4c_putfh(v, &file);
	v4c_write(v, &v4c_anonymous, 0, UNSTABLE4, data, len);
	for (unsigned i = 0; i < more; i++)
		v4c_write(v, &v4c_anonymous, len + i * 10000, UNSTABLE4,
			  data + (len + i * 10000) % 70001, i + 1 < more ? 10000 : 4097);
	return v4c_run(v);
}

/* All of it is in the file, as it was sent. */
static bool is_there(struct v4c *v, uint32_t len, unsigned more)
{
	uint32_t at = 0, n = len;
	const READ4resok *got;

	for (unsigned i = 0; i <= more; i++) {
		v4c_begin(v);
		v4c_putfh(v, &file);
		v4c_read(v, &v4c_anonymous, at, n);
		if (v4c_run(v) || !v4c_res(v, OP_READ))
			return false;
		got = &v4c_res(v, OP_READ)->nfs_resop4_u.opread.READ4res_u.resok4;
		if (got->data.data_len != n || memcmp(got->data.data_val, data + at % 70001, n))
			return false;
		at = len + i * 10000;
		n = i + 1 < more ? 10000 : 4097;
	}
	return true;
}

/* Data behind a WRITE's data, more than a call without data may have. */
static void long_tail(struct v4c *v)
{
	static const struct {
		uint32_t len;
		unsigned more;
	} rows[] = {{100, 2}, {5000, 8}, {70000, 12}, {13, 50}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tap_ok(write_on(v, rows[i].len, rows[i].more) == NFS4_OK,
		       "a WRITE of %u bytes and %u more in one COMPOUND of 4.%u", rows[i].len,
		       rows[i].more, v->minor);
		tap_ok(is_there(v, rows[i].len, rows[i].more), "each has its own data");
	}
}

/* More than any buffer holds, or the session allows: told so, and nothing was done. */
static void too_long_a_tail(struct v4c *v, uint32_t want)
{
	tap_ok(write_on(v, 1 << 20, 8) == want,
	       "more behind a WRITE than there is room for, in 4.%u", v->minor);
	tap_is(v->res.resarray.resarray_len, v->minor ? 1 : 0, "before anything was done");
}

static void session(const char *host, int port)
{
	struct v4c s;
	uint32_t status;

	if (v4c_open(&s, host, port, 1))
		return;
	tap_is(v4c_hello(&s, "compound"), NFS4_OK, "a session");
	for (int i = 0; i < 3; i++) {
		v4c_begin(&s);
		v4c_op(&s, OP_PUTFH)->nfs_argop4_u.opputfh.object = (nfs_fh4){5, (char *)"short"};
		status = v4c_run(&s);
		tap_is(status, NFS4ERR_BADHANDLE, "a slot is free again behind an error");
	}
	v4c_begin(&s);
	v4c_op(&s, OP_ILLEGAL);
	tap_is(v4c_run(&s), NFS4ERR_OP_ILLEGAL, "an illegal operation in a session");
	v4c_begin(&s);
	v4c_sequence(&s, 1, 1, false);
	tap_is(v4c_run(&s), NFS4ERR_SEQUENCE_POS, "SEQUENCE twice");
	v4c_begin(&s);
	v4c_op(&s, OP_RENEW);
	tap_is(v4c_run(&s), NFS4ERR_NOTSUPP, "an operation of 4.0 in 4.1");
	v4c_begin(&s);
	v4c_op(&s, OP_SEEK);
	tap_is(v4c_run(&s), NFS4ERR_OP_ILLEGAL, "an operation of 4.2 in 4.1");
	v4c_begin(&s);
	v4c_putfh(&s, &root);
	v4c_getfh(&s);
	tap_is(v4c_run(&s), NFS4_OK, "the slot still works");
	long_tail(&s);
	too_long_a_tail(&s, NFS4ERR_REQ_TOO_BIG);
	v4c_close(&s);
}

int main(int argc, char **argv)
{
	if (argc != 4 || v4c_open(&c, argv[1], atoi(argv[2]), 0))
		return 1;
	tap_is(v4c_mount(&c, argv[3], &root), 0, "the export's root");
	nothing_to_do();
	handles();
	with_data();
	limits();
	cut_short();
	long_tail(&c);
	too_long_a_tail(&c, NFS4ERR_RESOURCE);
	session(argv[1], atoi(argv[2]));
	v4c_close(&c);
	return tap_done();
}
