/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a client is and holds, as text that nfsdclnts(8)
 * reads: the YAML of nfsd's clients/N/info and states.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nfsd-io/core/container.h"
#include "nfsd-io/proto/state4_held.h"
#include "nfsd-io/proto/state4_show.h"

/* A stateid as it was under the lock; open and owner pinned. */
struct item {
	struct state4_open *open;
	struct state4_owner *owner;
	stateid4 id;
	unsigned access, deny;
};

void state4_show_quoted(FILE *out, const uint8_t *bytes, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		if (bytes[i] >= 0x20 && bytes[i] < 0x7f && bytes[i] != '\\' && bytes[i] != '"')
			fputc(bytes[i], out);
		else
			fprintf(out, "\\x%02x", bytes[i]);
	}
}

/* --- info -------------------------------------------------------------------------- */

static const char *callback_state(const struct state4_client *c)
{
	const struct state4_link *l;
	bool proven = false;

	for (l = c->sessions.next; l != &c->sessions; l = l->next) {
		const struct state4_session *n =
			container_of(l, const struct state4_session, of_client);

		if (n->cb.fault)
			return "FAULT";
		proven |= n->cb.proven && n->cb.reached;
	}
	if (!c->nasked)
		return "UNKNOWN"; /* it wants none, or speaks 4.0 */
	return !c->nreached ? "DOWN" : proven ? "UP" : "UNKNOWN";
}

static void put_info(FILE *out, struct state4 *s, const struct state4_client *c)
{
	fprintf(out, "clientid: 0x%llx\n", (unsigned long long)c->id);
	fprintf(out, "address: \"%s\"\n", c->addr);
	fprintf(out, "status: %s\n",
		!c->confirmed ? "unconfirmed"
		: c->courtesy ? "courtesy"
			      : "confirmed");
	fprintf(out, "seconds from last renew: %llu\n",
		(unsigned long long)((state4_now_ns(s) - c->renewed_ns) / STATE4_SECOND));
	fputs("name: \"", out);
	state4_show_quoted(out, c->owner, c->owner_len);
	fprintf(out, "\"\nminor version: %u\n", c->minor);
	fprintf(out, "callback state: %s\n", callback_state(c));
	fprintf(out, "callback address: \"%s\"\n", c->addr);
}

/* --- states ------------------------------------------------------------------------ */

static void take_item(struct item *i, struct state4_open *o)
{
	i->open = state4_open_get(o);
	i->owner = state4_owner_get(o->owner);
	state4_id_of(o, &i->id);
	i->access = state4_share_union(o->access);
	i->deny = state4_share_union(o->deny);
}

/* Under the lock: all of them, at most `max`. */
static unsigned take_items(struct state4_client *c, struct item *list, unsigned max)
{
	struct state4_owner *w;
	struct state4_link *l;
	unsigned n = 0;

	for (w = c->held.owners; w; w = w->next)
		for (l = w->opens.next; l != &w->opens && n < max; l = l->next)
			take_item(&list[n++], container_of(l, struct state4_open, of_owner));
	return n;
}

static void put_items(struct state4 *s, struct item *list, unsigned n)
{
	unsigned i;

	state4_lock(s);
	for (i = 0; i < n; i++)
		state4_owner_put(list[i].owner);
	state4_unlock(s);
	for (i = 0; i < n; i++)
		state4_open_put(list[i].open);
}

/* The last two names of its path, as nfsd. */
static void put_file(FILE *out, const struct file *f)
{
	char proc[48], path[4096];
	const char *name = path;
	struct stat st;
	unsigned slashes = 0;
	ssize_t n;

	if (fstat(f->path_fd, &st))
		return;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", f->path_fd);
	n = readlink(proc, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	for (const char *p = path + strlen(path); p > path && slashes < 2; p--) {
		if (p[-1] != '/')
			continue;
		if (++slashes == 2)
			name = p;
	}
	fprintf(out, "superblock: \"%02x:%02x:%llu\", filename: \"", major(st.st_dev),
		minor(st.st_dev), (unsigned long long)st.st_ino);
	state4_show_quoted(out, (const uint8_t *)name, (uint32_t)strlen(name));
	fputs("\", ", out);
}

static void put_state(FILE *out, const struct item *i)
{
	unsigned k;

	fprintf(out, "- 0x%08x", i->id.seqid);
	for (k = 0; k < sizeof(i->id.other); k++)
		fprintf(out, "%02x", (uint8_t)i->id.other[k]);
	if (i->open->lock) {
		fputs(": { type: lock, ", out);
	} else {
		fprintf(out, ": { type: open, access: %s%s, ", i->access & 1 ? "r" : "-",
			i->access & 2 ? "w" : "-");
		fprintf(out, "deny: %s%s, ", i->deny & 1 ? "r" : "-", i->deny & 2 ? "w" : "-");
	}
	if (i->open->file)
		put_file(out, i->open->file);
	fprintf(out, "owner: \"%s", i->open->lock ? "lock id:" : "open id:");
	state4_show_quoted(out, i->owner->name, i->owner->len);
	fputs("\" }\n", out);
}

/* --- both ---------------------------------------------------------------------------- */

/* Under the lock: `info`, and the states of now, pinned in *list. */
static int look(struct state4 *s, uint32_t number, FILE *info, struct item **list, unsigned *n)
{
	struct state4_client *c = state4_client_by_id(s, (uint64_t)s->boot << 32 | number, true);

	if (!c)
		return -ENOENT;
	put_info(info, s, c);
	*list = calloc(c->held.nopens + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	*n = take_items(c, *list, c->held.nopens);
	return 0;
}

int state4_show(struct state4 *s, uint32_t number, FILE *info, FILE *states)
{
	struct item *list = NULL;
	unsigned n = 0, i;
	int err;

	state4_lock(s);
	err = look(s, number, info, &list, &n);
	state4_unlock(s);
	for (i = 0; i < n; i++)
		put_state(states, &list[i]);
	put_items(s, list, n);
	free(list);
	return err;
}
