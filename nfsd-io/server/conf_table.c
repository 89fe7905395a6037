/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/server/conf_table.h"

#include <string.h>
#include <strings.h>

#include "nfsd-io/server/conf_value.h"

static const char *const words_rpcbind[] = {"auto", "y", "n", NULL};
static const char *const words_idmap[] = {"numeric", "names", NULL};
static const char *const words_engine[] = {"auto", "io_uring", "threads", NULL};
static const char *const words_reply[] = {"auto", "sendmsg", "splice", "zerocopy", NULL};
static const char *const words_receive[] = {"recv", "splice", NULL};
static const char *const words_unsupported[] = {"fallback", "fail", NULL};
static const char *const words_level[] = {"error", "warning", "notice", "info", "debug", NULL};
static const char *const words_target[] = {"auto", "stderr", "syslog", NULL};

#define AT(f) offsetof(struct conf, f), sizeof(((struct conf *)0)->f)
#define SET(f) offsetof(struct conf_export, set_##f)
#define RESTART true
#define RELOAD false

const struct conf_key conf_table[] = {
	{"nfsd", "host", CONF_LIST, AT(hosts), 0, 0, NULL, "", RESTART, 0,
	 "addresses to listen on, between commas; empty = all"},
	{"nfsd", "port", CONF_NUMBER, AT(port), 0, 65535, NULL, "2049", RESTART, 0,
	 "TCP port; 0 = one the kernel picks"},
	{"nfsd", "threads", CONF_NUMBER, AT(threads), 0, 1024, NULL, "0", RESTART, 0,
	 "I/O workers, each a thread with its own ring; 0 = one per CPU"},
	{"nfsd", "numa", CONF_NUMA, AT(numa), 0, 0, NULL, "auto", RESTART, 0,
	 "auto, off, netdev:IFACE or node:N,N; auto = the nodes of the network cards listened on"},
	{"nfsd", "congestion-control", CONF_STRING, AT(congestion), 0, 0, NULL, "auto", RESTART,
	 0, "TCP's: auto, system or one the kernel knows; auto = system, but reno within the host"},
	{"nfsd", "vers3", CONF_BOOL, AT(vers3), 0, 0, NULL, "y", RESTART, 0, "serve NFSv3"},
	{"nfsd", "vers4", CONF_BOOL, AT(vers4), 0, 0, NULL, "y", RESTART, 0,
	 "serve NFSv4.0, 4.1 and 4.2"},
	{"nfsd", "vers4.0", CONF_BOOL, AT(vers40), 0, 0, NULL, "y", RESTART, 0,
	 "with vers4: serve NFSv4.0"},
	{"nfsd", "vers4.1", CONF_BOOL, AT(vers41), 0, 0, NULL, "y", RESTART, 0,
	 "with vers4: serve NFSv4.1"},
	{"nfsd", "vers4.2", CONF_BOOL, AT(vers42), 0, 0, NULL, "y", RESTART, 0,
	 "with vers4: serve NFSv4.2"},
	{"nfsd", "lease-time", CONF_NUMBER, AT(lease_s), 1, 3600, NULL, "90", RESTART, 0,
	 "seconds an NFSv4 client may be silent before others can take what it holds"},
	{"nfsd", "grace-time", CONF_NUMBER, AT(grace_s), 1, 3600, NULL, "90", RESTART, 0,
	 "seconds NFSv4 clients have to reclaim after a start; none when no client was recorded"},
	{"nfsd", "idmap", CONF_WORD, AT(idmap_names), 0, 0, words_idmap, "numeric", RESTART, 0,
	 "how NFSv4 tells owners: numeric, or names: name@domain"},
	{"nfsd", "domain", CONF_STRING, AT(domain), 0, 0, NULL, "", RESTART, 0,
	 "with idmap = names: their NFSv4 domain; empty = that of this host's name, or "
	 "localdomain"},
	{"nfsd", "max-read", CONF_SIZE, AT(max_read), 4096, 1 << 20, NULL, "1M", RESTART, 0,
	 "largest READ, bytes"},
	{"nfsd", "max-write", CONF_SIZE, AT(max_write), 4096, 1 << 20, NULL, "1M", RESTART, 0,
	 "largest WRITE, bytes"},
	{"nfsd", "max-connections", CONF_NUMBER, AT(max_connections), 1, 1000000, NULL, "4096",
	 RESTART, 0, "connections at a time; more are closed at once"},
	{"nfsd", "rpcbind", CONF_WORD, AT(rpcbind), 0, 0, words_rpcbind, "auto", RESTART, 0,
	 "auto, y or n; auto registers when rpcbind answers"},
	{"nfsd", "state-directory-path", CONF_STRING, AT(state_dir), 0, 0, NULL, "/var/lib/nfsd-io",
	 RESTART, 0, "what must survive a restart"},
	{"mountd", "port", CONF_NUMBER, AT(mountd_port), 0, 65535, NULL, "0", RESTART, 0,
	 "port of the MOUNT protocol; 0 = the NFS port"},
	{"mountd", "manage-gids", CONF_BOOL, AT(manage_gids), 0, 0, NULL, "n", RESTART, 0,
	 "take supplementary groups from this host's group database, not from the call"},
	{"exports", "file", CONF_STRING, AT(exports_file), 0, 0, NULL, "/etc/exports", RELOAD, 0,
	 "exports(5) file"},
	{"exports", "directory", CONF_STRING, AT(exports_dir), 0, 0, NULL, "/etc/exports.d", RELOAD,
	 0, "its *.exports files are read too"},
	{"exports", "rootdir", CONF_STRING, AT(rootdir), 0, 0, NULL, "", RELOAD, 0,
	 "put before every exported path on this host; clients do not see it"},
	{"io", "read-mode", CONF_MODE, AT(io.read_mode), 0, 0, NULL, "direct", RELOAD,
	 SET(read_mode),
	 "buffered, dontcache or direct; or 0, 1, 2 as in debugfs nfsd/io_cache_read"},
	{"io", "write-mode", CONF_MODE, AT(io.write_mode), 0, 0, NULL, "direct", RELOAD,
	 SET(write_mode),
	 "buffered, dontcache or direct; or 0, 1, 2 as in debugfs nfsd/io_cache_write"},
	{"io", "rule", CONF_RULE, AT(io.rule), 0, 0, NULL, "page", RELOAD, SET(rule),
	 "how misaligned requests are cut: page, seed, mainline or dontcache-ends"},
	{"io", "read-direct-min", CONF_SIZE, AT(io.read_direct_min), 0, 1 << 30, NULL, "32K",
	 RELOAD, SET(read_direct_min), "misaligned READs smaller than this are buffered"},
	{"io", "min-middle", CONF_SIZE, AT(io.min_middle), 0, 1 << 30, NULL, "0", RELOAD,
	 SET(min_middle), "a split WRITE whose aligned middle is smaller than this is not split"},
	{"io", "on-unsupported", CONF_WORD, AT(io.fail_unsupported), 0, 0, words_unsupported,
	 "fallback", RELOAD, SET(on_unsupported),
	 "fallback, or fail: refuse an export whose file system lacks the mode"},
	{"io", "reply", CONF_WORD, AT(io.reply), 0, 0, words_reply, "auto", RELOAD, SET(reply),
	 "how READ data leaves: auto, sendmsg, splice or zerocopy"},
	{"io", "splice-buffered", CONF_BOOL, AT(io.splice_buffered), 0, 0, NULL, "n", RELOAD,
	 SET(splice_buffered),
	 "cached READ data may be spliced too; a reply may then show later WRITEs"},
	{"io", "receive", CONF_WORD, AT(io.receive), 0, 0, words_receive, "recv", RELOAD,
	 SET(receive), "how the data of large cached WRITEs arrives: recv or splice"},
	{"io", "engine", CONF_WORD, AT(engine), 0, 0, words_engine, "auto", RESTART, 0,
	 "auto, io_uring or threads; auto takes threads where io_uring is refused"},
	{"io", "queue-depth", CONF_NUMBER, AT(queue_depth), 8, 4096, NULL, "256", RESTART, 0,
	 "submission queue entries of each worker's ring"},
	{"io", "iowq-max-workers", CONF_NUMBER, AT(iowq), 1, 1024, NULL, "16", RESTART, 0,
	 "kernel threads a worker's ring may have for file I/O that would block"},
	{"io", "buffer-pool", CONF_SIZE, AT(buffer_pool), 0, 1ull << 40, NULL, "0", RESTART, 0,
	 "memory for I/O buffers of all workers; 0 = about 40M each"},
	{"filehandle", "key-file", CONF_STRING, AT(key_file), 0, 0, NULL, "", RESTART, 0,
	 "16 secret bytes that sign file handles; empty = fh.key in state-directory-path"},
	{"control", "socket", CONF_STRING, AT(socket), 0, 0, NULL, "/run/nfsd-io/control.sock",
	 RESTART, 0, "where status, stats and reload reach the daemon"},
	{"control", "mode", CONF_OCTAL, AT(socket_mode), 0, 0777, NULL, "0660", RESTART, 0,
	 "permissions of the socket, octal"},
	{"control", "group", CONF_STRING, AT(socket_group), 0, 0, NULL, "adm", RESTART, 0,
	 "its group may read; changes need root or the daemon's own user"},
	{"log", "level", CONF_WORD, AT(log_level), 3, 0, words_level, "info", RELOAD, 0,
	 "error, warning, notice, info or debug"},
	{"log", "target", CONF_WORD, AT(log_target), 0, 0, words_target, "auto", RESTART, 0,
	 "auto, stderr or syslog; auto is stderr, with priorities for the journal under systemd"},
	{"log", "ratelimit", CONF_TIME, AT(log_ratelimit_ns), 0, 86400000000000ull, NULL, "5s",
	 RELOAD, 0, "one line a client and kind of message in this time, then a count; 0 = all"},
	{"log", "slow", CONF_TIME, AT(log_slow_ns), 0, 86400000000000ull, NULL, "1s", RESTART, 0,
	 "log a request that takes longer; 0 = never"},
};
const unsigned conf_table_len = sizeof(conf_table) / sizeof(conf_table[0]);
_Static_assert(sizeof(conf_table) / sizeof(conf_table[0]) <= CONF_KEYS_MAX, "CONF_KEYS_MAX");

/* nfs.conf(5) as of nfs-utils 2.8: what may stay in a file that is shared with knfsd. */
static const struct {
	const char *section, *name; /* name NULL: the whole section */
	int fine;                   /* this boolean value is what we do anyway; -1 = none is */
	const char *word;
} knfsd[] = {
	{"nfsd", "vers2", 0, "NFSv2 is not served"},
	{"nfsd", "tcp", 1, "TCP is the only transport"},
	{"nfsd", "udp", 0, "NFS over UDP is not served"},
	{"nfsd", "rdma", 0, "NFS over RDMA is not served"},
	{"nfsd", "rdma-port", -1, "NFS over RDMA is not served"},
	{"nfsd", "scope", -1, "the scope is random, and kept in state-directory-path"},
	{"nfsd", "debug", -1, "use [log] level"},
	{"nfsd", "min-threads", -1, "the number of workers is fixed: [nfsd] threads"},
	{"mountd", "debug", -1, "use [log] level"},
	{"mountd", "threads", -1, "MOUNT is served by the NFS workers"},
	{"mountd", "descriptors", -1, "the limit is raised to the hard limit by itself"},
	{"mountd", "reverse-lookup", -1,
	 "names are looked up only when a wildcard or netgroup needs one"},
	{"mountd", "state-directory-path", -1, "use [nfsd] state-directory-path"},
	{"mountd", "ha-callout", -1, "there is no callout"},
	{"mountd", "cache-use-ipaddr", -1, "there is no kernel cache to fill"},
	{"mountd", "ttl", -1, "there is no kernel cache to fill"},
	{"mountd", "apply-root-cred", -1, "the server always opens exports as itself"},
	{"exportd", NULL, -1, "belongs to nfsv4.exportd"},
	{"exportfs", NULL, -1, "belongs to exportfs"},
	{"general", NULL, -1, "belongs to nfs-utils"},
	{"environment", NULL, -1, "$NAME is taken from the process's own environment"},
	{"lockd", NULL, -1, "locking (NLM) is not served"},
	{"statd", NULL, -1, "locking (NLM) is not served"},
	{"sm-notify", NULL, -1, "locking (NLM) is not served"},
	{"nfsdcld", NULL, -1, "the server records NFSv4's clients itself"},
	{"nfsdcltrack", NULL, -1, "the server records NFSv4's clients itself"},
	{"gssd", NULL, -1, "Kerberos is not served"},
	{"svcgssd", NULL, -1, "Kerberos is not served"},
	{"nfsrahead", NULL, -1, "belongs to the client"},
};

const struct conf_key *conf_table_find(const char *section, const char *name)
{
	for (unsigned i = 0; i < conf_table_len; i++)
		if (!strcasecmp(conf_table[i].section, section) &&
		    !strcasecmp(conf_table[i].name, name))
			return &conf_table[i];
	return NULL;
}

bool conf_table_has_section(const char *section)
{
	for (unsigned i = 0; i < conf_table_len; i++)
		if (!strcasecmp(conf_table[i].section, section))
			return true;
	return false;
}

const char *conf_table_elsewhere(const char *name)
{
	for (unsigned i = 0; i < conf_table_len; i++)
		if (!strcasecmp(conf_table[i].name, name))
			return conf_table[i].section;
	return NULL;
}

const char *conf_table_like_key(const char *section, const char *name)
{
	const char *best = NULL;
	unsigned least = conf_value_near(name);

	for (unsigned i = 0; i < conf_table_len; i++) {
		unsigned d;

		if (strcasecmp(conf_table[i].section, section))
			continue;
		d = conf_value_distance(conf_table[i].name, name);
		if (d <= least && (!best || d < least)) {
			least = d;
			best = conf_table[i].name;
		}
	}
	return best;
}

const char *conf_table_like_section(const char *section)
{
	const char *best = NULL;
	unsigned least = conf_value_near(section);

	for (unsigned i = 0; i < conf_table_len; i++) {
		unsigned d = conf_value_distance(conf_table[i].section, section);

		if (d <= least && (!best || d < least)) {
			least = d;
			best = conf_table[i].section;
		}
	}
	if (!best && conf_value_distance("export", section) <= least)
		best = "export \"PATH\"";
	return best;
}

const char *conf_table_knfsd(const char *section, const char *name, const char *value)
{
	for (unsigned i = 0; i < sizeof(knfsd) / sizeof(knfsd[0]); i++) {
		uint64_t v;

		if (strcasecmp(knfsd[i].section, section) ||
		    (knfsd[i].name && strcasecmp(knfsd[i].name, name)))
			continue;
		if (knfsd[i].fine >= 0 && !conf_value_bool(value, &v) && (int)v == knfsd[i].fine)
			return "";
		return knfsd[i].word;
	}
	return NULL;
}
