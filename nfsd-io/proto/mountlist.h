/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who mounted what, for MOUNT's DUMP: advisory, bounded, gone with the process.  Any thread. */
#ifndef PROTO_MOUNTLIST_H
#define PROTO_MOUNTLIST_H

#include <stddef.h>

#define MOUNTLIST_MAX 1024

struct mountlist;

int mountlist_new(struct mountlist **out); /* 0 or -ENOMEM */
void mountlist_free(struct mountlist *m);

/* Idempotent; the oldest entry makes room.  For want of memory the entry is left out. */
void mountlist_add(struct mountlist *m, const char *host, const char *path);
void mountlist_remove(struct mountlist *m, const char *host,
		      const char *path); /* path NULL: all of the host's */
unsigned mountlist_count(struct mountlist *m);
/* Newest first, under the lock. */
void mountlist_each(struct mountlist *m, void (*fn)(void *arg, const char *host, const char *path),
		    void *arg);

#endif
