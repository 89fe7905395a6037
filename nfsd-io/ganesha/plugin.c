/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "nfsd-io/ganesha/plugin.h"

struct plugin plugin;

static struct config_item_list engines[] = {
	CONFIG_LIST_TOK("mixed", NFSDIO_ENGINE_MIXED),
	CONFIG_LIST_TOK("inline", NFSDIO_ENGINE_INLINE),
	CONFIG_LIST_TOK("io_uring", NFSDIO_ENGINE_IO_URING),
	CONFIG_LIST_TOK("threads", NFSDIO_ENGINE_THREADS),
	CONFIG_LIST_EOL,
};

static struct config_item params[] = {
	CONF_ITEM_TOKEN("Engine", NFSDIO_ENGINE_MIXED, engines, plugin_conf, engine),
	CONF_ITEM_UI32("Threads", 0, 64, 0, plugin_conf, threads),
	CONF_ITEM_UI32("Max_Files", 0, 1 << 20, 0, plugin_conf, max_files),
	CONF_ITEM_UI64("Max_In_Flight", 1 << 20, (uint64_t)1 << 40, 32 << 20, plugin_conf,
		       max_in_flight),
	CONF_ITEM_UI64("Keep_Memory", 0, (uint64_t)1 << 40, 64 << 20, plugin_conf, keep_memory),
	CONF_ITEM_PATH("Control_Socket", 1, 107, NULL, plugin_conf, control_socket),
	CONFIG_EOL,
};

static struct config_block block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.nfsdio",
	.blk_desc.name = "NFSDIO",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = params,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

static fsal_status_t init_config(struct fsal_module *module, config_file_t file,
				 struct config_error_type *err)
{
	uint32_t before = err->errors;

	(void)module;
	load_config_from_parse(file, &block, &plugin.conf, true, err);
	if (err->errors > before && !config_error_is_harmless(err))
		return fsalstat(ERR_FSAL_INVAL, 0);
	plugin_memory_init(plugin.conf.keep_memory);
	return fsalstat(ERR_FSAL_NO_ERROR, 0);
}

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
static struct nfsdio *_Atomic engine;

static unsigned thread_count(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (plugin.conf.engine == NFSDIO_ENGINE_INLINE)
		return 1;
	if (plugin.conf.threads)
		return plugin.conf.threads;
	return cpus < 4 ? 1 : cpus > 8 ? 4 : (unsigned)cpus / 2;
}

/* All in flight together: each thread of the library's has a share, ganesha's own have one. */
static struct nfsdio *make_engine(void)
{
	unsigned threads = thread_count();
	unsigned shares = threads + (plugin.conf.engine == NFSDIO_ENGINE_MIXED);
	struct nfsdio_params p = {
		.engine = (enum nfsdio_engine)plugin.conf.engine,
		.threads = threads,
		.max_io = PLUGIN_MAX_IO,
		.max_bytes = plugin.conf.max_in_flight / shares,
	};
	struct nfsdio *n;
	int ret = nfsdio_new(&n, &p);

	if (ret < 0) {
		LogCrit(COMPONENT_FSAL, "NFSDIO: no I/O engine (%s): FSAL VFS does the I/O",
			strerror(-ret));
		return NULL;
	}
	LogEvent(COMPONENT_FSAL, "NFSDIO: %s", nfsdio_engine(n));
	if (plugin.conf.control_socket)
		plugin_stats_serve(plugin.conf.control_socket);
	return n;
}

struct nfsdio *plugin_engine(void)
{
	static bool tried;
	struct nfsdio *n = atomic_load_explicit(&engine, memory_order_acquire);

	if (n)
		return n;
	pthread_mutex_lock(&engine_lock);
	if (!tried)
		atomic_store(&engine, make_engine());
	tried = true;
	n = atomic_load(&engine);
	pthread_mutex_unlock(&engine_lock);
	return n;
}

static const char *const mode_names[] = { "buffered", "dontcache", "direct" };
static const char *const rule_names[] = { "seed", "page", "mainline", "dontcache-ends" };

const char *plugin_mode_name(enum nfsdio_mode m)
{
	return mode_names[m];
}

const char *plugin_rule_name(enum nfsdio_rule r)
{
	return rule_names[r];
}

MODULE_INIT void plugin_load(void);
MODULE_INIT void plugin_load(void)
{
	if (register_fsal(&plugin.module, "NFSDIO", FSAL_MAJOR_VERSION, FSAL_MINOR_VERSION,
			  FSAL_ID_NO_PNFS) != 0)
		return;
	plugin.module.m_ops.create_export = plugin_export_create;
	plugin.module.m_ops.update_export = plugin_export_update;
	plugin.module.m_ops.init_config = init_config;
}

/*
 * The code stays (-z nodelete): VFS's table of operations
 * points to it as long as the process lives.
 */
MODULE_FINI void plugin_unload(void);
MODULE_FINI void plugin_unload(void)
{
	unregister_fsal(&plugin.module);
}
