/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Share reservations, what READ and WRITE may use, what goes with what; stateids. */
#include "tests/lib/heldplay.h"
#include "tests/lib/unit.h"

static struct state4_client *a, *b;

static void setup(void)
{
	play_begin(16, 0);
	a = play_client("a");
	b = play_client("b");
}

static void teardown(void)
{
	state4_lock(play_state);
	struct state4_files *one = state4_held_drop(play_state, a),
			    *two = state4_held_drop(play_state, b);
	state4_unlock(play_state);
	state4_files_put(one);
	state4_files_put(two);
	state4_client_put(a);
	state4_client_put(b);
	play_end();
}

/* Every pair of access and deny against every other, of another client and of another owner. */
START_TEST(share_modes_of_others_stand_against_each_other)
{
	for (unsigned n = 0; n < 3 * 4 * 3 * 4 * 2; n++) {
		unsigned a1 = 1 + n % 3, d1 = n / 3 % 4, a2 = 1 + n / 12 % 3, d2 = n / 36 % 4;
		struct state4_client *other = n / 144 ? a : b;
		struct state4_open *one, *two;
		bool fits = !(a1 & d2) && !(a2 & d1);

		state4_lock(play_state);
		one = play_open(a, "one", 1, a1, d1);
		ck_assert_ptr_nonnull(one);
		two = play_open(other, "two", 1, a2, d2);
		ck_assert_msg(!!two == fits, "%u/%u then %u/%u", a1, d1, a2, d2);
		play_drop(one);
		if (two)
			play_drop(two);
		state4_unlock(play_state);
	}
	ck_assert_uint_eq(state4_client_held(a)->nopens, 0);
}
END_TEST

/* The same owner's own access and deny count too, but for access it asked for in the same words. */
START_TEST(an_owners_own_modes_stand_against_each_other)
{
	for (unsigned n = 0; n < 3 * 4 * 3 * 4; n++) {
		unsigned a1 = 1 + n % 3, d1 = n / 3 % 4, a2 = 1 + n / 12 % 3, d2 = n / 36 % 4;
		struct state4_open *one, *two;
		bool fits = !(a1 & d2) && (a1 == a2 || !(a2 & d1));

		state4_lock(play_state);
		one = play_open(a, "one", 1, a1, d1);
		two = play_open(a, "one", 1, a2, d2);
		ck_assert_msg(!!two == fits, "%u/%u then %u/%u", a1, d1, a2, d2);
		if (two) {
			ck_assert_ptr_eq(one, two);
			ck_assert_uint_eq(one->seqid, 2);
			ck_assert_uint_eq(state4_share_union(one->access), a1 | a2);
			ck_assert_uint_eq(state4_share_union(one->deny), d1 | d2);
		}
		play_drop(one);
		state4_unlock(play_state);
	}
}
END_TEST

START_TEST(counts_follow_the_modes)
{
	struct state4_open *o;
	struct state4_file *f;

	state4_lock(play_state);
	o = play_open(a, "one", 1, 3, 0);
	f = o->sfile;
	ck_assert(f->access[0] == 1 && f->access[1] == 1 && !f->deny[0] && !f->deny[1]);
	state4_share_set(o, 1u << 1, 1u << 2);
	ck_assert(f->access[0] == 1 && f->access[1] == 0 && !f->deny[0] && f->deny[1] == 1);
	ck_assert_ptr_nonnull(play_open(b, "two", 1, 1, 0));
	ck_assert_uint_eq(f->access[0], 2);
	play_drop(o);
	ck_assert(f->access[0] == 1 && !f->deny[1]);
	state4_unlock(play_state);
}
END_TEST

START_TEST(a_client_has_no_more_opens_than_it_may)
{
	char name[16];

	state4_lock(play_state);
	for (unsigned i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "o%u", i);
		ck_assert_ptr_nonnull(play_open(a, name, (uint8_t)i, 1, 0));
	}
	ck_assert_ptr_null(play_open(a, "o0", 99, 1, 0));
	ck_assert_ptr_nonnull(play_open(b, "o0", 99, 1, 0));
	state4_unlock(play_state);
}
END_TEST

static uint32_t io(uint32_t minor, struct state4_client *c, uint8_t fh, const stateid4 *id,
		   enum state4_use use, bool *has_file)
{
	struct req *r = play_req(minor, minor ? c : NULL, fh);
	struct file *file;
	uint32_t st = state4_io(r, id, use, &file);

	*has_file = file;
	play_req_free(r);
	return st;
}

START_TEST(reading_and_writing_go_by_the_open)
{
	static const struct {
		unsigned access;
		enum state4_use use;
		uint32_t status;
		bool file;
	} rows[] = {
		{1, STATE4_READ, NFS4_OK, true},
		{1, STATE4_WRITE, NFS4ERR_OPENMODE, false},
		{2, STATE4_READ, NFS4_OK, false}, /* if the file's mode lets them */
		{2, STATE4_WRITE, NFS4_OK, true},
		{3, STATE4_READ, NFS4_OK, true},
		{3, STATE4_WRITE, NFS4_OK, true},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct state4_open *o;
		bool has_file;
		stateid4 id;

		state4_lock(play_state);
		o = play_open(a, "one", 1, rows[i].access, 0);
		state4_id_of(o, &id);
		state4_unlock(play_state);
		ck_assert_uint_eq(io(0, a, 1, &id, rows[i].use, &has_file), rows[i].status);
		ck_assert_int_eq(has_file, rows[i].file);
		state4_lock(play_state);
		play_drop(o);
		state4_unlock(play_state);
	}
}
END_TEST

START_TEST(special_stateids_respect_deny)
{
	stateid4 zero = {0}, ones = {.seqid = UINT32_MAX};
	bool has_file;

	memset(ones.other, 0xff, sizeof(ones.other));
	for (unsigned deny = 0; deny <= 3; deny++) {
		struct state4_open *o;

		state4_lock(play_state);
		o = play_open(a, "one", 1, 1, deny);
		state4_unlock(play_state);
		ck_assert_uint_eq(io(0, b, 1, &zero, STATE4_READ, &has_file),
				  deny & 1 ? NFS4ERR_LOCKED : NFS4_OK);
		ck_assert_uint_eq(io(0, b, 1, &zero, STATE4_WRITE, &has_file),
				  deny & 2 ? NFS4ERR_LOCKED : NFS4_OK);
		ck_assert_uint_eq(io(0, b, 1, &ones, STATE4_READ, &has_file), NFS4_OK);
		ck_assert_uint_eq(io(0, b, 1, &ones, STATE4_WRITE, &has_file),
				  deny & 2 ? NFS4ERR_LOCKED : NFS4_OK);
		ck_assert_uint_eq(io(0, b, 2, &zero, STATE4_WRITE, &has_file), NFS4_OK);
		ck_assert(!has_file);
		state4_lock(play_state);
		play_drop(o);
		state4_unlock(play_state);
	}
}
END_TEST

START_TEST(stateids_are_told_apart)
{
	stateid4 id, bad;
	struct state4_open *o;
	bool f;

	state4_lock(play_state);
	o = play_open(a, "one", 1, 3, 0);
	play_open(a, "one", 1, 3, 0);
	state4_id_of(o, &id);
	state4_unlock(play_state);
	ck_assert_uint_eq(id.seqid, 2);
	ck_assert_uint_eq(io(0, a, 1, &id, STATE4_READ, &f), NFS4_OK);
	bad = id;
	bad.seqid = 1;
	ck_assert_uint_eq(io(0, a, 1, &bad, STATE4_READ, &f), NFS4ERR_OLD_STATEID);
	bad.seqid = 3;
	ck_assert_uint_eq(io(0, a, 1, &bad, STATE4_READ, &f), NFS4ERR_BAD_STATEID);
	bad.seqid = 0;
	ck_assert_uint_eq(io(0, a, 1, &bad, STATE4_READ, &f), NFS4ERR_OLD_STATEID);
	/* Another file's. */
	ck_assert_uint_eq(io(0, a, 2, &id, STATE4_READ, &f), NFS4ERR_BAD_STATEID);
	/* Of another start of the server: its first four bytes. */
	bad = id;
	memset(bad.other, 0, 4);
	ck_assert_uint_eq(io(0, a, 1, &bad, STATE4_READ, &f), NFS4ERR_STALE_STATEID);
	/* Nobody's number. */
	bad = id;
	bad.other[11] ^= 0x40;
	ck_assert_uint_eq(io(0, a, 1, &bad, STATE4_READ, &f), NFS4ERR_BAD_STATEID);
	state4_id_invalid(&bad);
	ck_assert_uint_eq(io(0, a, 1, &bad, STATE4_READ, &f), NFS4ERR_BAD_STATEID);
	/* The current one where there is none. */
	bad = (stateid4){.seqid = 1};
	ck_assert_uint_eq(io(0, a, 1, &bad, STATE4_READ, &f), NFS4ERR_BAD_STATEID);
	state4_lock(play_state);
	play_drop(o);
	state4_unlock(play_state);
	ck_assert_uint_eq(io(0, a, 1, &id, STATE4_READ, &f), NFS4ERR_BAD_STATEID);
}
END_TEST

START_TEST(seqids_wrap_past_zero)
{
	struct state4_open *o;
	stateid4 id, old;
	bool f;

	state4_lock(play_state);
	o = play_open(a, "one", 1, 3, 0);
	o->seqid = UINT32_MAX;
	state4_id_of(o, &old);
	state4_id_bump(o, &id);
	state4_unlock(play_state);
	ck_assert_uint_eq(id.seqid, 1);
	ck_assert_uint_eq(io(0, a, 1, &old, STATE4_READ, &f), NFS4ERR_OLD_STATEID);
	ck_assert_uint_eq(io(0, a, 1, &id, STATE4_READ, &f), NFS4_OK);
}
END_TEST

START_TEST(what_was_expired_is_told_as_expired)
{
	struct state4_open *o;
	stateid4 id;
	bool f;

	state4_lock(play_state);
	o = play_open(a, "one", 1, 3, 3);
	state4_id_of(o, &id);
	state4_unlock(play_state);
	play_clock += 30 * PLAY_SECOND;
	state4_sweep(play_state);
	/* Kept by courtesy. */
	ck_assert_uint_eq(io(0, a, 1, &id, STATE4_READ, &f), NFS4_OK);
	play_clock += 30 * PLAY_SECOND;
	state4_sweep(play_state);
	state4_client_evict(play_state, a);
	ck_assert_uint_eq(io(0, a, 1, &id, STATE4_READ, &f), NFS4ERR_EXPIRED);
	ck_assert(!state4_denied(play_state, &(struct fh){.len = 1, .data = {1}}, STATE4_READ));
}
END_TEST

START_TEST(locks_go_with_the_open)
{
	struct state4_files *dead = NULL;
	struct state4_owner *w;
	struct state4_open *o, *k;
	bool fresh;

	state4_lock(play_state);
	o = play_open(a, "one", 1, 3, 0);
	w = state4_owner_new(play_state, a, true, "locker", 6, 0);
	k = state4_lock_stateid(play_state, w, o, &fresh);
	ck_assert(fresh && k && k->open == o);
	ck_assert_ptr_eq(state4_lock_stateid(play_state, w, o, &fresh), k);
	ck_assert(!fresh);
	ck_assert_int_eq(state4_ranges_reserve(&k->ranges), 0);
	state4_ranges_set(&k->ranges, 0, 9, STATE4_LOCK_WRITE);
	state4_client_held(a)->nlocks = state4_tables(play_state)->nlocks = 1;
	state4_open_drop(play_state, o, false, &dead);
	ck_assert_ptr_null(state4_owner_find(play_state, a, true, "locker", 6));
	ck_assert_uint_eq(state4_client_held(a)->nopens, 0);
	ck_assert_uint_eq(state4_client_held(a)->nlocks, 0);
	state4_unlock(play_state);
	ck_assert_ptr_nonnull(dead);
	state4_files_put(dead);
}
END_TEST

START_TEST(a_file_is_found_by_who_has_it_open)
{
	struct fh fh = {.len = 1, .data = {7}};
	struct state4_open *o;
	struct file *f;

	ck_assert_ptr_null(state4_file_of(play_state, &fh, FILE_PATH));
	state4_lock(play_state);
	o = play_open(a, "one", 7, 3, 0);
	state4_unlock(play_state);
	f = state4_file_of(play_state, &fh, FILE_READ);
	ck_assert_ptr_eq(f, o->file);
	file_put(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("state4_open");
	TCase *t = tcase_create("opens");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, share_modes_of_others_stand_against_each_other);
	tcase_add_test(t, an_owners_own_modes_stand_against_each_other);
	tcase_add_test(t, counts_follow_the_modes);
	tcase_add_test(t, a_client_has_no_more_opens_than_it_may);
	tcase_add_test(t, reading_and_writing_go_by_the_open);
	tcase_add_test(t, special_stateids_respect_deny);
	tcase_add_test(t, stateids_are_told_apart);
	tcase_add_test(t, seqids_wrap_past_zero);
	tcase_add_test(t, what_was_expired_is_told_as_expired);
	tcase_add_test(t, locks_go_with_the_open);
	tcase_add_test(t, a_file_is_found_by_who_has_it_open);
	suite_add_tcase(s, t);
	return unit_run(s);
}
