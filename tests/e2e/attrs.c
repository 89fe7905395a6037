/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * attrs HOST PORT DIR MINOR: GETATTR, VERIFY, NVERIFY, ACCESS and SETATTR on an object of each type
 * in the export DIR, which is empty at first.
 */
#include <stdlib.h>

#include "tests/lib/tap.h"
#include "tests/lib/v4f.h"

static struct v4c c;
static struct v4c_fh root, of[V4F_TYPES];
static uint32_t supported[3];
static const char *name; /* of the type in hand */

static const uint8_t required[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 19};
/* Only to be set; settable though not served; only to be read. */
static const uint8_t write_only[] = {48, 54};
static const uint8_t unserved_settable[] = {12, 14, 25, 32, 46, 49};

static bool served(unsigned attr)
{
	return supported[attr / 32] >> attr % 32 & 1;
}

static void say(bool good, const char *what)
{
	tap_ok(good, "4.%u %s: %s", c.minor, name, what);
}

/* --- GETATTR --- */

static uint32_t getattr(int t, uint32_t w0, uint32_t w1, uint32_t w2)
{
	v4c_begin(&c);
	v4c_putfh(&c, &of[t]);
	v4c_getattr(&c, w0, w1, w2);
	return v4c_run(&c);
}

static void learn_supported(int t)
{
	struct cursor vals;
	uint32_t n;

	memset(supported, 0, sizeof(supported));
	if (getattr(t, 1, 0, 0) || !v4f_got(&c, &vals))
		return;
	n = cursor_get_u32(&vals);
	for (uint32_t i = 0; i < n; i++)
		supported[i % 3] |= cursor_get_u32(&vals);
}

static void told(int t)
{
	struct cursor vals;
	const fattr4 *f;
	uint32_t all[3] = {supported[0], supported[1] & ~(1u << 16 | 1u << 22),
			   supported[2] & ~(1u << 17)};
	bool good = true;

	for (unsigned i = 0; i < sizeof(required); i++)
		good = good && served(required[i]);
	say(good, "all required attributes are served");
	good = !getattr(t, all[0], all[1], all[2]);
	f = v4f_got(&c, &vals);
	say(good && f && f->attrmask.bitmap4_val[0] == all[0], "all of them at once");
	good = f && v4f_number(&c, &of[t], FATTR4_TYPE) == v4f_types[t].type;
	say(good, "its type");
	say(!getattr(t, 0, 0, 0) && v4f_got(&c, &vals) && !cursor_left(&vals),
	    "none asked, none told");
	say(!getattr(t, 1u << 14 | 1u << 25, 0, 1u << 30) && v4f_got(&c, &vals) &&
		    !cursor_left(&vals),
	    "unknown ones are passed over");
	for (unsigned i = 0; i < sizeof(write_only); i++)
		good = good && getattr(t, 1 << 4, 1u << (write_only[i] - 32), 0) == NFS4ERR_INVAL;
	say(good, "those only to be set are INVAL");
	if (c.minor >= 2)
		say(getattr(t, 0, 0, 1u << 17) == NFS4ERR_INVAL, "and so is mode_umask");
}

/* --- VERIFY, NVERIFY --- */

static uint32_t verify(int t, nfs_opnum4 op, fattr4 f)
{
	nfs_argop4 *a;

	v4c_begin(&c);
	v4c_putfh(&c, &of[t]);
	a = v4c_op(&c, op);
	/* VERIFY's and NVERIFY's arguments are the same. */
	a->nfs_argop4_u.opverify.obj_attributes = f;
	return v4c_run(&c);
}

/* What it said of itself, said back; supported_attrs with a word more. */
static void same_as_told(int t)
{
	struct v4f s;
	struct cursor vals, *out;
	const uint8_t *rest;
	uint32_t mask = 0, n;
	size_t left;

	for (unsigned i = 0; i < sizeof(required); i++)
		if (required[i] != FATTR4_RDATTR_ERROR)
			mask |= 1u << required[i];
	getattr(t, mask, 0, 0);
	v4f_begin(&s);
	out = v4f_add(&s, 0);
	if (v4f_got(&c, &vals)) {
		n = cursor_get_u32(&vals);
		cursor_put_u32(out, n + 1);
		while (n--)
			cursor_put_u32(out, cursor_get_u32(&vals));
		cursor_put_u32(out, 0);
		left = cursor_left(&vals);
		rest = cursor_get_fixed(&vals, (uint32_t)left);
		cursor_put_fixed(out, rest, (uint32_t)left);
	}
	s.f.attrmask.bitmap4_val[0] = mask;
	say(verify(t, OP_VERIFY, v4f_end(&s)) == NFS4_OK, "VERIFY of what it told");
	say(verify(t, OP_NVERIFY, v4f_end(&s)) == NFS4ERR_SAME, "NVERIFY of what it told is SAME");
}

static void verified(int t)
{
	uint64_t size = v4f_number(&c, &of[t], FATTR4_SIZE);
	bool good = true;
	struct v4f s;

	same_as_told(t);
	say(verify(t, OP_VERIFY, v4f_u64(&s, FATTR4_SIZE, size + 1)) == NFS4ERR_NOT_SAME,
	    "VERIFY of another size is NOT_SAME");
	say(verify(t, OP_NVERIFY, v4f_u64(&s, FATTR4_SIZE, size + 1)) == NFS4_OK,
	    "NVERIFY of another size");
	say(verify(t, OP_VERIFY, v4f_u32(&s, FATTR4_TYPE, v4f_types[t].type)) == NFS4_OK,
	    "VERIFY of its type");
	good = verify(t, OP_VERIFY, v4f_u32(&s, FATTR4_RDATTR_ERROR, 0)) == NFS4ERR_INVAL;
	for (unsigned i = 0; i < sizeof(write_only); i++)
		good = good &&
		       verify(t, OP_VERIFY, v4f_u32(&s, write_only[i], 0)) == NFS4ERR_INVAL &&
		       verify(t, OP_NVERIFY, v4f_u32(&s, write_only[i], 0)) == NFS4ERR_INVAL;
	say(good, "rdattr_error and those only to be set are INVAL");
	good = true;
	for (unsigned i = 0; i < sizeof(unserved_settable); i++)
		good = good &&
		       verify(t, OP_VERIFY, v4f_u32(&s, unserved_settable[i], 0)) ==
			       NFS4ERR_ATTRNOTSUPP &&
		       verify(t, OP_NVERIFY, v4f_u32(&s, unserved_settable[i], 0)) ==
			       NFS4ERR_ATTRNOTSUPP;
	say(good, "unserved ones are ATTRNOTSUPP");
	s.f = v4f_u32(&s, FATTR4_SIZE, 0);
	say(verify(t, OP_VERIFY, s.f) == NFS4ERR_BADXDR, "a value cut short is BADXDR");
}

/* --- ACCESS --- */

static void accessed(int t)
{
	const uint32_t meaningless =
		t == V4F_DIR ? ACCESS4_EXECUTE : ACCESS4_LOOKUP | ACCESS4_DELETE;
	const ACCESS4resok *ok;
	bool good = true;

	for (uint32_t want = 0; want < 64; want++) {
		v4c_begin(&c);
		v4c_putfh(&c, &of[t]);
		v4c_access(&c, want);
		if (v4c_run(&c)) {
			good = false;
			continue;
		}
		ok = &v4c_res(&c, OP_ACCESS)->nfs_resop4_u.opaccess.ACCESS4res_u.resok4;
		good = good && !(ok->supported & ~want) && !(ok->access & ~ok->supported) &&
		       !(ok->supported & meaningless);
	}
	say(good, "ACCESS: granted is within supported, and that within asked");
	good = true;
	for (uint32_t want = c.minor >= 2 ? 512 : 64; want; want <<= 1) {
		v4c_begin(&c);
		v4c_putfh(&c, &of[t]);
		v4c_access(&c, want | 1);
		good = good && v4c_run(&c) == NFS4ERR_INVAL;
	}
	say(good, "ACCESS: bits of no meaning are INVAL");
}

/* --- SETATTR --- */

static uint32_t setattr(int t, const stateid4 *id, fattr4 f)
{
	SETATTR4args *a;

	v4c_begin(&c);
	v4c_putfh(&c, &of[t]);
	a = &v4c_op(&c, OP_SETATTR)->nfs_argop4_u.opsetattr;
	a->stateid = *id;
	a->obj_attributes = f;
	return v4c_run(&c);
}

static const bitmap4 *was_set(void)
{
	const nfs_resop4 *r = v4c_res(&c, OP_SETATTR);

	return r ? &r->nfs_resop4_u.opsetattr.attrsset : NULL;
}

static fattr4 mtime(struct v4f *s, uint32_t how, uint64_t sec, uint32_t nsec)
{
	struct cursor *out;

	v4f_begin(s);
	out = v4f_add(s, FATTR4_TIME_MODIFY_SET);
	cursor_put_u32(out, how);
	if (how) {
		cursor_put_u64(out, sec);
		cursor_put_u32(out, nsec);
	}
	return v4f_end(s);
}

static void set_mode(int t)
{
	struct v4f s;
	uint64_t before = v4f_number(&c, &of[t], FATTR4_CHANGE), after;
	bool good = true;

	say(setattr(t, &v4c_anonymous, v4f_u32(&s, FATTR4_MODE, 0740)) == NFS4_OK && was_set() &&
		    was_set()->bitmap4_len == 2 && was_set()->bitmap4_val[1] == 2 &&
		    v4f_number(&c, &of[t], FATTR4_MODE) == 0740,
	    "mode is set, and told as set");
	for (uint32_t mode = 0741; mode < 0746; mode++) {
		after = v4f_number(&c, &of[t], FATTR4_CHANGE);
		good = good && after != before;
		before = after;
		setattr(t, &v4c_bypass, v4f_u32(&s, FATTR4_MODE, mode));
	}
	say(good, "each change moves the change attribute");
}

/* Those that cannot be set; and values that are no values. */
static void refused(int t)
{
	bool good = true;
	struct v4f s;

	for (unsigned attr = 0; attr < 96; attr++) {
		bool settable = attr == 4 || attr == 33 || attr == 36 || attr == 37 || attr == 48 ||
				attr == 50 || attr == 54 || attr == 81;

		if (!settable && served(attr) &&
		    setattr(t, &v4c_anonymous, v4f_u32(&s, attr, 1)) != NFS4ERR_INVAL)
			good = tap_is(attr, -1, "a read-only attribute was not INVAL");
		if (good && was_set() && was_set()->bitmap4_len)
			good = false;
	}
	say(good, "setting what is only to be read is INVAL");
	good = true;
	for (unsigned i = 0; i < sizeof(unserved_settable); i++)
		good = good && setattr(t, &v4c_anonymous, v4f_u32(&s, unserved_settable[i], 0)) ==
				       NFS4ERR_ATTRNOTSUPP;
	say(good, "setting what is not served is ATTRNOTSUPP");
	v4f_begin(&s);
	v4f_add(&s, FATTR4_MODE);
	say(setattr(t, &v4c_anonymous, v4f_end(&s)) == NFS4ERR_BADXDR,
	    "a mode without a value is BADXDR");
	v4f_begin(&s);
	cursor_put_u64(v4f_add(&s, FATTR4_MODE), 0644);
	say(setattr(t, &v4c_anonymous, v4f_end(&s)) == NFS4ERR_BADXDR, "a mode and more is BADXDR");
	say(setattr(t, &v4c_anonymous, mtime(&s, 1, 500000000, 1000000000)) == NFS4ERR_INVAL,
	    "a second of more than 999999999 nanoseconds is INVAL");
	v4f_begin(&s);
	cursor_put_opaque(v4f_add(&s, FATTR4_OWNER), "nobody we know@nowhere", 22);
	say(setattr(t, &v4c_anonymous, v4f_end(&s)) == NFS4ERR_BADOWNER,
	    "an unknown owner is BADOWNER");
}

static void set_rest(int t)
{
	struct v4f s;
	bool good;

	say(setattr(t, &v4c_anonymous, mtime(&s, 1, 500000000, 7)) == NFS4_OK, "a time is set");
	say(setattr(t, &v4c_anonymous, mtime(&s, 0, 0, 0)) == NFS4_OK, "the server's time is set");
	v4f_begin(&s);
	cursor_put_opaque(v4f_add(&s, FATTR4_OWNER), "1234", 4);
	cursor_put_opaque(v4f_add(&s, FATTR4_OWNER_GROUP), "root@example.org", 16);
	good = setattr(t, &v4c_anonymous, v4f_end(&s)) == NFS4_OK && was_set() &&
	       was_set()->bitmap4_val[1] == (1u << 4 | 1u << 5);
	say(good, "owners are set as numbers and as names");
	if (c.minor >= 2)
		say(setattr(t, &v4c_anonymous,
			    v4f_u64(&s, FATTR4_MODE_UMASK, UINT64_C(0x1ff00000012))) ==
			    NFS4ERR_INVAL,
		    "mode_umask is not for what exists");
}

static void set_size(int t)
{
	uint32_t want = t == V4F_FILE ? NFS4_OK : t == V4F_DIR ? NFS4ERR_ISDIR : NFS4ERR_INVAL;
	struct v4f s;

	say(setattr(t, &v4c_anonymous, v4f_u64(&s, FATTR4_SIZE, 4321)) == want,
	    "size is for regular files");
	if (t != V4F_FILE)
		return;
	say(was_set() && was_set()->bitmap4_val[0] == 1 << 4 &&
		    v4f_number(&c, &of[t], FATTR4_SIZE) == 4321,
	    "and set");
	say(setattr(t, &v4c_bypass, v4f_u64(&s, FATTR4_SIZE, 0)) == NFS4_OK &&
		    v4f_number(&c, &of[t], FATTR4_SIZE) == 0,
	    "with the other special stateid, too");
	say(setattr(t, &v4c_anonymous, v4f_u64(&s, FATTR4_SIZE, UINT64_C(1) << 63)) ==
			    NFS4ERR_FBIG &&
		    setattr(t, &v4c_anonymous, v4f_u64(&s, FATTR4_SIZE, UINT64_MAX)) ==
			    NFS4ERR_FBIG &&
		    setattr(t, &v4c_anonymous, v4f_u64(&s, FATTR4_SIZE, INT64_MAX)) ==
			    NFS4ERR_FBIG &&
		    v4f_number(&c, &of[t], FATTR4_SIZE) == 0,
	    "a size beyond all files is FBIG");
}

/* --- without an object --- */

static void without(void)
{
	static const nfs_opnum4 ops[] = {OP_GETATTR, OP_SETATTR, OP_VERIFY, OP_NVERIFY, OP_ACCESS};
	bool good = true;

	name = "nothing";
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		v4c_begin(&c);
		v4c_op(&c, ops[i]);
		good = good && v4c_run(&c) == NFS4ERR_NOFILEHANDLE;
	}
	say(good, "all are NOFILEHANDLE");
}

int main(int argc, char **argv)
{
	if (argc != 5 || v4c_open(&c, argv[1], atoi(argv[2]), (uint32_t)atoi(argv[4])))
		return 1;
	name = "all";
	say(!v4c_mount(&c, argv[3], &root), "the export's root");
	if (c.minor)
		say(!v4c_hello(&c, c.minor == 1 ? "attrs 4.1" : "attrs 4.2"), "a session");
	for (int t = 0; t < V4F_TYPES; t++) {
		name = v4f_types[t].name;
		if (v4f_make(argv[3], t) || v4f_lookup(&c, &root, name, &of[t])) {
			say(false, "made and found");
			continue;
		}
		learn_supported(t);
		told(t);
		verified(t);
		accessed(t);
		if (t != V4F_LINK)
			set_mode(t);
		refused(t);
		set_rest(t);
		set_size(t);
	}
	without();
	v4c_close(&c);
	return tap_done();
}
