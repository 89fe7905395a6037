/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replaces sync_file_range(2), by which the code asks a descriptor for a
 * write-back error it has not reported yet: the test says for which it has one.
 */
#ifndef TESTS_LIB_SYNCERR_H
#define TESTS_LIB_SYNCERR_H

/* `fd` has `err` (a positive errno) to report, once; -1: none has. */
void syncerr_set(int fd, int err);

#endif
