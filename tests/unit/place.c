/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "policy/place.h"
#include "tests/lib/unit.h"

/* Two nodes of four CPUs, numbered as most machines do: by halves. */
static struct place_cpu cpus[8];
static struct place_node nodes[3];
static struct place_facts facts;
static struct place_worker out[64];
static enum place_why why;

static void setup(void)
{
	for (int i = 0; i < 8; i++)
		cpus[i] = (struct place_cpu){i, i / 4, true};
	for (int i = 0; i < 3; i++)
		nodes[i] = (struct place_node){i, false, i < 2};
	facts = (struct place_facts){
		.cpus = cpus, .ncpus = 8, .nodes = nodes, .nnodes = 2, .bind = true};
}

static unsigned place(void)
{
	return place_workers(&facts, out, 64, &why);
}

static void check_cpus(const char *want)
{
	char got[256] = "";

	for (unsigned i = 0, n = place(); i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d", i ? " " : "",
			 out[i].cpu);
	ck_assert_str_eq(got, want);
}

START_TEST(one_worker_a_cpu_nodes_taking_turns)
{
	check_cpus("0 4 1 5 2 6 3 7");
	ck_assert_int_eq(why, PLACE_AS_WISHED);
	for (unsigned i = 0; i < 8; i++) {
		ck_assert_int_eq(out[i].node, out[i].cpu / 4);
		ck_assert_int_eq(out[i].mem_node, out[i].node);
	}
}
END_TEST

START_TEST(only_wanted_nodes_are_used)
{
	nodes[1].wanted = true;
	check_cpus("4 5 6 7");
	ck_assert_int_eq(why, PLACE_AS_WISHED);
}
END_TEST

START_TEST(only_allowed_cpus_are_used)
{
	cpus[0].allowed = cpus[2].allowed = cpus[3].allowed = cpus[7].allowed = false;
	check_cpus("1 4 5 6");
}
END_TEST

START_TEST(a_wanted_node_outside_the_cpuset_falls_back_to_what_is_allowed)
{
	nodes[1].wanted = true;
	for (int i = 4; i < 8; i++)
		cpus[i].allowed = false;
	check_cpus("0 1 2 3");
	ck_assert_int_eq(why, PLACE_NODES_CLOSED);
}
END_TEST

START_TEST(a_wanted_node_that_does_not_exist_falls_back)
{
	nodes[2] = (struct place_node){7, true, false};
	facts.nnodes = 3;
	check_cpus("0 4 1 5 2 6 3 7");
	ck_assert_int_eq(why, PLACE_NODES_CLOSED);
}
END_TEST

START_TEST(fewer_workers_are_spread_over_nodes)
{
	facts.workers = 3;
	check_cpus("0 4 1");
}
END_TEST

START_TEST(more_workers_share_cpus_in_turn)
{
	facts.workers = 10;
	check_cpus("0 4 1 5 2 6 3 7 0 4");
}
END_TEST

START_TEST(a_smaller_node_drops_out_of_the_turns)
{
	cpus[1].node = cpus[2].node = cpus[3].node = 1;
	check_cpus("0 1 2 3 4 5 6 7");
	ck_assert_int_eq(out[1].node, 1);
}
END_TEST

START_TEST(a_node_without_memory_uses_the_nearest_with_it)
{
	static const uint8_t distance[] = {10, 20, 30, 20, 10, 12, 30, 12, 10};

	nodes[2].wanted = true;
	facts.nnodes = 3;
	facts.distance = _i ? distance : NULL;
	for (int i = 4; i < 8; i++)
		cpus[i].node = 2;
	check_cpus("4 5 6 7");
	ck_assert_int_eq(out[0].node, 2);
	ck_assert_int_eq(out[0].mem_node, _i ? 1 : 0); /* unknown distances: any with memory */
}
END_TEST

START_TEST(without_memory_nodes_memory_is_not_bound)
{
	nodes[0].memory = nodes[1].memory = false;
	ck_assert_uint_eq(place(), 8);
	ck_assert_int_eq(out[0].cpu, 0);
	ck_assert_int_eq(out[0].mem_node, -1);
	facts.nnodes = 0; /* a kernel without NUMA */
	check_cpus("0 4 1 5 2 6 3 7");
	ck_assert_int_eq(out[0].mem_node, -1);
}
END_TEST

START_TEST(numa_off_binds_nothing_but_counts_allowed_cpus)
{
	facts.bind = false;
	nodes[1].wanted = true;
	cpus[0].allowed = false;
	check_cpus("-1 -1 -1 -1 -1 -1 -1");
	ck_assert_int_eq(why, PLACE_UNBOUND);
	ck_assert_int_eq(out[0].mem_node, -1);
}
END_TEST

START_TEST(no_allowed_cpu_still_gives_a_worker)
{
	for (int i = 0; i < 8; i++)
		cpus[i].allowed = false;
	check_cpus("-1");
	ck_assert_int_eq(why, PLACE_UNBOUND);
	facts.ncpus = 0;
	facts.workers = 2;
	check_cpus("-1 -1");
}
END_TEST

START_TEST(never_more_than_there_is_room_for)
{
	facts.workers = 1000;
	ck_assert_uint_eq(place(), 64);
	facts.workers = 0;
	ck_assert_uint_eq(place_workers(&facts, out, 5, &why), 5);
}
END_TEST

START_TEST(a_machine_beyond_the_limit_is_used_in_part)
{
	static struct place_cpu many[PLACE_CPUS + 8];
	static struct place_worker all[PLACE_CPUS + 8];

	for (int i = 0; i < PLACE_CPUS + 8; i++)
		many[i] = (struct place_cpu){i, i & 1, true};
	facts.cpus = many;
	facts.ncpus = PLACE_CPUS + 8;
	ck_assert_uint_eq(place_workers(&facts, all, PLACE_CPUS + 8, &why), PLACE_CPUS);
	ck_assert_int_eq(all[PLACE_CPUS - 1].cpu, PLACE_CPUS - 1);
}
END_TEST

START_TEST(wishes_are_understood)
{
	struct place_wish w;

	ck_assert(place_wish_parse("auto", &w) && w.kind == PLACE_AUTO);
	ck_assert(place_wish_parse("off", &w) && w.kind == PLACE_OFF);
	ck_assert(place_wish_parse("netdev:enp129s0f1.7", &w) && w.kind == PLACE_NETDEV);
	ck_assert_str_eq(w.netdev, "enp129s0f1.7");
	ck_assert(place_wish_parse("node:0,64,1023", &w) && w.kind == PLACE_NODE);
	ck_assert(place_wish_node(&w, 0) && place_wish_node(&w, 64) && place_wish_node(&w, 1023));
	ck_assert(!place_wish_node(&w, 1) && !place_wish_node(&w, 1024));
}
END_TEST

START_TEST(what_is_no_wish_is_refused)
{
	static const char *const bad[] = {
		"",
		"Auto",
		"on",
		"auto ",
		"netdev",
		"netdev:",
		"netdev:a/b",
		"netdev:..",
		"netdev:.",
		"netdev:a b",
		"netdev:0123456789abcdef",
		"node",
		"node:",
		"node:,",
		"node:1,",
		"node:,1",
		"node:-1",
		"node:1024",
		"node:99999999999999999999",
		"node:1-3",
		"node: 1",
		"0",
		"node:0x1",
	};
	struct place_wish w;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!place_wish_parse(bad[i], &w), "\"%s\"", bad[i]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("place");
	TCase *t = tcase_create("place");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, one_worker_a_cpu_nodes_taking_turns);
	tcase_add_test(t, only_wanted_nodes_are_used);
	tcase_add_test(t, only_allowed_cpus_are_used);
	tcase_add_test(t, a_wanted_node_outside_the_cpuset_falls_back_to_what_is_allowed);
	tcase_add_test(t, a_wanted_node_that_does_not_exist_falls_back);
	tcase_add_test(t, fewer_workers_are_spread_over_nodes);
	tcase_add_test(t, more_workers_share_cpus_in_turn);
	tcase_add_test(t, a_smaller_node_drops_out_of_the_turns);
	tcase_add_loop_test(t, a_node_without_memory_uses_the_nearest_with_it, 0, 2);
	tcase_add_test(t, without_memory_nodes_memory_is_not_bound);
	tcase_add_test(t, numa_off_binds_nothing_but_counts_allowed_cpus);
	tcase_add_test(t, no_allowed_cpu_still_gives_a_worker);
	tcase_add_test(t, never_more_than_there_is_room_for);
	tcase_add_test(t, a_machine_beyond_the_limit_is_used_in_part);
	tcase_add_test(t, wishes_are_understood);
	tcase_add_test(t, what_is_no_wish_is_refused);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
