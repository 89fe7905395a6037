/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include <rpc/auth.h>
#include <rpc/auth_unix.h>
#include <rpc/xdr.h>

#include "rpc/cred.h"
#include "tests/lib/unit.h"

/* authsys_parms as its fields, for one that libtirpc would refuse to encode. */
static size_t encode(uint8_t *buf, size_t size, uint32_t machine_len, uint32_t ngids)
{
	static const char machine[512] = "client.example";
	struct cursor c;

	cursor_init(&c, buf, size);
	cursor_put_u32(&c, 0x5eed);
	cursor_put_opaque(&c, machine, machine_len);
	cursor_put_u32(&c, 1000);
	cursor_put_u32(&c, 100);
	cursor_put_u32(&c, ngids);
	for (uint32_t i = 0; i < ngids; i++)
		cursor_put_u32(&c, 500 + i);
	ck_assert(cursor_ok(&c));
	return cursor_pos(&c);
}

START_TEST(auth_none_is_nobody_whatever_its_body)
{
	struct rpccred cred;

	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_NONE, NULL, 0), 0);
	ck_assert_uint_eq(cred.uid, 0xfffffffe);
	ck_assert_uint_eq(cred.gid, 0xfffffffe);
	ck_assert_uint_eq(cred.ngids, 0);
	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_NONE, (const uint8_t *)"junk", 4), 0);
	ck_assert_uint_eq(cred.uid, 0xfffffffe);
}
END_TEST

START_TEST(auth_sys_is_what_libtirpc_encodes)
{
	char machine[] = "client.example";
	gid_t gids[] = {10, 20, 30};
	struct authunix_parms p = {
		.aup_time = 77, .aup_machname = machine, .aup_uid = 1000, .aup_gid = 100,
		.aup_len = 3, .aup_gids = gids,
	};
	struct rpccred cred;
	uint8_t buf[400];
	XDR x;

	xdrmem_create(&x, (char *)buf, sizeof(buf), XDR_ENCODE);
	ck_assert(xdr_authunix_parms(&x, &p));
	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_SYS, buf, xdr_getpos(&x)), 0);
	ck_assert_uint_eq(cred.stamp, 77);
	ck_assert_str_eq(cred.machine, machine);
	ck_assert_uint_eq(cred.uid, 1000);
	ck_assert_uint_eq(cred.gid, 100);
	ck_assert_uint_eq(cred.ngids, 3);
	ck_assert_uint_eq(cred.gids[0], 10);
	ck_assert_uint_eq(cred.gids[2], 30);
}
END_TEST

START_TEST(auth_sys_takes_16_groups_and_a_name_of_255)
{
	struct rpccred cred;
	uint8_t buf[1024];
	size_t n = encode(buf, sizeof(buf), 255, 16);

	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_SYS, buf, (uint32_t)n), 0);
	ck_assert_uint_eq(cred.ngids, 16);
	ck_assert_uint_eq(cred.gids[15], 515);
	ck_assert_str_eq(cred.machine, "client.example");
}
END_TEST

START_TEST(auth_sys_over_a_bound_is_badcred)
{
	struct rpccred cred;
	uint8_t buf[1024];
	size_t n = encode(buf, sizeof(buf), 255, 17);

	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_SYS, buf, (uint32_t)n), 1);
	ck_assert_uint_eq(cred.ngids, 0);
	n = encode(buf, sizeof(buf), 256, 16);
	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_SYS, buf, (uint32_t)n), 1);
}
END_TEST

START_TEST(auth_sys_of_any_other_length_is_badcred)
{
	struct rpccred cred;
	uint8_t buf[256] = {0};
	size_t n = encode(buf, sizeof(buf), 13, 2);

	for (size_t cut = 0; cut < n; cut++) {
		uint8_t *copy = malloc(cut + 1);

		memcpy(copy, buf, cut);
		ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_SYS, copy, (uint32_t)cut), 1);
		free(copy);
	}
	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_SYS, buf, (uint32_t)n), 0);
	ck_assert_int_eq(rpccred_decode(&cred, RPCCRED_AUTH_SYS, buf, (uint32_t)n + 4), 1);
}
END_TEST

START_TEST(other_flavors_are_rejectedcred)
{
	static const uint32_t flavors[] = {2, 3, 6, 390003, UINT32_MAX};
	struct rpccred cred;

	for (size_t i = 0; i < sizeof(flavors) / sizeof(flavors[0]); i++)
		ck_assert_int_eq(rpccred_decode(&cred, flavors[i], NULL, 0), 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("rpccred");
	TCase *t = tcase_create("rpccred");

	tcase_add_test(t, auth_none_is_nobody_whatever_its_body);
	tcase_add_test(t, auth_sys_is_what_libtirpc_encodes);
	tcase_add_test(t, auth_sys_takes_16_groups_and_a_name_of_255);
	tcase_add_test(t, auth_sys_over_a_bound_is_badcred);
	tcase_add_test(t, auth_sys_of_any_other_length_is_badcred);
	tcase_add_test(t, other_flavors_are_rejectedcred);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
