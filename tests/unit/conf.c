/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/server/conf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/unit.h"
#include "nfsd-io/server/conf_dirs.h"
#include "nfsd-io/server/conf_table.h"
#include "nfsd-io/server/conf_value.h"

static char dir[] = "/tmp/nfsdio-conf.XXXXXX";
static struct conf c;
static struct conf_errors e;

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static int load(unsigned n, char **overrides)
{
	char path[256];
	struct conf_options o = {.file = path, .overrides = overrides, .noverrides = n};

	snprintf(path, sizeof(path), "%s/a.conf", dir);
	return conf_load(&c, &o, &e);
}

static int load_text(const char *text)
{
	put("a.conf", text);
	return load(0, NULL);
}

/* Is there a line that ends in, or contains, `want`? */
static bool told(const char *want)
{
	for (unsigned i = 0; i < e.n; i++)
		if (strstr(e.line[i], want))
			return true;
	for (unsigned i = 0; i < e.n; i++)
		fprintf(stderr, "# %s\n", e.line[i]);
	return false;
}

static void setup(void)
{
	strcpy(dir, "/tmp/nfsdio-conf.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memset(&c, 0, sizeof(c));
	memset(&e, 0, sizeof(e));
}

static void teardown(void)
{
	char cmd[128];

	conf_free(&c);
	conf_errors_free(&e);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

START_TEST(empty_file_gives_the_defaults)
{
	ck_assert_int_eq(load_text(""), 0);
	ck_assert_uint_eq(e.n, 0);
	ck_assert_uint_eq(c.port, 2049);
	ck_assert_int_eq(c.io.read_mode, DIO_MODE_DIRECT);
	ck_assert_int_eq(c.io.write_mode, DIO_MODE_DIRECT);
	ck_assert_int_eq(c.io.rule, DIO_RULE_PAGE);
	ck_assert_uint_eq(c.io.read_direct_min, 32768);
	ck_assert_uint_eq(c.io.min_middle, 0);
	ck_assert(!c.io.fail_unsupported);
	ck_assert(c.vers3 && !c.manage_gids && !c.embedded);
	ck_assert_uint_eq(c.max_read, 1 << 20);
	ck_assert_int_eq(c.log_level, 6);
	ck_assert_str_eq(c.log_target, "auto");
	ck_assert_uint_eq(c.log_ratelimit_ns, 5000000000u);
	ck_assert_uint_eq(c.socket_mode, 0660);
	ck_assert_str_eq(c.exports_file, "/etc/exports");
	ck_assert_str_eq(c.key_file, "/var/lib/nfsd-io/fh.key");
}
END_TEST

START_TEST(every_type_of_value_is_read)
{
	ck_assert_int_eq(
		load_text("[nfsd]\nhost = 10.0.0.1, fe80::1\tlocalhost\nport=0\nthreads = 4\nnuma "
			  "= node:0,2\n"
			  "max-write = 64K\nrpcbind = N\n[mountd]\nmanage-gids = Yes\n"
			  "[io]\nread-mode = 0\nwrite-mode = dontcache\nrule = dontcache-ends\n"
			  "on-unsupported = fail\nengine = threads\nbuffer-pool = 1G\n"
			  "[control]\nmode = 600\ngroup = \"staff\"\n"
			  "[log]\nlevel = debug\nratelimit = 0\nslow = 1500ms\n"),
		0);
	ck_assert_uint_eq(c.nhosts, 3);
	ck_assert_str_eq(c.hosts[1], "fe80::1");
	ck_assert_uint_eq(c.port, 0);
	ck_assert_uint_eq(c.threads, 4);
	ck_assert_str_eq(c.numa, "node:0,2");
	ck_assert_uint_eq(c.max_write, 65536);
	ck_assert_int_eq(c.rpcbind, CONF_RPCBIND_N);
	ck_assert(c.manage_gids);
	ck_assert_int_eq(c.io.read_mode, DIO_MODE_BUFFERED);
	ck_assert_int_eq(c.io.write_mode, DIO_MODE_DONTCACHE);
	ck_assert_int_eq(c.io.rule, DIO_RULE_DONTCACHE_ENDS);
	ck_assert(c.io.fail_unsupported);
	ck_assert_int_eq(c.engine, RING_THREADS);
	ck_assert_uint_eq(c.buffer_pool, 1u << 30);
	ck_assert_uint_eq(c.socket_mode, 0600);
	ck_assert_str_eq(c.socket_group, "staff");
	ck_assert_int_eq(c.log_level, 7);
	ck_assert_uint_eq(c.log_ratelimit_ns, 0);
	ck_assert_uint_eq(c.log_slow_ns, 1500000000u);
}
END_TEST

START_TEST(owners_have_a_domain_when_they_have_names)
{
	ck_assert_int_eq(load_text(""), 0);
	ck_assert(!c.idmap_names && !*c.domain);
	conf_free(&c);
	ck_assert_int_eq(load_text("[nfsd]\nidmap = names\n"), 0);
	ck_assert(c.idmap_names && *c.domain && !strchr(c.domain, '@'));
	conf_free(&c);
	ck_assert_int_eq(load_text("[nfsd]\nidmap = names\ndomain = nfs.example.org\n"), 0);
	ck_assert_str_eq(c.domain, "nfs.example.org");
	conf_free(&c);
	ck_assert_int_eq(load_text("[nfsd]\nidmap = names\ndomain = a@b\n"), -1);
	ck_assert_uint_eq(e.n, 1);
}
END_TEST

START_TEST(all_errors_are_told_in_one_run_with_their_lines)
{
	ck_assert_int_eq(load_text("[io]\n"
				   "raed-mode = direct\n"
				   "write-mode = driect\n"
				   "\n"
				   "# comment\n"
				   "port = 2049\n"
				   "[nfsd]\n"
				   "port = 70000\n"
				   "no assignment here\n"
				   "max-read = 12Q\n"
				   "vers3 = perhaps\n"
				   "[iom]\n"
				   "x = 1\n"
				   "[log]\n"
				   "slow = 3 fortnights\n"
				   "[control]\n"
				   "mode = 0999\n"
				   "[nfsd\n"
				   "port = 1\n"),
			 -1);
	ck_assert(told("a.conf:2: [io] raed-mode: unknown key (did you mean read-mode?)"));
	ck_assert(told("a.conf:3: [io] write-mode: \"driect\" is not buffered, dontcache or direct "
		       "(did you mean direct?)"));
	ck_assert(told("a.conf:6: [io] port: unknown key (it belongs to [nfsd])"));
	ck_assert(told("a.conf:8: [nfsd] port: 70000 is not between 0 and 65535"));
	ck_assert(told("a.conf:9: not \"name = value\": no assignment here"));
	ck_assert(told("a.conf:10: [nfsd] max-read: \"12Q\" is not a size"));
	ck_assert(told("a.conf:11: [nfsd] vers3: \"perhaps\" is neither y nor n"));
	ck_assert(told("a.conf:12: [iom]: unknown section (did you mean [io]?)"));
	ck_assert(told("a.conf:15: [log] slow: \"3 fortnights\" is not a time"));
	ck_assert(told("a.conf:17: [control] mode: \"0999\" is not an octal number"));
	ck_assert(told("a.conf:18: section without ]: [nfsd"));
	ck_assert_uint_eq(conf_nerrors(&e), 11);
}
END_TEST

START_TEST(words_of_knfsd_that_mean_nothing_here_are_warned_about_precisely)
{
	ck_assert_int_eq(
		load_text("[nfsd]\nrdma-port = 1\nudp = n\ntcp = y\nrdma = y\nscope = a\n"
			  "[lockd]\nport = 4045\n[gssd]\nverbosity = 1\n"),
		0);
	ck_assert(told("a.conf:2: [nfsd] rdma-port: no effect: NFS over RDMA is not served"));
	ck_assert(told("a.conf:5: [nfsd] rdma: no effect: NFS over RDMA is not served"));
	ck_assert(told("a.conf:8: [lockd] port: no effect: locking (NLM) is not served"));
	ck_assert_uint_eq(e.nwarnings, 5);
	ck_assert_uint_eq(conf_nerrors(&e), 0);
	ck_assert(e.warning[0]);
}
END_TEST

START_TEST(a_placement_that_is_none_is_refused)
{
	ck_assert_int_eq(load_text("[nfsd]\nnuma = node:a\n[io]\niowq-max-workers = 0\n"), -1);
	ck_assert(told(
		"a.conf:2: [nfsd] numa: \"node:a\" is not auto, off, netdev:IFACE or node:N[,N]"));
	ck_assert(told("a.conf:4: [io] iowq-max-workers: 0 is not between 1 and 1024"));
}
END_TEST

START_TEST(export_sections_overlay_io_for_their_path_only)
{
	struct root_io io;

	ck_assert_int_eq(load_text("[export \"/srv/data\"]\nread-mode = buffered\nmin-middle = 8K\n"
				   "[io]\nwrite-mode = dontcache\nrule = seed\n"
				   "[export \"/srv/data\"]\nrule = mainline\n"),
			 0);
	io = conf_io_for(&c, "/srv/data");
	ck_assert_int_eq(io.read_mode, DIO_MODE_BUFFERED);
	ck_assert_int_eq(io.write_mode, DIO_MODE_DONTCACHE);
	ck_assert_int_eq(io.rule, DIO_RULE_MAINLINE);
	ck_assert_uint_eq(io.min_middle, 8192);
	io = conf_io_for(&c, "/srv");
	ck_assert_int_eq(io.read_mode, DIO_MODE_DIRECT);
	ck_assert_int_eq(io.rule, DIO_RULE_SEED);
}
END_TEST

START_TEST(export_section_refuses_what_holds_for_the_whole_server)
{
	ck_assert_int_eq(
		load_text("[export \"/srv\"]\nengine = threads\n[export \"srv\"]\nrule = page\n"
			  "[io \"/srv\"]\nrule = page\n[export \"/srv\"]\nruel = page\n"),
		-1);
	ck_assert(told(
		"a.conf:2: [export \"/srv\"] engine: holds for the whole server: put it in [io]"));
	ck_assert(told("a.conf:3: [export \"srv\"]: a path that begins with / must stand here"));
	ck_assert(told("a.conf:6: [io \"/srv\"]: only [export \"PATH\"] takes an argument"));
	ck_assert(told("a.conf:8: [export] ruel: unknown key (did you mean rule?)"));
}
END_TEST

START_TEST(long_paths_and_values_are_not_cut)
{
	char text[8192], path[600], host[2000] = "";

	memset(path, 'd', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	for (unsigned i = 0; i < 100; i++)
		snprintf(host + strlen(host), sizeof(host) - strlen(host), "10.10.10.%u,", i);
	snprintf(text, sizeof(text),
		 "[export \"%s\"]\nrule = seed\n[nfsd]\nhost = %s ; all of them\nport = 7\n", path,
		 host);
	ck_assert_int_eq(load_text(text), 0);
	ck_assert_uint_eq(c.nexports, 1);
	ck_assert_str_eq(c.exports[0].path, path);
	ck_assert_uint_eq(c.nhosts, 100);
	ck_assert_str_eq(c.hosts[99], "10.10.10.99");
	ck_assert_uint_eq(c.port, 7);
}
END_TEST

START_TEST(comments_quotes_indent_and_case_are_as_nfs_conf_has_them)
{
	ck_assert_int_eq(
		load_text("\xef\xbb\xbf[NFSD] ; comment\n  Port = 1\n\tthreads = '3' ; three\n"
			  "; x\n  # y\nstate-directory-path = /a#b\n"),
		0);
	ck_assert_uint_eq(c.port, 1);
	ck_assert_uint_eq(c.threads, 3);
	ck_assert_str_eq(c.state_dir, "/a#b");
	ck_assert_str_eq(c.key_file, "/a#b/fh.key");
}
END_TEST

START_TEST(environment_gives_a_value_and_its_absence_warns)
{
	setenv("NFSDIO_TEST_PORT", "4711", 1);
	unsetenv("NFSDIO_TEST_NONE");
	ck_assert_int_eq(load_text("[nfsd]\nport = $NFSDIO_TEST_PORT\n[exports]\nrootdir = "
				   "$NFSDIO_TEST_NONE\n"),
			 0);
	ck_assert_uint_eq(c.port, 4711);
	ck_assert(told("a.conf:4: rootdir: environment variable NFSDIO_TEST_NONE is not set"));
}
END_TEST

START_TEST(later_places_win_file_then_conf_d_then_command_line)
{
	char *over[] = {(char *)"nfsd.threads=9", (char *)"export \"/a.b\".rule=seed"};
	char path[256];

	snprintf(path, sizeof(path), "%s/conf.d", dir);
	mkdir(path, 0700);
	put("a.conf", "[nfsd]\nport = 1\nthreads = 1\nmax-connections = 1\n");
	put("conf.d/20.conf", "[nfsd]\nport = 3\nthreads = 3\n");
	put("conf.d/10.conf", "[nfsd]\nport = 2\n");
	put("conf.d/30.conf~", "[nfsd]\nport = 4\n");
	put("conf.d/.40.conf", "[nfsd]\nport = 5\n");
	ck_assert_int_eq(load(2, over), 0);
	ck_assert_uint_eq(c.max_connections, 1);
	ck_assert_uint_eq(c.port, 3);
	ck_assert_uint_eq(c.threads, 9);
	ck_assert_int_eq(conf_io_for(&c, "/a.b").rule, DIO_RULE_SEED);
}
END_TEST

START_TEST(includes_are_read_in_place_and_may_be_optional)
{
	put("b.conf", "[nfsd]\nport = 2\n[io]\nbad = 1\n");
	ck_assert_int_eq(
		load_text(
			"[nfsd]\nport = 1\ninclude = b.conf\ninclude = -gone.conf\nthreads = 5\n"),
		-1);
	ck_assert_uint_eq(c.port, 2);
	ck_assert_uint_eq(c.threads, 5);
	ck_assert_uint_eq(e.n, 1);
	ck_assert(told("b.conf:4: [io] bad: unknown key"));
}
END_TEST

START_TEST(a_missing_include_and_one_of_itself_are_errors)
{
	ck_assert_int_eq(load_text("include = gone.conf\ninclude = a.conf\n"), -1);
	ck_assert(told("a.conf:1: include: no such file: "));
	ck_assert(told("too many files include one another: a.conf"));
}
END_TEST

START_TEST(a_missing_file_is_an_error)
{
	ck_assert_int_eq(load(0, NULL), -1);
	ck_assert(told("a.conf: No such file or directory"));
}
END_TEST

START_TEST(malformed_overrides_are_errors)
{
	char *over[] = {(char *)"port=1",      (char *)"nfsd.port",   (char *)"nfsd.=1",
			(char *)"nfsd.prot=1", (char *)"export \"/x", (char *)"="};

	put("a.conf", "");
	ck_assert_int_eq(load(6, over), -1);
	ck_assert_uint_eq(conf_nerrors(&e), 6);
	ck_assert(told("-o: [nfsd] prot: unknown key (did you mean port?)"));
	ck_assert(told("-o port=1: not section.key=value"));
}
END_TEST

START_TEST(export_on_the_command_line_reads_no_files_and_stays_on_this_host)
{
	char *args[] = {dir};
	struct conf_options o = {.export_args = args, .nexport_args = 1};

	setenv("XDG_RUNTIME_DIR", dir, 1);
	ck_assert_int_eq(conf_load(&c, &o, &e), 0);
	ck_assert(c.embedded);
	ck_assert_uint_eq(c.port, 20490);
	ck_assert_uint_eq(c.nhosts, 2);
	ck_assert_str_eq(c.hosts[0], "127.0.0.1");
	ck_assert_int_eq(c.rpcbind, CONF_RPCBIND_N);
	ck_assert_ptr_null(c.exports_file);
	ck_assert_ptr_null(c.exports_dir);
	ck_assert_ptr_null(c.embedded_dir);
	ck_assert(!strncmp(c.socket, dir, strlen(dir)));
	unsetenv("XDG_RUNTIME_DIR");
}
END_TEST

START_TEST(embedded_listens_everywhere_once_a_client_is_named)
{
	char *args[] = {(char *)"/srv:10.0.0.0/8(rw)"};
	struct conf_options o = {.export_args = args, .nexport_args = 1};

	setenv("XDG_RUNTIME_DIR", dir, 1);
	ck_assert_int_eq(conf_load(&c, &o, &e), 0);
	ck_assert_uint_eq(c.nhosts, 0);
	unsetenv("XDG_RUNTIME_DIR");
}
END_TEST

START_TEST(a_state_directory_of_somebody_else_is_refused)
{
	char *args[] = {dir}, link[256];
	struct conf_options o = {.export_args = args, .nexport_args = 1};

	snprintf(link, sizeof(link), "%s/nfsd-io", dir);
	ck_assert_int_eq(symlink("/tmp", link), 0);
	setenv("XDG_RUNTIME_DIR", dir, 1);
	ck_assert_int_eq(conf_load(&c, &o, &e), -1);
	unsetenv("XDG_RUNTIME_DIR");
}
END_TEST

START_TEST(a_restart_is_asked_for_where_a_reload_is_not_enough)
{
	struct conf old;

	ck_assert_int_eq(load_text("[nfsd]\nport = 1\n"), 0);
	old = c;
	ck_assert_int_eq(load_text("[nfsd]\nport = 2\n[io]\nread-mode = 0\n"), 0);
	conf_note_restart(&old, &c, &e);
	ck_assert_uint_eq(e.nwarnings, 1);
	ck_assert(told("[nfsd] port: changed, takes effect at the next start"));
	conf_free(&old);
}
END_TEST

START_TEST(a_file_of_mistakes_costs_bounded_memory)
{
	FILE *f;
	char path[256];

	snprintf(path, sizeof(path), "%s/a.conf", dir);
	f = fopen(path, "w");
	for (unsigned i = 0; i < 2000; i++)
		fputs("[x]\ny = 1\nz\n", f);
	fclose(f);
	ck_assert_int_eq(load(0, NULL), -1);
	ck_assert_uint_le(e.n, 1000);
}
END_TEST

START_TEST(printed_values_read_back_the_same)
{
	char text[256], why[256];
	struct conf d = {0};

	ck_assert_int_eq(
		load_text(
			"[nfsd]\nhost = a,b\nmax-read = 12K\n[log]\nslow = 90s\nratelimit = 1us\n"),
		0);
	for (unsigned i = 0; i < conf_table_len; i++) {
		const struct conf_key *k = &conf_table[i];

		conf_value_print(k, (char *)&c + k->offset, text, sizeof(text));
		ck_assert_int_eq(conf_value_set(k, (char *)&d + k->offset, text, why, sizeof(why)),
				 0);
		ck_assert_msg(conf_value_equal(k, (char *)&c + k->offset, (char *)&d + k->offset),
			      "%s", k->name);
	}
	conf_free(&d);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
	uint64_t v;

	ck_assert_int_eq(conf_value_size("16777215T", &v), 0);
	ck_assert_int_eq(conf_value_size("16777216T", &v), -22);
	ck_assert_int_eq(conf_value_size("99999999999999999999", &v), -22);
	ck_assert_int_eq(conf_value_size("-1", &v), -22);
	ck_assert_int_eq(conf_value_time("5124096h", &v), -22);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("conf");
	TCase *t = tcase_create("conf");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, empty_file_gives_the_defaults);
	tcase_add_test(t, every_type_of_value_is_read);
	tcase_add_test(t, owners_have_a_domain_when_they_have_names);
	tcase_add_test(t, all_errors_are_told_in_one_run_with_their_lines);
	tcase_add_test(t, words_of_knfsd_that_mean_nothing_here_are_warned_about_precisely);
	tcase_add_test(t, a_placement_that_is_none_is_refused);
	tcase_add_test(t, export_sections_overlay_io_for_their_path_only);
	tcase_add_test(t, export_section_refuses_what_holds_for_the_whole_server);
	tcase_add_test(t, long_paths_and_values_are_not_cut);
	tcase_add_test(t, comments_quotes_indent_and_case_are_as_nfs_conf_has_them);
	tcase_add_test(t, environment_gives_a_value_and_its_absence_warns);
	tcase_add_test(t, later_places_win_file_then_conf_d_then_command_line);
	tcase_add_test(t, includes_are_read_in_place_and_may_be_optional);
	tcase_add_test(t, a_missing_include_and_one_of_itself_are_errors);
	tcase_add_test(t, a_missing_file_is_an_error);
	tcase_add_test(t, malformed_overrides_are_errors);
	tcase_add_test(t, export_on_the_command_line_reads_no_files_and_stays_on_this_host);
	tcase_add_test(t, embedded_listens_everywhere_once_a_client_is_named);
	tcase_add_test(t, a_state_directory_of_somebody_else_is_refused);
	tcase_add_test(t, a_restart_is_asked_for_where_a_reload_is_not_enough);
	tcase_add_test(t, a_file_of_mistakes_costs_bounded_memory);
	tcase_add_test(t, printed_values_read_back_the_same);
	tcase_add_test(t, sizes_that_overflow_are_refused);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_run(suite());
}
