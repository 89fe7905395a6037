/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/server/exports.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/unit.h"
#include "nfsd-io/server/exports_opts.h"

static struct export_table *t;
static struct conf_errors e;

static void setup(void)
{
	t = calloc(1, sizeof(*t));
	t->refs = 1;
	memset(&e, 0, sizeof(e));
}

static void teardown(void)
{
	export_table_put(t);
	conf_errors_free(&e);
}

static int parse(const char *text)
{
	return exports_parse(t, text, strlen(text), "x", &e);
}

static bool told(const char *want)
{
	for (unsigned i = 0; i < e.n; i++)
		if (strstr(e.line[i], want))
			return true;
	for (unsigned i = 0; i < e.n; i++)
		fprintf(stderr, "# %s\n", e.line[i]);
	return false;
}

static const struct export_client *client(unsigned x, unsigned n)
{
	ck_assert_uint_lt(x, t->n);
	ck_assert_uint_lt(n, t->exports[x].nclients);
	return &t->exports[x].clients[n];
}

START_TEST(one_line_is_a_full_configuration)
{
	const struct export_opts *o;

	ck_assert_int_eq(parse("/srv 192.0.2.0/24(rw)\n"), 0);
	ck_assert_uint_eq(t->n, 1);
	ck_assert_str_eq(t->exports[0].path, "/srv");
	o = &client(0, 0)->opts;
	ck_assert(o->rw && o->sync && o->secure && o->root_squash && !o->all_squash);
	ck_assert(o->sec_sys && !o->sec_none && !o->subtree_check && !o->crossmnt);
	ck_assert_uint_eq(o->anonuid, 65534);
	ck_assert_uint_eq(o->anongid, 65534);
	ck_assert_uint_eq(e.n, 0);
	ck_assert_uint_eq(client(0, 0)->line, 1);
	ck_assert_str_eq(client(0, 0)->file, "x");
}
END_TEST

START_TEST(every_kind_of_client_is_told_apart_and_put_in_match_order)
{
	static const enum export_match want[] = {EXPORT_HOST,     EXPORT_HOST,     EXPORT_HOST,
						 EXPORT_NETWORK,  EXPORT_NETWORK,  EXPORT_NETWORK,
						 EXPORT_WILDCARD, EXPORT_WILDCARD, EXPORT_WILDCARD,
						 EXPORT_NETGROUP, EXPORT_ANY};

	ck_assert_int_eq(
		parse("/s *(ro) @lab *.example.org 10.1.2.3/8 h?st db[0-9] 10.0.0.0/255.255.254.0 "
		      "host.example.org 2001:db8::1 192.0.2.7 2001:db8::/32"),
		0);
	for (unsigned i = 0; i < 11; i++)
		ck_assert_int_eq(client(0, i)->match, want[i]);
	ck_assert_str_eq(client(0, 0)->pattern, "host.example.org");
	ck_assert_uint_eq(client(0, 0)->naddrs, 0);
	ck_assert_uint_eq(client(0, 1)->addrs[0].ss_family, AF_INET6);
	ck_assert_uint_eq(client(0, 3)->prefix, 8);
	ck_assert_uint_eq(ntohl(((struct sockaddr_in *)client(0, 3)->addrs)->sin_addr.s_addr),
			  0x0a000000);
	ck_assert_uint_eq(client(0, 4)->prefix, 23);
	ck_assert_uint_eq(client(0, 5)->prefix, 32);
}
END_TEST

START_TEST(continuation_comments_quotes_and_octal_are_as_exports_5_has_them)
{
	ck_assert_int_eq(parse("# comment (not) a \"client\n"
			       "\n"
			       "  /a \\\n"
			       "\t10.0.0.1(rw) # the rest\n"
			       "\"/with blank\" 10.0.0.2(ro)\n"
			       "/oct\\040al/\\134 10.0.0.3\n"
			       "/no#comment 10.0.0.4\r\n"
			       "/last 10.0.0.5"),
			 0);
	ck_assert_uint_eq(t->n, 5);
	ck_assert_str_eq(t->exports[0].path, "/a");
	ck_assert_uint_eq(client(0, 0)->line, 4);
	ck_assert(client(0, 0)->opts.rw);
	ck_assert_str_eq(t->exports[1].path, "/with blank");
	ck_assert_str_eq(t->exports[2].path, "/oct al/\\");
	ck_assert_str_eq(t->exports[3].path, "/no#comment");
	ck_assert_str_eq(client(3, 0)->pattern, "10.0.0.4");
	ck_assert_str_eq(t->exports[4].path, "/last");
	ck_assert_uint_eq(client(4, 0)->line, 8);
	ck_assert_uint_eq(e.n, 0);
}
END_TEST

START_TEST(default_options_hold_for_the_clients_of_their_line)
{
	ck_assert_int_eq(
		parse("/a -rw,insecure 10.0.0.1 10.0.0.2(ro) 10.0.0.3(secure)\n/b 10.0.0.1\n"), 0);
	ck_assert(client(0, 0)->opts.rw && !client(0, 0)->opts.secure);
	ck_assert(!client(0, 1)->opts.rw && !client(0, 1)->opts.secure);
	ck_assert(client(0, 2)->opts.rw && client(0, 2)->opts.secure);
	ck_assert(!client(1, 0)->opts.rw && client(1, 0)->opts.secure);
}
END_TEST

START_TEST(a_blank_before_the_options_exports_to_the_world_with_a_warning)
{
	ck_assert_int_eq(parse("/a host (rw)\n"), 0);
	ck_assert_uint_eq(t->exports[0].nclients, 2);
	ck_assert_int_eq(client(0, 0)->match, EXPORT_HOST);
	ck_assert(!client(0, 0)->opts.rw);
	ck_assert_int_eq(client(0, 1)->match, EXPORT_ANY);
	ck_assert_str_eq(client(0, 1)->pattern, "");
	ck_assert(client(0, 1)->opts.rw);
	ck_assert(told("x:1: /a (rw): no client named: exported to the world"));
	ck_assert_uint_eq(conf_nerrors(&e), 0);
}
END_TEST

START_TEST(a_path_alone_is_read_only_for_the_world_with_a_warning)
{
	ck_assert_int_eq(parse("/a\n/b -rw\n"), 0);
	ck_assert_int_eq(client(0, 0)->match, EXPORT_ANY);
	ck_assert(!client(0, 0)->opts.rw);
	ck_assert(client(1, 0)->opts.rw);
	ck_assert_uint_eq(e.nwarnings, 2);
}
END_TEST

START_TEST(all_errors_are_told_with_their_lines)
{
	ck_assert_int_eq(parse("/a 10.0.0.1(rw,io=direct)\n"
			       "/b 10.0.0.1(rw\n"
			       "/c 10.0.0.1(rw, sync)\n"
			       "/d 10.0.0.1(rw)x\n"
			       "srv 10.0.0.1\n"
			       "/e \"10.0.0.1\n"
			       "/f 10.0.0.0/33 10.0.0.0/255.0.255.0 x/8 2001:db8::/129\n"
			       "/g *(anonuid=-1) 10.0.0.1(fsid=x)\n"
			       "/h *(ro_squash,no_rootsquash)\n"
			       "/i @\n"
			       "/j *(sec=sys:krb9)\n"
			       "/k *(xprtsec=tls)\n"
			       "/l *(rw=1,anonuid,fsid=)\n"
			       "/m *(mp=x)\n"
			       "/ok 10.0.0.1(rw)\n"),
			 -1);
	ck_assert(told("x:1: unknown option \"io\""));
	ck_assert(told("x:2: 10.0.0.1(rw: no ): blanks are not allowed between ( and )"));
	ck_assert(told("x:3: 10.0.0.1(rw,: no ): blanks"));
	ck_assert(told("x:4: 10.0.0.1(rw)x: something behind )"));
	ck_assert(told("x:5: \"srv\": an absolute path must come first"));
	ck_assert(told("x:6: quote is not closed on its line"));
	ck_assert(told("x:7: client \"10.0.0.0/33\": neither a prefix length nor a mask"));
	ck_assert(told("x:7: client \"10.0.0.0/255.0.255.0\""));
	ck_assert(told("x:7: client \"x/8\": not an address in front of /"));
	ck_assert(told("x:7: client \"2001:db8::/129\""));
	ck_assert(told("x:8: anonuid=-1: not an id"));
	ck_assert(told("x:8: fsid=x: not a number"));
	ck_assert(told("x:9: unknown option \"ro_squash\" (did you mean root_squash?)") ||
		  told("x:9: unknown option \"ro_squash\" (did you mean no_squash?)"));
	ck_assert(told("x:9: unknown option \"no_rootsquash\" (did you mean no_root_squash?)"));
	ck_assert(told("x:10: client \"@\": no netgroup behind @"));
	ck_assert(told("x:11: sec=krb9: unknown security flavor"));
	ck_assert(told("x:12: xprtsec=tls: TLS is not served and this demands it"));
	ck_assert(told("x:13: rw: takes no value"));
	ck_assert(told("x:13: anonuid: needs a value: anonuid=..."));
	ck_assert(told("x:13: fsid: no value behind ="));
	ck_assert(told("x:14: mountpoint=x: not an absolute path"));
	ck_assert_str_eq(t->exports[t->n - 1].path, "/ok");
}
END_TEST

START_TEST(options_that_are_not_done_give_one_warning_each)
{
	static const char *const ignored[] = {
		"subtree_check", "crossmnt",     "nohide",          "async",
		"pnfs",          "refer=/a@b",   "replicas=/a@b",   "security_label",
		"nordirplus",    "sec=sys:krb5", "xprtsec=none:tls"};

	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		char line[128];

		snprintf(line, sizeof(line), "/p%u 10.0.0.1(%s)\n", i, ignored[i]);
		ck_assert_int_eq(parse(line), 0);
		ck_assert_uint_eq(e.nwarnings, i + 1);
	}
	ck_assert_uint_eq(conf_nerrors(&e), 0);
}
END_TEST

START_TEST(options_without_a_meaning_here_are_silent)
{
	ck_assert_int_eq(parse("/a "
			       "10.0.0.1(no_wdelay,wdelay,no_acl,insecure_locks,no_auth_nlm,hide,"
			       "no_subtree_check,"
			       "sign_fh,sync,no_pnfs)\n"),
			 0);
	ck_assert_uint_eq(e.n, 0);
}
END_TEST

START_TEST(ids_and_fsid_take_every_form)
{
	ck_assert_int_eq(
		parse("/a *(all_squash,anonuid=-2,anongid=100,fsid=7)\n/b *(fsid=0)\n/c "
		      "*(fsid=root)\n"
		      "/d *(fsid=01234567-89ab-cdef-0123-456789abcdef)\n"
		      "/e *(fsid=0123456789ABCDEF0123456789abcdef)\n/f *(fsid=4294967295)\n"),
		0);
	ck_assert_uint_eq(client(0, 0)->opts.anonuid, 4294967294u);
	ck_assert_uint_eq(client(0, 0)->opts.anongid, 100);
	ck_assert_uint_eq(client(0, 0)->opts.fsid, 7);
	ck_assert_uint_eq(client(1, 0)->opts.fsid, 0);
	ck_assert_uint_eq(client(2, 0)->opts.fsid, 0);
	ck_assert_uint_ne(client(3, 0)->opts.fsid, 0);
	ck_assert_uint_eq(client(3, 0)->opts.fsid, client(4, 0)->opts.fsid);
	ck_assert_uint_eq(client(5, 0)->opts.fsid, 4294967295u);
}
END_TEST

START_TEST(options_behind_sec_hold_for_its_flavors_only)
{
	ck_assert_int_eq(
		parse("/a *(sec=sys,ro,sec=krb5,rw,no_root_squash)\n/b *(sec=krb5:krb5i,rw)\n"
		      "/c *(rw,sec=sys:none)\n"),
		0);
	ck_assert(!client(0, 0)->opts.rw && client(0, 0)->opts.root_squash &&
		  client(0, 0)->opts.sec_sys);
	ck_assert(!client(1, 0)->opts.sec_sys && !client(1, 0)->opts.rw);
	ck_assert(client(1, 0)->opts.sec_other && !client(0, 0)->opts.sec_other);
	ck_assert(client(2, 0)->opts.rw && client(2, 0)->opts.sec_none &&
		  client(2, 0)->opts.sec_sys);
}
END_TEST

START_TEST(lines_with_the_same_path_are_one_export)
{
	ck_assert_int_eq(parse("/a *(ro)\n/b *(ro)\n/a/ 10.0.0.1(rw)\n//a 10.0.0.2\n"), 0);
	ck_assert_uint_eq(t->n, 2);
	ck_assert_uint_eq(t->exports[0].nclients, 3);
	ck_assert_int_eq(client(0, 2)->match, EXPORT_ANY);
}
END_TEST

START_TEST(a_client_given_twice_keeps_its_first_options_with_a_warning)
{
	ck_assert_int_eq(parse("/a host(ro)\n/a HOST(rw)\n"), 0);
	ck_assert_uint_eq(t->exports[0].nclients, 1);
	ck_assert(!client(0, 0)->opts.rw);
	ck_assert(told("x:2: /a is exported to \"HOST\" already at x:1: this one is ignored"));
}
END_TEST

/* Kinds in the opposite of match order: all that grows or moves by the line shows. */
START_TEST(a_long_file_takes_time_by_its_length_only)
{
	enum { EACH = 5000 };
	struct timespec from, to;
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);

	for (unsigned i = 0; i < EACH; i++)
		fprintf(f, "/srv/many 10.%u.%u.0/24(rw)\n", i / 250, i % 250);
	for (unsigned i = 0; i < EACH; i++)
		fprintf(f, "/srv/many 10.%u.%u.1(rw)\n", i / 250, i % 250);
	fclose(f);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	ck_assert_int_eq(parse(text), 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	free(text);
	ck_assert_uint_eq(t->exports[0].nclients, 2 * EACH);
	ck_assert_uint_eq(client(0, 0)->line, EACH + 1);
	ck_assert_uint_eq(client(0, EACH - 1)->line, 2 * EACH);
	ck_assert_uint_eq(client(0, EACH)->line, 1);
	ck_assert_int_lt(to.tv_sec - from.tv_sec, 5);
}
END_TEST

START_TEST(an_export_with_two_fsids_is_an_error)
{
	ck_assert_int_eq(parse("/a 10.0.0.1(fsid=1) 10.0.0.2(fsid=2)\n"), -1);
	ck_assert(told("x:1: /a: fsid=2 here but 1 at x:1"));
}
END_TEST

START_TEST(kerberos_clients_are_ignored_with_a_warning)
{
	ck_assert_int_eq(parse("/a gss/krb5(rw) 10.0.0.1\n"), 0);
	ck_assert_uint_eq(t->exports[0].nclients, 1);
	ck_assert(told("x:1: gss/krb5: Kerberos is not served"));
}
END_TEST

START_TEST(the_root_directory_can_be_exported)
{
	ck_assert_int_eq(parse("/ *(ro)\n"), 0);
	ck_assert_str_eq(t->exports[0].path, "/");
}
END_TEST

START_TEST(long_words_and_nul_bytes_are_refused)
{
	char *text = malloc(20000);

	memset(text, 'x', 20000);
	text[0] = '/';
	ck_assert_int_eq(exports_parse(t, text, 20000, "x", &e), -1);
	ck_assert(told("x:1: word too long"));
	text[5000] = ' ';
	ck_assert_int_eq(exports_parse(t, text, 5002, "x", &e), -1);
	free(text);
	ck_assert_int_eq(exports_parse(t, "/a\0b *\n", 7, "x", &e), -1);
	ck_assert_int_eq(parse("/a\\000b *\n"), -1);
	ck_assert(told("x:1: NUL byte"));
}
END_TEST

START_TEST(printed_options_read_back_the_same)
{
	struct export_opts first;
	char text[600], line[700];

	ck_assert_int_eq(parse("/a "
			       "*(rw,async,insecure,all_squash,anonuid=5,anongid=6,fsid=9,mp=/"
			       "m,crossmnt,sec=none:sys)"),
			 0);
	first = client(0, 0)->opts;
	exports_opts_print(&first, text, sizeof(text));
	snprintf(line, sizeof(line), "/b *(%s)\n", text);
	ck_assert_int_eq(parse(line), 0);
	ck_assert_mem_eq(&first, &client(1, 0)->opts, offsetof(struct export_opts, mountpoint));
	ck_assert_str_eq(client(1, 0)->opts.mountpoint, "/m");
}
END_TEST

START_TEST(export_word_without_client_is_for_this_host_and_its_caller)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	ck_assert_int_eq(exports_arg(t, "/tmp", &e), 0);
	ck_assert_uint_eq(t->exports[0].nclients, 2);
	ck_assert_str_eq(client(0, 0)->pattern, "::1");
	ck_assert_str_eq(client(0, 1)->pattern, "127.0.0.0/8");
	ck_assert(client(0, 0)->opts.rw && client(0, 0)->opts.all_squash);
	ck_assert_uint_eq(client(0, 0)->opts.anonuid, geteuid());
	/* squashing strangers to root is for root's own ports only */
	ck_assert_int_eq(client(0, 0)->opts.secure, geteuid() == 0);
}
END_TEST

START_TEST(export_word_behind_sudo_squashes_to_who_called_it)
{
	if (geteuid())
		return;
	setenv("SUDO_UID", "1000", 1);
	setenv("SUDO_GID", "1001", 1);
	ck_assert_int_eq(exports_arg(t, "/tmp", &e), 0);
	ck_assert_uint_eq(client(0, 0)->opts.anonuid, 1000);
	ck_assert_uint_eq(client(0, 0)->opts.anongid, 1001);
	ck_assert(!client(0, 0)->opts.secure);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
}
END_TEST

START_TEST(export_word_options_without_client_change_the_default)
{
	ck_assert_int_eq(exports_arg(t, "/tmp:(no_root_squash,insecure)", &e), 0);
	ck_assert_uint_eq(t->exports[0].nclients, 2);
	ck_assert(!client(0, 0)->opts.all_squash && !client(0, 0)->opts.root_squash);
	ck_assert(client(0, 0)->opts.rw && !client(0, 0)->opts.secure);
}
END_TEST

START_TEST(export_word_with_clients_is_read_as_an_exports_line)
{
	ck_assert_int_eq(exports_arg(t, "/tmp:10.0.0.0/8(rw) 2001:db8::1", &e), 0);
	ck_assert_uint_eq(t->exports[0].nclients, 2);
	ck_assert_str_eq(client(0, 0)->pattern, "2001:db8::1");
	ck_assert(!client(0, 0)->opts.rw);
	ck_assert(client(0, 1)->opts.rw && client(0, 1)->opts.root_squash &&
		  client(0, 1)->opts.secure);
	ck_assert_uint_eq(e.n, 0);
}
END_TEST

START_TEST(export_word_may_be_relative_and_a_bad_one_is_an_error)
{
	char cwd[4096];

	ck_assert_int_eq(chdir("/tmp"), 0);
	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	ck_assert_int_eq(exports_arg(t, ".", &e), 0);
	ck_assert_str_eq(t->exports[0].path, cwd);
	ck_assert_int_eq(exports_arg(t, "no/such/place", &e), -1);
	ck_assert(told("--export no/such/place: No such file or directory"));
	ck_assert_int_eq(exports_arg(t, "/tmp:(rw,nonsense)", &e), -1);
	ck_assert(told("--export: unknown option \"nonsense\""));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("exports");
	TCase *tc = tcase_create("exports");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_line_is_a_full_configuration);
	tcase_add_test(tc, every_kind_of_client_is_told_apart_and_put_in_match_order);
	tcase_add_test(tc, continuation_comments_quotes_and_octal_are_as_exports_5_has_them);
	tcase_add_test(tc, default_options_hold_for_the_clients_of_their_line);
	tcase_add_test(tc, a_blank_before_the_options_exports_to_the_world_with_a_warning);
	tcase_add_test(tc, a_path_alone_is_read_only_for_the_world_with_a_warning);
	tcase_add_test(tc, all_errors_are_told_with_their_lines);
	tcase_add_test(tc, options_that_are_not_done_give_one_warning_each);
	tcase_add_test(tc, options_without_a_meaning_here_are_silent);
	tcase_add_test(tc, ids_and_fsid_take_every_form);
	tcase_add_test(tc, options_behind_sec_hold_for_its_flavors_only);
	tcase_add_test(tc, lines_with_the_same_path_are_one_export);
	tcase_add_test(tc, a_client_given_twice_keeps_its_first_options_with_a_warning);
	tcase_add_test(tc, a_long_file_takes_time_by_its_length_only);
	tcase_add_test(tc, an_export_with_two_fsids_is_an_error);
	tcase_add_test(tc, kerberos_clients_are_ignored_with_a_warning);
	tcase_add_test(tc, the_root_directory_can_be_exported);
	tcase_add_test(tc, long_words_and_nul_bytes_are_refused);
	tcase_add_test(tc, printed_options_read_back_the_same);
	tcase_add_test(tc, export_word_without_client_is_for_this_host_and_its_caller);
	tcase_add_test(tc, export_word_behind_sudo_squashes_to_who_called_it);
	tcase_add_test(tc, export_word_options_without_client_change_the_default);
	tcase_add_test(tc, export_word_with_clients_is_read_as_an_exports_line);
	tcase_add_test(tc, export_word_may_be_relative_and_a_bad_one_is_an_error);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
