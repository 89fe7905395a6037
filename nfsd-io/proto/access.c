/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/proto/access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/core/attr.h"

#define GROUPS_NS (60 * UINT64_C(1000000000)) /* looked-up groups are believed this long */

void access_forget(struct req_owner *o)
{
	for (unsigned i = 0; i < REQ_IDENTITIES; i++)
		cred_put(o->identities[i].cred);
	memset(o->identities, 0, sizeof(o->identities));
	memset(o->matches, 0, sizeof(o->matches));
}

const struct export_client *access_client(struct req *r, const struct export *e)
{
	struct req_owner *o = r->owner;
	struct req_match *m;

	if (!e->root)
		return NULL;
	if (o->generation != r->table->generation) {
		access_forget(o);
		o->generation = r->table->generation;
	}
	m = &o->matches[e->root->id % REQ_MATCHES];
	if (!m->known || m->root_id != e->root->id) {
		m->client = export_client_match(e, &o->peer);
		m->root_id = e->root->id;
		m->known = true;
	}
	return m->client;
}

int access_check_opts(const struct req *r, const struct export_opts *o)
{
	if (o->secure && !r->owner->peer.secure_port)
		return -EPERM;
	if (o->sec_other || (r->hdr.cred.flavor == RPCCRED_AUTH_NONE && !o->sec_none))
		return -EKEYREJECTED;
	return 0;
}

bool access_needs_groups(const struct req *r)
{
	return r->env->manage_gids && r->env->groups && r->hdr.cred.flavor == RPCCRED_AUTH_SYS &&
	       !r->opts->all_squash && cred_switchable();
}

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct req_identity *identity_slot(const struct req *r)
{
	return &r->owner->identities[(r->hdr.cred.uid ^ r->opts->anonuid) % REQ_IDENTITIES];
}

static bool identity_is(const struct req_identity *i, const struct req *r)
{
	const struct rpccred *rc = &r->hdr.cred;

	return i->cred && i->opts == r->opts && i->flavor == rc->flavor && i->uid == rc->uid &&
	       i->gid == rc->gid && i->ngids == rc->ngids &&
	       !memcmp(i->gids, rc->gids, rc->ngids * sizeof(i->gids[0]));
}

/* Fill r->cred from what the connection remembers. */
static bool recall(struct req *r)
{
	const struct req_identity *i = identity_slot(r);

	if (!identity_is(i, r) || (access_needs_groups(r) && clock_ns() >= i->until_ns))
		return false;
	r->cred = cred_get(i->cred);
	return true;
}

void access_remember(struct req *r)
{
	const struct rpccred *rc = &r->hdr.cred;
	struct req_identity *i;

	/* Options of a table that was replaced meanwhile are not to be found again. */
	if (!r->cred || !r->opts || r->owner->generation != r->table->generation)
		return;
	i = identity_slot(r);
	if (i->cred == r->cred)
		return;
	cred_put(i->cred);
	i->opts = r->opts;
	i->flavor = rc->flavor;
	i->uid = rc->uid;
	i->gid = rc->gid;
	i->ngids = rc->ngids;
	memcpy(i->gids, rc->gids, sizeof(i->gids));
	i->until_ns = access_needs_groups(r) ? clock_ns() + GROUPS_NS : 0;
	i->cred = cred_get(r->cred);
}

int access_cred(struct req *r)
{
	const struct rpccred *rc = &r->hdr.cred;
	gid_t *gids = NULL;
	unsigned n = 0;
	int err = 0;

	if (r->cred)
		return 0;
	if (access_needs_groups(r)) {
		err = r->env->groups(r->env->arg, rc->uid, rc->gid, &gids, &n);
		/* A uid without a name has no groups beyond its own. */
		if (err == -ENOENT)
			err = 0;
		if (err)
			return err;
		r->cred = export_squash(r->opts, rc, gids ? gids : &(gid_t){0}, n);
		free(gids);
	} else {
		r->cred = export_squash(r->opts, rc, NULL, 0);
	}
	return r->cred ? 0 : -ENOMEM;
}

int access_enter(struct req *r, const uint8_t *fh, uint32_t len, bool modifies)
{
	int err = handle_decode(r->env->key, fh, len, &r->parts);

	return err ? err : access_enter_parts(r, fh, len, modifies);
}

int access_enter_parts(struct req *r, const uint8_t *fh, uint32_t len, bool modifies)
{
	const struct export_client *c;
	int err;

	r->fh.len = (uint8_t)len;
	memcpy(r->fh.data, fh, len);
	if (!r->table)
		r->table = r->env->exports(r->env->arg);
	r->export = r->table ? export_by_root_id(r->table, r->parts.root_id) : NULL;
	if (!r->export || memcmp(r->export->root->fskey, r->parts.fskey, sizeof(r->parts.fskey)))
		return -ESTALE;
	c = access_client(r, r->export);
	if (!c)
		return -EACCES;
	r->opts = &c->opts;
	err = access_check_opts(r, r->opts);
	if (err)
		return err;
	if (modifies && !r->opts->rw)
		return -EROFS;
	if (recall(r) || access_needs_groups(r))
		return 0;
	err = access_cred(r);
	access_remember(r);
	return err;
}

bool access_mode(const struct stat *st, const struct cred *c, unsigned want)
{
	unsigned bits = st->st_mode & 7;

	if (c->uid == 0 || c->uid == st->st_uid)
		return true;
	if (cred_in_group(c, st->st_gid))
		bits = (st->st_mode >> 3) & 7;
	return bits & want;
}

/* also what an id without a mapping is shown as: such have rules of their own */
#define NOBODY 65534

int access_known(struct root *root, const struct file *f, const struct stat *st,
		 const struct cred *c)
{
	unsigned flags = root_mount_flags(root), bits = st->st_mode;

	if (!cred_overrides() || !root_plain_modes(root) || st->st_uid == NOBODY ||
	    st->st_gid == NOBODY || attr_acl(f))
		return -1;
	if (c->uid == st->st_uid)
		bits >>= 6;
	else if (cred_in_group(c, st->st_gid))
		bits >>= 3;
	if (c->uid == 0)
		bits |= R_OK | W_OK | (S_ISDIR(st->st_mode) || (st->st_mode & 0111) ? X_OK : 0);
	if (attr_immutable(f) || (flags & ST_RDONLY))
		bits &= ~(unsigned)W_OK;
	if ((flags & ST_NOEXEC) && S_ISREG(st->st_mode))
		bits &= ~(unsigned)X_OK;
	return bits & (R_OK | W_OK | X_OK);
}

int access_kernel(int fd, int mode)
{
	/*
	 * The system call itself: the C library's wrapper may emulate, and would ask for the
	 * process.
	 */
	return syscall(SYS_faccessat2, fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) ? -errno : 0;
}

struct right {
	uint32_t bit;
	int mode;
	bool modifies;
};

static const struct right dir_rights[] = {
	{ACCESS_READ, R_OK, false},          {ACCESS_LOOKUP, X_OK, false},
	{ACCESS_MODIFY, W_OK | X_OK, true},  {ACCESS_EXTEND, W_OK | X_OK, true},
	{ACCESS_DELETE, W_OK | X_OK, true},  {ACCESS_XAREAD, R_OK, false},
	{ACCESS_XAWRITE, W_OK, true},        {ACCESS_XALIST, R_OK, false},
	{0, 0, false},
};

static const struct right file_rights[] = {
	{ACCESS_READ, R_OK, false},    {ACCESS_MODIFY, W_OK, true},  {ACCESS_EXTEND, W_OK, true},
	{ACCESS_EXECUTE, X_OK, false}, {ACCESS_XAREAD, R_OK, false}, {ACCESS_XAWRITE, W_OK, true},
	{ACCESS_XALIST, R_OK, false},  {0, 0, false},
};

/* `known`: from access_known(); -1: the kernel is asked. */
static uint32_t rights(const struct req *r, uint32_t asked, uint32_t *supported, int known)
{
	const struct right *t = S_ISDIR(r->file->type) ? dir_rights : file_rights;
	uint32_t got = 0;

	*supported = 0;
	for (; t->bit; t++) {
		if (!(asked & t->bit))
			continue;
		*supported |= t->bit;
		if (t->modifies && !r->opts->rw)
			continue;
		if (known < 0 ? !access_kernel(r->file->path_fd, t->mode) : !(t->mode & ~known))
			got |= t->bit;
	}
	return got;
}

uint32_t access_rights(const struct req *r, uint32_t asked, uint32_t *supported)
{
	return rights(r, asked, supported, -1);
}

bool access_rights_known(const struct req *r, const struct stat *st, uint32_t asked,
			 uint32_t *supported, uint32_t *granted)
{
	int known = access_known(r->export->root, r->file, st, r->cred);

	if (known >= 0)
		*granted = rights(r, asked, supported, known);
	return known >= 0;
}
