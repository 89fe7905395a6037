/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a ring's thread learns about a file holds for all that arrived with the
 * same batch of completions: calls received and I/O finished by then are older
 * than the look, so that one system call serves them all.  On other threads,
 * and outside ring_run(), every question is asked anew.
 */
#ifndef CORE_ATTR_H
#define CORE_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "nfsd-io/core/file.h"

struct statx;

/* For a file's `serial` when it is made. */
uint64_t attr_serial(void);

/* Basic attributes in the form of fstat(). */
void attr_of_statx(struct stat *st, const struct statx *x);

/* As fstat; 0 or -errno. */
int attr_stat(const struct file *f, struct stat *st);
/* Nobody may change it, whatever its mode says; true when that cannot be told. */
bool attr_immutable(const struct file *f);
/*
 * Has it an access ACL, so that its mode does not say who may?  Needs no open
 * file; true when that cannot be told.
 */
bool attr_acl(const struct file *f);
/* This very thread has just changed `f` by a system call of its own. */
void attr_forget(const struct file *f);

#endif
