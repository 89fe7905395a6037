/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every procedure with arguments cut at each byte, with each word made
 * extreme, and with more behind them than there should be: an answer each
 * time, nothing kept.
 */
#include "config.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"
#include "tests/lib/v3play.h"

static struct v3play p;
static struct fh root_fh, file_fh;
static uint8_t args[1024];
static size_t len;

static void setup(void)
{
	nfs_fh3 root;

	v3play_start(&p, scratch_dir(NULL));
	umask(0);
	p.client.opts.sync = false; /* thousands of calls */
	root = v3play_root(&p, &root_fh);
	ck_assert_int_eq(v3play_create(&p, &root, "f", 0644, &file_fh), NFS3_OK);
}

static void teardown(void)
{
	v3play_stop(&p);
	scratch_remove(p.dir);
}

static void put_sattr(struct cursor *c)
{
	static const uint32_t words[] = {1, 0644, 1, 0, 1, 0, 1, 0, 100, 2, 1000, 1, 2, 1000, 1};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cursor_put_u32(c, words[i]);
}

static void put_words(struct cursor *c, const char *fmt)
{
	for (; *fmt; fmt++)
		switch (*fmt) {
		case 'd': /* directory */
			cursor_put_opaque(c, root_fh.data, root_fh.len);
			break;
		case 'f': /* file */
			cursor_put_opaque(c, file_fh.data, file_fh.len);
			break;
		case 'n': /* name */
			cursor_put_opaque(c, "name", 4);
			break;
		case 'a':
			put_sattr(c);
			break;
		case 'q':
			cursor_put_u64(c, 0);
			break;
		case 'w': /* small number */
			cursor_put_u32(c, 1);
			break;
		case 'c': /* count */
			cursor_put_u32(c, 4096);
			break;
		}
}

/* Valid arguments, procedure by procedure. */
static const char *const shapes[22] = {
	"",       "f",  "fawq", "dn",   "fw",  "f",    "fqc",   "fqwwwc", "dnwa", "dna", "dnan",
	"dnwwwa", "dn", "dn",   "dndn", "fdn", "dqqc", "dqqcc", "f",      "f",    "f",   "fqc",
};

static void encode(unsigned proc)
{
	struct cursor c;

	memset(args, 0, sizeof(args));
	cursor_init(&c, args, sizeof(args));
	put_words(&c, shapes[proc]);
	ck_assert(cursor_ok(&c));
	len = cursor_pos(&c);
}

static void answered(unsigned proc, size_t n)
{
	unsigned stat = v3play_raw(&p, proc, args, n);

	ck_assert_msg(stat == MSG_SUCCESS || stat == MSG_GARBAGE_ARGS, "procedure %u: %u", proc,
		      stat);
}

START_TEST(arguments_cut_at_any_byte_are_answered)
{
	encode((unsigned)_i);
	for (size_t n = 0; n < len; n++)
		answered((unsigned)_i, n);
	ck_assert_uint_eq(pool_in_use(p.pool), 0);
}
END_TEST

START_TEST(extreme_words_anywhere_are_answered)
{
	static const uint32_t extremes[] = {0,          1,          2,         0x7fffffff,
					    0x80000000, 0xffffffff, 1000000000};

	encode((unsigned)_i);
	for (size_t at = 0; at + 4 <= len; at += 4)
		for (unsigned e = 0; e < sizeof(extremes) / sizeof(extremes[0]); e++) {
			encode((unsigned)_i);
			cursor_set_u32(args + at, extremes[e]);
			answered((unsigned)_i, len);
		}
	ck_assert_uint_eq(pool_in_use(p.pool), 0);
}
END_TEST

START_TEST(bytes_behind_the_arguments_are_passed_over)
{
	encode((unsigned)_i);
	memset(args + len, 0xff, sizeof(args) - len);
	answered((unsigned)_i, sizeof(args));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("nfs3_hostile");
	TCase *t = tcase_create("hostile");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, arguments_cut_at_any_byte_are_answered, 0, 22);
	tcase_add_loop_test(t, extreme_words_anywhere_are_answered, 0, 22);
	tcase_add_loop_test(t, bytes_behind_the_arguments_are_passed_over, 0, 22);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
