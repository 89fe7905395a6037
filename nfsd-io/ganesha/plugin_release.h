/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that depends on the release of nfs-ganesha.  ganesha loads a plugin
 * only when the major number of the FSAL API is the same, so this is about
 * compiling: one plugin a release.
 */
#ifndef GANESHA_PLUGIN_RELEASE_H
#define GANESHA_PLUGIN_RELEASE_H

#include <dlfcn.h>

#include <fsal.h>
#include <FSAL/fsal_commonlib.h>
#include <FSAL/fsal_config.h>
#include <FSAL/fsal_init.h>
#include <FSAL/fsal_localfs.h>
#include <config_parsing.h>
#include <export_mgr.h>
#include <fsal_convert.h>
#include <vfs_methods.h>

#if FSAL_MAJOR_VERSION != 11
#error "the FSAL API of nfs-ganesha 4.x (major 11) is what this is written for"
#endif

/*
 * Bytes of one READ or WRITE the export takes, at most: told to ganesha, which cuts what is longer.
 */
#define PLUGIN_MAX_IO (1u << 20)

static inline struct vfs_fsal_obj_handle *plugin_vfs_of(struct fsal_obj_handle *obj)
{
	return container_of(obj, struct vfs_fsal_obj_handle, obj_handle);
}

/*
 * Do the structures of this libfsalvfs.so lie as its headers said?  They hang
 * on options of its build.  `key` is what its handle_to_key() tells of `obj`.
 */
static inline bool plugin_layout_fits(struct fsal_obj_handle *obj, const struct fsal_export *exp,
				      const struct gsh_buffdesc *key)
{
	struct vfs_fsal_obj_handle *vfs = plugin_vfs_of(obj);

	return (void *)vfs->handle->handle_data == key->addr && vfs->up_ops == exp->up_ops;
}

/*
 * May this READ or WRITE go on beside the share reservations there are?  As
 * VFS finds it out: by the state where that has the access, else by the file's
 * counters.  A descriptor is not opened.
 */
static inline fsal_status_t plugin_check_share(struct fsal_obj_handle *obj, bool bypass,
					       struct state_t *state, fsal_openflags_t access)
{
	bool locked = false, unused = false;
	fsal_status_t st =
		fsal_find_fd(NULL, obj, NULL, &plugin_vfs_of(obj)->u.file.share, bypass, state,
			     access, NULL, NULL, &locked, &unused, false, &unused);

	if (locked)
		pthread_rwlock_unlock(&obj->obj_lock);
	return st;
}

typedef void *plugin_rpc_malloc_t(size_t n, const char *file, int line, const char *function);

/*
 * Have ntirpc take memory for what it receives and decodes, and give it back,
 * by these functions; `others`: the one it took it by.  Before it has any
 * threads.  What it takes is often given back by free(): all is ganesha's heap.
 */
static inline bool plugin_rpc_allocate_with(plugin_rpc_malloc_t *malloc_by,
					    void (*free_by)(void *p, size_t n),
					    plugin_rpc_malloc_t **others)
{
	bool (*control)(u_int what, void *arg) =
		(bool (*)(u_int, void *))dlsym(RTLD_DEFAULT, "tirpc_control");
	tirpc_pkg_params p;

	if (!control || !control(TIRPC_GET_PARAMETERS, &p))
		return false;
	*others = p.malloc_;
	p.malloc_ = malloc_by;
	p.free_size_ = free_by;
	return control(TIRPC_PUT_PARAMETERS, &p);
}

/* Must all be done as one user, whom nothing switches?  An option of VFS. */
static inline bool plugin_one_user(const struct fsal_module *vfs)
{
	return container_of(vfs, const struct vfs_fsal_module, module)->only_one_user;
}

#endif
