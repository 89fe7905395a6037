/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/ganesha/plugin.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct plugin_export *table;

static struct config_item_list modes[] = {
	CONFIG_LIST_TOK("buffered", NFSDIO_BUFFERED),
	CONFIG_LIST_TOK("dontcache", NFSDIO_DONTCACHE),
	CONFIG_LIST_TOK("direct", NFSDIO_DIRECT),
	CONFIG_LIST_EOL,
};
static struct config_item_list rules[] = {
	CONFIG_LIST_TOK("seed", NFSDIO_SEED),
	CONFIG_LIST_TOK("page", NFSDIO_PAGE),
	CONFIG_LIST_TOK("mainline", NFSDIO_MAINLINE),
	CONFIG_LIST_TOK("dontcache-ends", NFSDIO_DONTCACHE_ENDS),
	CONFIG_LIST_EOL,
};

/* The FSAL block of an export. */
struct args {
	struct subfsal_args below;
	struct nfsdio_file_params p;
};

static struct config_item below_params[] = {
	CONF_ITEM_STR("name", 1, 10, NULL, subfsal_args, name),
	CONFIG_EOL,
};
static struct config_item export_params[] = {
	CONF_ITEM_NOOP("name"),
	CONF_ITEM_TOKEN("Read_Mode", NFSDIO_DIRECT, modes, args, p.read_mode),
	CONF_ITEM_TOKEN("Write_Mode", NFSDIO_DIRECT, modes, args, p.write_mode),
	CONF_ITEM_TOKEN("Rule", NFSDIO_PAGE, rules, args, p.rule),
	CONF_ITEM_UI32("Read_Direct_Min", 0, 1 << 30, 32768, args, p.read_direct_min),
	CONF_ITEM_UI32("Min_Middle", 0, 1 << 30, 0, args, p.min_middle),
	CONF_RELAX_BLOCK("FSAL", below_params, noop_conf_init, subfsal_commit, args, below),
	CONFIG_EOL,
};
static struct config_block export_block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.fsal.nfsdio-export%d",
	.blk_desc.name = "FSAL",
	.blk_desc.type = CONFIG_BLOCK,
	.blk_desc.u.blk.init = noop_conf_init,
	.blk_desc.u.blk.params = export_params,
	.blk_desc.u.blk.commit = noop_conf_commit,
};

struct plugin_export *plugin_export_find(const struct fsal_export *exp)
{
	struct plugin_export *x;

	pthread_rwlock_rdlock(&lock);
	for (x = table; x && x->exp != exp; x = x->next)
		;
	pthread_rwlock_unlock(&lock);
	return x;
}

unsigned plugin_export_params(struct plugin_export *x, struct nfsdio_file_params *out)
{
	unsigned generation;

	pthread_rwlock_rdlock(&lock);
	*out = x->params;
	generation = atomic_load(&x->generation);
	pthread_rwlock_unlock(&lock);
	return generation;
}

void plugin_export_count(struct plugin_export *x, const struct nfsdio_stats *of_a_closed_file)
{
	pthread_rwlock_wrlock(&lock);
	plugin_stats_add(&x->closed, of_a_closed_file);
	pthread_rwlock_unlock(&lock);
}

void plugin_export_each(void (*each)(struct plugin_export *x, void *arg), void *arg)
{
	pthread_rwlock_rdlock(&lock);
	for (struct plugin_export *x = table; x; x = x->next)
		each(x, arg);
	pthread_rwlock_unlock(&lock);
}

/* --- what VFS's export does differently ------------------------------------------------- */
static void release(struct fsal_export *exp)
{
	struct plugin_export *x = plugin_export_find(exp), **at;
	void (*vfs_release)(struct fsal_export *exp) = x->saved.release;

	plugin_stats_log(x);
	plugin_file_orphan(x);
	pthread_rwlock_wrlock(&lock);
	for (at = &table; *at != x; at = &(*at)->next)
		;
	*at = x->next;
	pthread_rwlock_unlock(&lock);
	free(x->path);
	free(x);
	vfs_release(exp);
	/* The reference our block took; ganesha gives back that on VFS, whose export it knows. */
	fsal_put(&plugin.module);
}

/* VFS's files have one table of operations; a file is what leads to it. */
static fsal_status_t adopt(struct fsal_export *exp, fsal_status_t st, struct fsal_obj_handle **obj)
{
	if (FSAL_IS_ERROR(st) || plugin_ops_replace(*obj, exp) == 0)
		return st;
	LogCrit(COMPONENT_FSAL, "NFSDIO: this FSAL VFS was built with other options than its "
				"sources say by default");
	(*obj)->obj_ops->release(*obj);
	*obj = NULL;
	return fsalstat(ERR_FSAL_NOTSUPP, ENOTSUP);
}

static fsal_status_t lookup_path(struct fsal_export *exp, const char *path,
				 struct fsal_obj_handle **obj, struct fsal_attrlist *attrs)
{
	return adopt(exp, plugin_export_find(exp)->saved.lookup_path(exp, path, obj, attrs), obj);
}

static fsal_status_t create_handle(struct fsal_export *exp, struct gsh_buffdesc *desc,
				   struct fsal_obj_handle **obj, struct fsal_attrlist *attrs)
{
	return adopt(exp, plugin_export_find(exp)->saved.create_handle(exp, desc, obj, attrs), obj);
}

static uint32_t at_most(uint32_t vfs)
{
	return vfs == 0 || vfs > PLUGIN_MAX_IO ? PLUGIN_MAX_IO : vfs;
}

static uint32_t maxread(struct fsal_export *exp)
{
	return at_most(plugin_export_find(exp)->saved.fs_maxread(exp));
}

static uint32_t maxwrite(struct fsal_export *exp)
{
	return at_most(plugin_export_find(exp)->saved.fs_maxwrite(exp));
}

static void take_over(struct plugin_export *x)
{
	struct export_ops *ops = &x->exp->exp_ops;

	x->saved = *ops;
	pthread_rwlock_wrlock(&lock);
	x->next = table;
	table = x;
	pthread_rwlock_unlock(&lock);
	ops->release = release;
	ops->lookup_path = lookup_path;
	ops->create_handle = create_handle;
	ops->fs_maxread = maxread;
	ops->fs_maxwrite = maxwrite;
	ops->get_write_verifier = plugin_io_verifier;
}

/* --- an export comes, and changes ------------------------------------------------------- */

/* Counted; NULL: there is none, or it is not of VFS's kind. */
static struct fsal_module *lookup_vfs(const char *name)
{
	struct fsal_module *vfs = lookup_fsal(name);

	if (vfs && !dlsym(vfs->dl_handle, "vfs_fsal_open")) {
		fsal_put(vfs);
		vfs = NULL;
	}
	if (!vfs)
		LogCrit(COMPONENT_FSAL, "NFSDIO: FSAL %s cannot be below: VFS can", name);
	return vfs;
}

/* The FSAL below, counted, or NULL with the reason logged. */
static struct fsal_module *read_args(void *node, struct config_error_type *err, struct args *a)
{
	struct fsal_module *vfs;

	memset(a, 0, sizeof(*a));
	if (load_config_from_node(node, &export_block, a, true, err) != 0)
		return NULL;
	if (!a->below.fsal_node) {
		LogCrit(COMPONENT_FSAL, "NFSDIO: the FSAL block needs FSAL { Name = VFS; } inside");
		return NULL;
	}
	vfs = lookup_vfs(a->below.name);
	gsh_free(a->below.name);
	return vfs;
}

static void log_modes(const char *what, const struct plugin_export *x)
{
	LogEvent(COMPONENT_FSAL, "NFSDIO: export %u %s: read %s, write %s, rule %s",
		 x->exp->export_id, what, plugin_mode_name(x->params.read_mode),
		 plugin_mode_name(x->params.write_mode), plugin_rule_name(x->params.rule));
}

fsal_status_t plugin_export_create(struct fsal_module *module, void *node,
				   struct config_error_type *err,
				   const struct fsal_up_vector *up_ops)
{
	struct plugin_export *x;
	struct fsal_module *vfs;
	fsal_status_t st;
	struct args a;

	(void)module;
	vfs = read_args(node, err, &a);
	if (!vfs)
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	x = calloc(1, sizeof(*x));
	st = x ? vfs->m_ops.create_export(vfs, a.below.fsal_node, err, up_ops)
	       : fsalstat(ERR_FSAL_NOMEM, ENOMEM);
	if (FSAL_IS_ERROR(st)) {
		free(x);
	} else {
		x->exp = op_ctx->fsal_export;
		x->path = strdup(CTX_FULLPATH(op_ctx));
		x->params = a.p;
		x->open = (int (*)(struct vfs_fsal_obj_handle *, int, fsal_errors_t *))dlsym(
			vfs->dl_handle, "vfs_fsal_open");
		take_over(x);
		log_modes("added", x);
	}
	fsal_put(vfs);
	return st;
}

fsal_status_t plugin_export_update(struct fsal_module *module, void *node,
				   struct config_error_type *err, struct fsal_export *original,
				   struct fsal_module *super)
{
	struct plugin_export *x = plugin_export_find(original);
	struct fsal_module *vfs;
	fsal_status_t st;
	struct args a;

	(void)module;
	if (!x) {
		LogCrit(COMPONENT_FSAL,
			"NFSDIO: an export becomes or ceases to be ours by a restart only");
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	}
	vfs = read_args(node, err, &a);
	if (!vfs)
		return fsalstat(ERR_FSAL_INVAL, EINVAL);
	st = vfs->m_ops.update_export(vfs, a.below.fsal_node, err, original, super);
	fsal_put(vfs);
	fsal_put(vfs); /* the block inside ours has taken one more, as when the export came */
	if (FSAL_IS_ERROR(st))
		return st;
	plugin_stats_log(x);
	pthread_rwlock_wrlock(&lock);
	x->params = a.p;
	atomic_fetch_add(&x->generation, 1);
	pthread_rwlock_unlock(&lock);
	log_modes("updated", x);
	return st;
}
