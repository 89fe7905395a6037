/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Invented machines, as a tree of files like sysfs; and what is placed on them. */
#include "config.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdarg.h>

#include "nfsd-io/server/netdev.h"
#include "nfsd-io/server/placement.h"
#include "tests/lib/scratch.h"
#include "tests/lib/unit.h"

static const char *sys;
static struct topology_source src;
static struct topology t;
static struct placement p;
static struct place_worker at[64];
static cpu_set_t near[64];

static void put(const char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *text, const char *fmt, ...)
{
	char name[200], path[512], *slash;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	snprintf(path, sizeof(path), "%s/%s", sys, name);
	for (slash = path + strlen(sys) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		ck_assert(!mkdir(path, 0755) || errno == EEXIST);
		*slash = '/';
	}
	f = fopen(path, "we");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void node(int n, const char *cpus, unsigned kib, const char *distance)
{
	char text[64];

	put(cpus, "devices/system/node/node%d/cpulist", n);
	put(distance, "devices/system/node/node%d/distance", n);
	snprintf(text, sizeof(text), "Node %d MemTotal:       %u kB\nNode %d MemFree: 1 kB\n", n,
		 kib, n);
	put(text, "devices/system/node/node%d/meminfo", n);
}

static void card(const char *name, const char *numa_node)
{
	if (numa_node)
		put(numa_node, "class/net/%s/device/numa_node", name);
	else
		put("1500\n", "class/net/%s/mtu", name);
}

static void stack(const char *upper, const char *lower)
{
	put("", "class/net/%s/lower_%s/x", upper, lower);
}

/* Four nodes of two CPUs, numbered in turn; node 2 has no memory; CPU 7 is offline. */
static void four_nodes(void)
{
	put("0-3\n", "devices/system/node/online");
	node(0, "0,4\n", 1 << 20, "10 20 30 30\n");
	node(1, "1,5\n", 1 << 20, "20 10 30 30\n");
	node(2, "2,6\n", 0, "30 30 10 12\n");
	node(3, "3,7\n", 1 << 20, "30 30 12 10\n");
	put("0-6\n", "devices/system/cpu/online");
}

static void setup(void)
{
	sys = scratch_dir(NULL);
	src = (struct topology_source){.sysfs = sys};
	memset(&src.mems, 0xff, sizeof(src.mems));
	for (int i = 0; i < 8; i++)
		CPU_SET(i, &src.cpus);
}

static void teardown(void)
{
	scratch_remove(sys);
}

/*
 * "0 4/0 1 5/1": CPUs in the order of the workers, and the
 * memory node behind a slash when it is another.
 */
static const char *placed(const char *numa, unsigned workers, char (*netdevs)[IF_NAMESIZE],
			  unsigned n)
{
	struct placement_wish wish = {numa, workers, netdevs, n};
	static char text[256];
	size_t len = 0;

	placement_make(&p, &src, &wish, at, near, 64);
	*text = '\0';
	for (unsigned i = 0; i < p.n; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d", i ? " " : "",
					at[i].cpu);
		if (at[i].mem_node != at[i].node)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "/%d",
						at[i].mem_node);
	}
	return text;
}

START_TEST(every_node_has_its_cpus_memory_and_distances)
{
	four_nodes();
	topology_read(&t, &src);
	ck_assert_uint_eq(t.facts.nnodes, 4);
	ck_assert_uint_eq(t.facts.ncpus, 7);
	ck_assert_int_eq(t.cpus[5].node, 1);
	ck_assert(t.nodes[1].memory && !t.nodes[2].memory);
	ck_assert_uint_eq(t.facts.distance[2 * 4 + 3], 12);
}
END_TEST

START_TEST(auto_without_a_known_card_uses_all_nodes)
{
	char loop[1][IF_NAMESIZE] = {"lo"};

	four_nodes();
	card("lo", NULL);
	/* Node 2's memory is the nearest: node 3's.  CPU 7 is offline. */
	ck_assert_str_eq(placed("auto", 0, loop, 1), "0 1 2/3 3 4 5 6/3");
	ck_assert_str_eq(p.nodes, "0, 1, 2, 3");
	ck_assert_str_eq(p.why, "");
	ck_assert(p.bound);
}
END_TEST

START_TEST(auto_uses_the_nodes_of_the_cards_listened_on)
{
	char cards[3][IF_NAMESIZE] = {"eth1", "eth3", "virt0"};

	four_nodes();
	card("eth1", "1\n");
	card("eth3", "3\n");
	card("virt0", "-1\n");
	ck_assert_str_eq(placed("auto", 0, cards, 1), "1 5");
	ck_assert_str_eq(placed("auto", 0, cards, 3), "1 3 5");
	ck_assert_str_eq(p.nodes, "1, 3");
	ck_assert_str_eq(placed("auto", 0, &cards[2], 1), "0 1 2/3 3 4 5 6/3");
	ck_assert_str_eq(p.why, "");
}
END_TEST

START_TEST(a_card_below_a_vlan_on_a_bond_counts)
{
	char vlan[1][IF_NAMESIZE] = {"bond0.7"};

	four_nodes();
	card("eth0", "0\n");
	card("eth3", "3\n");
	card("bond0", NULL);
	stack("bond0", "eth0");
	stack("bond0", "eth3");
	stack("bond0.7", "bond0");
	stack("bond0", "bond0.7"); /* a ring of them comes to an end */
	ck_assert_str_eq(placed("auto", 0, vlan, 1), "0 3 4");
	ck_assert_str_eq(placed("netdev:bond0", 0, NULL, 0), "0 3 4");
	ck_assert_str_eq(p.why, "");
}
END_TEST

START_TEST(a_card_whose_node_is_unknown_or_that_is_not_there_uses_all_and_says_so)
{
	four_nodes();
	card("eth0", "-1\n");
	ck_assert_str_eq(placed("netdev:eth0", 0, NULL, 0), "0 1 2/3 3 4 5 6/3");
	ck_assert_ptr_nonnull(strstr(p.why, "no node of eth0"));
	ck_assert_str_eq(placed("netdev:eth9", 2, NULL, 0), "0 1");
	ck_assert_ptr_nonnull(strstr(p.why, "no interface eth9"));
	card("eth1", "2\n");
	ck_assert_str_eq(placed("netdev:eth1", 0, NULL, 0), "2/3 6/3");
	ck_assert_str_eq(p.why, "");
}
END_TEST

START_TEST(named_nodes_are_used_and_missing_ones_are_told)
{
	four_nodes();
	ck_assert_str_eq(placed("node:3,1", 0, NULL, 0), "1 3 5");
	ck_assert_str_eq(p.why, "");
	ck_assert_str_eq(placed("node:1,9", 0, NULL, 0), "1 5");
	ck_assert_ptr_nonnull(strstr(p.why, "node 9"));
	ck_assert_str_eq(placed("node:9", 3, NULL, 0), "0 1 2/0");
	ck_assert_ptr_nonnull(strstr(p.why, "all it may run on"));
	ck_assert_str_eq(placed("node:1", 3, NULL, 0), "1 5 1");
}
END_TEST

START_TEST(helpers_stay_on_their_workers_node)
{
	four_nodes();
	placed("node:1,3", 0, NULL, 0);
	ck_assert_int_eq(CPU_COUNT(&near[0]), 2);
	ck_assert(CPU_ISSET(1, &near[0]) && CPU_ISSET(5, &near[0]));
	ck_assert_int_eq(CPU_COUNT(&near[1]), 1); /* CPU 7 is offline */
	ck_assert(CPU_ISSET(3, &near[1]));
	ck_assert_int_eq(CPU_COUNT(&p.cpus), 3);
}
END_TEST

START_TEST(nothing_outside_the_cpuset_is_used)
{
	four_nodes();
	CPU_ZERO(&src.cpus);
	CPU_SET(5, &src.cpus);
	CPU_SET(2, &src.cpus);
	CPU_SET(7, &src.cpus); /* allowed, but offline */
	CPU_ZERO(&src.mems);
	CPU_SET(0, &src.mems);
	ck_assert_str_eq(placed("auto", 0, NULL, 0), "2/0 5/0");
	ck_assert_str_eq(placed("node:1", 0, NULL, 0), "5/0");
	ck_assert_str_eq(p.why, "");
	ck_assert_int_eq(CPU_COUNT(&near[0]), 1);
	ck_assert_str_eq(placed("node:3", 0, NULL, 0), "2/0 5/0");
	ck_assert_ptr_nonnull(strstr(p.why, "no CPU there"));
}
END_TEST

START_TEST(off_binds_nothing)
{
	four_nodes();
	ck_assert_str_eq(placed("off", 0, NULL, 0), "-1 -1 -1 -1 -1 -1 -1");
	ck_assert(!p.bound);
	ck_assert_str_eq(p.nodes, "");
	ck_assert_str_eq(p.why, "");
}
END_TEST

START_TEST(one_node_binds_no_memory_unless_it_is_asked_for)
{
	put("0\n", "devices/system/node/online");
	node(0, "0-7\n", 1 << 20, "10\n");
	ck_assert_str_eq(placed("auto", 2, NULL, 0), "0/-1 1/-1");
	ck_assert_str_eq(placed("node:0", 2, NULL, 0), "0 1");
	ck_assert_int_eq(at[0].mem_node, 0);
	ck_assert_int_eq(CPU_COUNT(&near[1]), 8);
}
END_TEST

START_TEST(a_kernel_without_nodes_is_one_node)
{
	ck_assert_str_eq(placed("auto", 0, NULL, 0), "0/-1 1/-1 2/-1 3/-1 4/-1 5/-1 6/-1 7/-1");
	ck_assert_str_eq(p.nodes, "0");
	ck_assert_str_eq(p.why, "");
}
END_TEST

START_TEST(unknown_allowed_cpus_bind_nothing_and_say_so)
{
	four_nodes();
	CPU_ZERO(&src.cpus);
	placed("auto", 0, NULL, 0);
	ck_assert_uint_eq(p.n, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	ck_assert_int_eq(at[0].cpu, -1);
	ck_assert(!p.bound);
	ck_assert_ptr_nonnull(strstr(p.why, "not known"));
}
END_TEST

START_TEST(rubbish_in_sysfs_is_survived)
{
	put("0-,,x,5-2,70000-80000\n", "devices/system/node/online");
	node(0, "0-99999\n", 1 << 20, "ten\n");
	put("\n", "devices/system/cpu/online");
	placed("auto", 0, NULL, 0);
	ck_assert(!p.bound);
	put("0-7", "devices/system/cpu/online");
	placed("node:0,1023", 0, NULL, 0);
	ck_assert_uint_eq(p.n, 8);
}
END_TEST

START_TEST(this_machine_can_be_read)
{
	struct topology_source self;
	cpu_set_t all;

	topology_self(&self);
	topology_read(&t, &self);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	ck_assert_int_eq(t.facts.ncpus, CPU_COUNT(&all));
	ck_assert_uint_ge(t.facts.nnodes, 1);
	ck_assert(t.nodes[0].memory);
}
END_TEST

START_TEST(the_owner_of_an_address_is_found)
{
	struct sockaddr_in loop = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_storage a[2] = {0};
	char names[8][IF_NAMESIZE], all[8][IF_NAMESIZE];
	struct ifaddrs *list, *i;
	unsigned n;

	memcpy(&a[1], &loop, sizeof(loop));
	a[0].ss_family = AF_INET;
	ck_assert_uint_eq(netdev_owners(&a[1], 1, names, 8), 0);
	n = netdev_owners(&a[0], 1, all, 8);
	ck_assert_int_eq(getifaddrs(&list), 0);
	for (i = list; i; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
		    i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
			continue;
		memcpy(&a[0], i->ifa_addr, sizeof(struct sockaddr_in));
		ck_assert_uint_eq(netdev_owners(a, 2, names, 8), 1);
		ck_assert_str_eq(names[0], i->ifa_name);
		ck_assert_uint_ge(n, 1);
	}
	freeifaddrs(list);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("topology");
	TCase *tc = tcase_create("topology");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, every_node_has_its_cpus_memory_and_distances);
	tcase_add_test(tc, auto_without_a_known_card_uses_all_nodes);
	tcase_add_test(tc, auto_uses_the_nodes_of_the_cards_listened_on);
	tcase_add_test(tc, a_card_below_a_vlan_on_a_bond_counts);
	tcase_add_test(tc, a_card_whose_node_is_unknown_or_that_is_not_there_uses_all_and_says_so);
	tcase_add_test(tc, named_nodes_are_used_and_missing_ones_are_told);
	tcase_add_test(tc, helpers_stay_on_their_workers_node);
	tcase_add_test(tc, nothing_outside_the_cpuset_is_used);
	tcase_add_test(tc, off_binds_nothing);
	tcase_add_test(tc, one_node_binds_no_memory_unless_it_is_asked_for);
	tcase_add_test(tc, a_kernel_without_nodes_is_one_node);
	tcase_add_test(tc, unknown_allowed_cpus_bind_nothing_and_say_so);
	tcase_add_test(tc, rubbish_in_sysfs_is_survived);
	tcase_add_test(tc, this_machine_can_be_read);
	tcase_add_test(tc, the_owner_of_an_address_is_found);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
