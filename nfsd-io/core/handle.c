/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include "nfsd-io/core/handle.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nfsd-io/core/handle_memo.h"
#include "nfsd-io/core/khandle.h"
#include "nfsd-io/core/pathmap.h"
#include "nfsd-io/core/siphash.h"

#define HANDLE_VERSION 1
#define HANDLE_HEAD 16 /* bytes before the kernel handle */
#define HANDLE_MAC 8

_Static_assert(HANDLE_KERNEL_MAX == HANDLE_MAX - HANDLE_HEAD - HANDLE_MAC, "layout");
_Static_assert(KHANDLE_MAX == HANDLE_KERNEL_MAX, "what the kernel gives fits the wire");

struct handle_key {
	struct siphash_key sip;
};

int handle_key_new(struct handle_key **out, const uint8_t secret[HANDLE_KEY_LEN])
{
	struct handle_key *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	for (int i = 0; i < HANDLE_KEY_LEN; i++)
		k->sip.k[i / 8] |= (uint64_t)secret[i] << i % 8 * 8;
	*out = k;
	return 0;
}

void handle_key_free(struct handle_key *k)
{
	if (k)
		explicit_bzero(k, sizeof(*k));
	free(k);
}

static uint64_t handle_mac(const struct handle_key *k, const uint8_t *data, unsigned len)
{
	return htole64(siphash(&k->sip, data, len));
}

int handle_encode(const struct handle_key *k, const struct handle_parts *p, struct fh *out)
{
	uint8_t *d = out->data;
	unsigned len = HANDLE_HEAD + p->klen;
	uint64_t mac;

	if (p->klen > HANDLE_KERNEL_MAX || p->ktype < 0 || p->ktype > UINT8_MAX)
		return -EOVERFLOW;
	assert((p->kind == HANDLE_ROOT) == (p->klen == 0));
	d[0] = HANDLE_VERSION;
	d[1] = p->kind;
	d[2] = p->klen;
	d[3] = p->ktype;
	for (int i = 0; i < 4; i++)
		d[4 + i] = p->root_id >> (24 - 8 * i);
	memcpy(d + 8, p->fskey, sizeof(p->fskey));
	memcpy(d + HANDLE_HEAD, p->kdata, p->klen);
	mac = handle_mac(k, d, len);
	memcpy(d + len, &mac, HANDLE_MAC);
	out->len = len + HANDLE_MAC;
	return 0;
}

/* Is it of the shape handle_encode() gives?  Anything else was never ours. */
static bool handle_shape_ok(const uint8_t *d, unsigned len)
{
	if (len < HANDLE_HEAD + HANDLE_MAC || len > HANDLE_MAX || d[0] != HANDLE_VERSION)
		return false;
	if (len != HANDLE_HEAD + (unsigned)d[2] + HANDLE_MAC)
		return false;
	switch (d[1]) {
	case HANDLE_ROOT:
		return d[2] == 0;
	case HANDLE_FILE:
		return d[2] > 0;
	case HANDLE_PSEUDO:
		return d[2] == 8;
	default:
		return false;
	}
}

int handle_decode(const struct handle_key *k, const uint8_t *data, unsigned len,
		  struct handle_parts *out)
{
	uint64_t mac;

	if (!handle_shape_ok(data, len))
		return -EBADMSG;
	/* One comparison of whole words: nothing tells how much of a guess was right. */
	memcpy(&mac, data + len - HANDLE_MAC, HANDLE_MAC);
	if (mac != handle_mac(k, data, len - HANDLE_MAC))
		return -ESTALE;
	*out = (struct handle_parts){ .kind = data[1], .klen = data[2], .ktype = data[3] };
	for (int i = 0; i < 4; i++)
		out->root_id = out->root_id << 8 | data[4 + i];
	memcpy(out->fskey, data + 8, sizeof(out->fskey));
	memcpy(out->kdata, data + HANDLE_HEAD, out->klen);
	return 0;
}

static int handle_of_id(const struct handle_key *k, const struct root *r, const struct khandle *id,
			struct fh *out)
{
	struct handle_parts p = { .kind = HANDLE_ROOT, .root_id = r->id };

	memcpy(p.fskey, r->fskey, sizeof(p.fskey));
	if (!khandle_equal(id, &r->self)) {
		p.kind = HANDLE_FILE;
		p.ktype = id->type;
		p.klen = id->len;
		memcpy(p.kdata, id->data, id->len);
	}
	return handle_encode(k, &p, out);
}

int handle_of(const struct handle_key *k, struct root *r, int fd, struct fh *out)
{
	struct khandle id;
	int rc = r->path_mode ? khandle_identify(fd, &id) : khandle_of(fd, &id);

	if (rc == 0 && r->path_mode && !khandle_equal(&id, &r->self))
		rc = pathmap_learn_fd(r->paths, fd, &id);
	return rc < 0 ? rc : handle_of_id(k, r, &id, out);
}

int handle_of_child(const struct handle_key *k, struct root *r, int dirfd, const char *name, int fd,
		    struct fh *out)
{
	struct khandle id;
	int rc;

	if (!r->path_mode || !strcmp(name, ".") || !strcmp(name, ".."))
		return handle_of(k, r, fd, out);
	rc = khandle_identify(fd, &id);
	if (rc == 0 && !khandle_equal(&id, &r->self))
		rc = pathmap_learn(r->paths, dirfd, name, &id);
	return rc < 0 ? rc : handle_of_id(k, r, &id, out);
}

bool handle_recall(const struct handle_key *k, const struct root *r, const struct statx *x,
		   struct fh *out)
{
	struct khandle id;

	return root_tells_births(r) && handle_memo_find(x, &id) &&
	       handle_of_id(k, r, &id, out) == 0;
}

void handle_note(const struct root *r, const struct statx *x, const struct fh *fh)
{
	const uint8_t *d = fh->data;
	struct khandle id;

	if (!root_tells_births(r) || fh->len <= HANDLE_HEAD || d[1] != HANDLE_FILE)
		return;
	id = (struct khandle){ .type = d[3], .len = d[2] };
	memcpy(id.data, d + HANDLE_HEAD, id.len);
	handle_memo_note(x, &id);
}

/*
 * A mount on the name shows as another device: what may be told of that is not decided here.  The
 * root of another export may lie on this one.
 */
bool handle_glance(const struct handle_key *k, const struct root *r, int dirfd, const char *name,
		   struct statx *x, struct fh *out)
{
	if (!root_tells_births(r) || statx(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
					   STATX_BASIC_STATS | HANDLE_MEMO_MASK, x) < 0)
		return false;
	return makedev(x->stx_dev_major, x->stx_dev_minor) == r->dev && handle_recall(k, r, x, out);
}

int handle_open(struct root *r, const struct handle_parts *p)
{
	struct khandle id = { .type = p->ktype, .len = p->klen };
	int fd;

	if (p->kind == HANDLE_PSEUDO || p->root_id != r->id ||
	    memcmp(p->fskey, r->fskey, sizeof(p->fskey)))
		return -ESTALE;
	if (p->kind == HANDLE_ROOT) {
		fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	memcpy(id.data, p->kdata, p->klen);
	return r->path_mode ? pathmap_open(r->paths, &id) : khandle_open(r->mount_fd, &id);
}

void handle_names_lock(struct root *r)
{
	if (r->path_mode)
		pathmap_names_lock(r->paths);
}

void handle_names_unlock(struct root *r)
{
	if (r->path_mode)
		pathmap_names_unlock(r->paths);
}

void handle_note_rename(struct root *r, int olddir, const char *oldname, int newdir,
			const char *newname)
{
	if (r->path_mode)
		pathmap_moved(r->paths, olddir, oldname, newdir, newname);
}

void handle_note_remove(struct root *r, int dirfd, const char *name)
{
	if (r->path_mode)
		pathmap_removed(r->paths, dirfd, name);
}
