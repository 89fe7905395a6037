/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/proto/export.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/unit.h"

static struct sockaddr_storage addr(const char *text)
{
	struct sockaddr_storage ss = {0};
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	if (strchr(text, ':')) {
		ss.ss_family = AF_INET6;
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	} else {
		ss.ss_family = AF_INET;
		ck_assert_int_eq(inet_pton(AF_INET, text, &in->sin_addr), 1);
	}
	return ss;
}

static bool matches(enum export_match how, const char *pattern, const char *net, unsigned prefix,
		    const char *from, const char *host)
{
	struct sockaddr_storage a = net ? addr(net) : (struct sockaddr_storage){0};
	struct export_client c = {.match = how,
				  .pattern = (char *)pattern,
				  .addrs = &a,
				  .naddrs = net != NULL,
				  .prefix = prefix};
	struct export e = {.clients = &c, .nclients = 1};
	struct peer p = {.addr = addr(from)};

	snprintf(p.host, sizeof(p.host), "%s", host);
	return export_client_match(&e, &p) == &c;
}

START_TEST(hosts_match_by_address_in_both_families)
{
	ck_assert(matches(EXPORT_HOST, "h", "10.0.0.5", 0, "10.0.0.5", ""));
	ck_assert(matches(EXPORT_HOST, "h", "10.0.0.5", 0, "::ffff:10.0.0.5", ""));
	ck_assert(matches(EXPORT_HOST, "h", "::1", 0, "::1", ""));
	ck_assert(!matches(EXPORT_HOST, "h", "10.0.0.5", 0, "10.0.0.6", ""));
	ck_assert(!matches(EXPORT_HOST, "h", "::1", 0, "127.0.0.1", ""));
}
END_TEST

START_TEST(networks_match_by_prefix_bits)
{
	ck_assert(matches(EXPORT_NETWORK, "n", "10.1.0.0", 16, "10.1.255.255", ""));
	ck_assert(!matches(EXPORT_NETWORK, "n", "10.1.0.0", 16, "10.2.0.0", ""));
	ck_assert(matches(EXPORT_NETWORK, "n", "10.1.2.128", 25, "10.1.2.129", ""));
	ck_assert(!matches(EXPORT_NETWORK, "n", "10.1.2.128", 25, "10.1.2.127", ""));
	ck_assert(matches(EXPORT_NETWORK, "n", "10.1.2.128", 25, "::ffff:10.1.2.200", ""));
	ck_assert(matches(EXPORT_NETWORK, "n", "0.0.0.0", 0, "203.0.113.9", ""));
	ck_assert(!matches(EXPORT_NETWORK, "n", "0.0.0.0", 0, "2001:db8::1", ""));
	ck_assert(matches(EXPORT_NETWORK, "n", "2001:db8::", 32, "2001:db8:ffff::1", ""));
	ck_assert(!matches(EXPORT_NETWORK, "n", "2001:db8::", 32, "2001:db9::1", ""));
	ck_assert(!matches(EXPORT_NETWORK, "n", "10.0.0.0", 33, "10.0.0.0", ""));
}
END_TEST

START_TEST(wildcards_match_names_whatever_the_case)
{
	ck_assert(
		matches(EXPORT_WILDCARD, "*.Example.org", NULL, 0, "10.0.0.1", "a.b.example.ORG"));
	ck_assert(matches(EXPORT_WILDCARD, "n?.lab", NULL, 0, "10.0.0.1", "n7.lab"));
	ck_assert(!matches(EXPORT_WILDCARD, "n?.lab", NULL, 0, "10.0.0.1", "n77.lab"));
	ck_assert(!matches(EXPORT_WILDCARD, "*", NULL, 0, "10.0.0.1", ""));
}
END_TEST

START_TEST(anybody_matches_any)
{
	ck_assert(matches(EXPORT_ANY, "*", NULL, 0, "10.0.0.1", ""));
	ck_assert(matches(EXPORT_ANY, "*", NULL, 0, "2001:db8::1", ""));
}
END_TEST

START_TEST(the_first_entry_that_matches_counts)
{
	struct sockaddr_storage h = addr("10.0.0.5"), n = addr("10.0.0.0");
	struct export_client c[3] = {
		{.match = EXPORT_HOST, .addrs = &h, .naddrs = 1},
		{.match = EXPORT_NETWORK, .addrs = &n, .naddrs = 1, .prefix = 24},
		{.match = EXPORT_ANY},
	};
	struct export e = {.clients = c, .nclients = 3};
	struct peer p = {.addr = addr("10.0.0.5")};

	ck_assert_ptr_eq(export_client_match(&e, &p), &c[0]);
	p.addr = addr("10.0.0.6");
	ck_assert_ptr_eq(export_client_match(&e, &p), &c[1]);
	p.addr = addr("10.0.1.6");
	ck_assert_ptr_eq(export_client_match(&e, &p), &c[2]);
	e.nclients = 2;
	ck_assert_ptr_null(export_client_match(&e, &p));
}
END_TEST

static void falls_in(const char *path, const char *want, const char *rest_want)
{
	struct export e[3] = {{.path = "/srv"}, {.path = "/srv/data/"}, {.path = "/home"}};
	struct export_table t = {.exports = e, .n = 3};
	const char *rest = NULL;
	struct export *got = export_by_path(&t, path, &rest);

	if (!want) {
		ck_assert_ptr_null(got);
		return;
	}
	ck_assert_ptr_nonnull(got);
	ck_assert_str_eq(got->path, want);
	ck_assert_str_eq(rest, rest_want);
}

START_TEST(a_path_falls_in_the_longest_export_by_components)
{
	falls_in("/srv", "/srv", "");
	falls_in("/srv/", "/srv", "");
	falls_in("//srv///x/y", "/srv", "x/y");
	falls_in("/srv/data", "/srv/data/", "");
	falls_in("/srv/data/z", "/srv/data/", "z");
	falls_in("/srv/database", "/srv", "database");
	falls_in("/srvx", NULL, NULL);
	falls_in("/", NULL, NULL);
	falls_in("srv", NULL, NULL);
	falls_in("", NULL, NULL);
}
END_TEST

START_TEST(the_root_directory_can_be_an_export)
{
	struct export e = {.path = "/"};
	struct export_table t = {.exports = &e, .n = 1};
	const char *rest = NULL;

	ck_assert_ptr_eq(export_by_path(&t, "/a/b", &rest), &e);
	ck_assert_str_eq(rest, "a/b");
}
END_TEST

static const struct squash_case {
	bool root, all;
	uint32_t flavor, uid, gid, g0, g1;
	uid_t want_uid;
	gid_t want_gid;
	unsigned want_n;
	gid_t want_g0, want_g1;
} squashes[] = {
	{true, false, 1, 0, 0, 0, 55, 65534, 65533, 2, 65533, 55},
	{true, false, 1, 1000, 0, 0, 55, 1000, 65533, 2, 65533, 55},
	{true, false, 1, 1000, 100, 7, 0, 1000, 100, 2, 7, 65533},
	{false, false, 1, 0, 0, 0, 55, 0, 0, 2, 0, 55},
	{false, true, 1, 1000, 100, 7, 8, 65534, 65533, 0, 0, 0},
	{true, true, 1, 0, 0, 0, 0, 65534, 65533, 0, 0, 0},
	{false, false, 1, (uint32_t)-1, (uint32_t)-1, (uint32_t)-1, 8, 65534, 65533, 2, 65533, 8},
	{false, false, 0, (uint32_t)-2, (uint32_t)-2, 7, 8, 65534, 65533, 0, 0, 0},
};

START_TEST(squashing_leaves_no_root_anywhere)
{
	const struct squash_case *q = &squashes[_i];
	struct export_opts o = {.root_squash = q->root,
				.all_squash = q->all,
				.anonuid = 65534,
				.anongid = 65533,
				.sec_sys = true,
				.sec_none = true};
	struct rpccred rc = {.flavor = q->flavor,
			     .uid = q->uid,
			     .gid = q->gid,
			     .ngids = 2,
			     .gids = {q->g0, q->g1}};
	struct cred *c;

	if (!cred_switchable())
		return; /* this process can be nobody else: the next test */
	c = export_squash(&o, &rc, NULL, 0);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->uid, q->want_uid);
	ck_assert_uint_eq(c->gid, q->want_gid);
	ck_assert_uint_eq(c->ngids, q->want_n);
	for (unsigned i = 0; i < q->want_n; i++) {
		gid_t want = i ? q->want_g1 : q->want_g0;

		ck_assert(cred_in_group(c, want));
	}
	if (q->root || q->all)
		ck_assert(!cred_in_group(c, 0));
	cred_put(c);
}
END_TEST

START_TEST(groups_looked_up_replace_the_wires)
{
	struct export_opts o = {
		.root_squash = true, .anonuid = 65534, .anongid = 65533, .sec_sys = true};
	struct rpccred rc = {.flavor = 1, .uid = 1000, .gid = 100, .ngids = 1, .gids = {7}};
	gid_t many[40];
	struct cred *c;

	for (unsigned i = 0; i < 40; i++)
		many[i] = i;
	c = export_squash(&o, &rc, many, 40);
	ck_assert_ptr_nonnull(c);
	if (cred_switchable()) {
		ck_assert_uint_eq(c->ngids, 40);
		ck_assert(cred_in_group(c, 39));
		ck_assert(cred_in_group(c, 65533));
		ck_assert(!cred_in_group(c, 0));
	} else {
		ck_assert_uint_eq(c->uid, geteuid());
	}
	cred_put(c);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("export");
	TCase *t = tcase_create("match"), *q = tcase_create("squash");

	tcase_add_test(t, hosts_match_by_address_in_both_families);
	tcase_add_test(t, networks_match_by_prefix_bits);
	tcase_add_test(t, wildcards_match_names_whatever_the_case);
	tcase_add_test(t, anybody_matches_any);
	tcase_add_test(t, the_first_entry_that_matches_counts);
	tcase_add_test(t, a_path_falls_in_the_longest_export_by_components);
	tcase_add_test(t, the_root_directory_can_be_an_export);
	suite_add_tcase(s, t);
	tcase_add_loop_test(q, squashing_leaves_no_root_anywhere, 0,
			    (int)(sizeof(squashes) / sizeof(squashes[0])));
	tcase_add_test(q, groups_looked_up_replace_the_wires);
	suite_add_tcase(s, q);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
