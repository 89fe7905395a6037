/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv4 state without a server around it: a clock of our own, clients of
 * either minor version, requests that only have what the state looks at, and
 * files that are never closed.
 */
#ifndef TESTS_LIB_HELDPLAY_H
#define TESTS_LIB_HELDPLAY_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/v4.h"

#define PLAY_SECOND UINT64_C(1000000000)

static uint64_t play_clock = 1000 * PLAY_SECOND;
static struct state4 *play_state;
static struct proto_env play_env;

/* What the walker of the COMPOUND would do. */
void v4_set_fh(struct req *r, const struct fh *fh, const struct handle_parts *p, struct file *file)
{
	(void)p;
	(void)file;
	r->fh = *fh;
}

uint32_t v4_room(struct req *r, uint32_t n)
{
	return cursor_left(&r->reply) < n ? NFS4ERR_RESOURCE : NFS4_OK;
}

static uint64_t play_now(void)
{
	return play_clock;
}

static void play_log(void *arg, int priority, const char *fmt, ...)
{
	(void)arg;
	(void)priority;
	(void)fmt;
}

static inline void play_begin(unsigned max_opens, unsigned max_locks)
{
	struct state4_params p = {
		.lease_s = 10,
		.max_opens = max_opens,
		.max_locks = max_locks,
		.max_read = 1 << 20,
		.max_write = 1 << 20,
		.log = play_log,
		.now_ns = play_now,
	};

	ck_assert_int_eq(state4_new(&play_state, &p), 0);
	play_env.state = play_state;
}

static inline void play_end(void)
{
	state4_free(play_state);
	play_state = NULL;
}

/* A confirmed client of 4.0; pinned. */
static inline struct state4_client *play_client(const char *name)
{
	struct state4_hello h = {.owner = (const uint8_t *)name,
				 .owner_len = (uint32_t)strlen(name),
				 .addr = "test"};
	struct state4_client *c;
	uint8_t confirm[STATE4_VERF];
	clientid4 id;

	ck_assert_uint_eq(state4_client_set(play_state, &h, &id, confirm), NFS4_OK);
	ck_assert_uint_eq(state4_client_confirm(play_state, id, confirm, &h.who), NFS4_OK);
	state4_lock(play_state);
	ck_assert_uint_eq(state4_client_find(play_state, id, true, &c), NFS4_OK);
	state4_client_get(c);
	state4_unlock(play_state);
	return c;
}

/* A request of minor version `minor`, by `c` (pinned for it) or by nobody yet. */
static inline struct req *play_req(uint32_t minor, struct state4_client *c, uint8_t fh)
{
	struct req *r = calloc(1, sizeof(*r));

	r->env = &play_env;
	r->fh.len = 1;
	r->fh.data[0] = fh;
	cursor_init(&r->reply, r->reply_buf, sizeof(r->reply_buf));
	v4(r)->minor = minor;
	v4(r)->client = c ? state4_client_get(c) : NULL;
	if (c && !minor)
		c->busy++;
	return r;
}

static inline void play_req_free(struct req *r)
{
	if (v4(r)->open)
		state4_open_put(v4(r)->open);
	if (v4(r)->client && !v4(r)->minor)
		v4(r)->client->busy--;
	if (v4(r)->client)
		state4_client_put(v4(r)->client);
	free(r);
}

static inline struct file *play_file(enum file_access a)
{
	static struct file pool[64];
	static unsigned n;
	struct file *f = &pool[n++ % 64];

	f->refs = 1 << 30;
	f->access = a;
	f->path_fd = f->fd = f->dio_fd = -1;
	return f;
}

/* An open by an owner of the client, with access and deny (numbers of modes); under the lock. */
static inline struct state4_open *play_open(struct state4_client *c, const char *owner, uint8_t fh,
					    unsigned access, unsigned deny)
{
	struct state4_owner *w =
		state4_owner_find(play_state, c, false, owner, (uint32_t)strlen(owner));
	struct fh h = {.len = 1, .data = {fh}};
	struct state4_file *f;
	struct state4_open *o;
	stateid4 id;

	if (!w)
		w = state4_owner_new(play_state, c, false, owner, (uint32_t)strlen(owner), 1);
	ck_assert_ptr_nonnull(w);
	w->confirmed = true;
	f = state4_file_make(play_state, &h);
	o = state4_open_find(f, w);
	if (state4_share_check(f, o, access, deny)) {
		state4_file_check(play_state, f);
		return NULL;
	}
	if (!o)
		o = state4_open_new(play_state, w, f, play_file(FILE_WRITE));
	if (!o)
		return NULL;
	state4_share_set(o, o->access | 1u << access, o->deny | 1u << deny);
	state4_id_bump(o, &id);
	return o;
}

static inline void play_drop(struct state4_open *o)
{
	struct state4_files *dead = NULL;

	state4_open_drop(play_state, o, false, &dead);
	state4_files_put(dead);
}

#endif
