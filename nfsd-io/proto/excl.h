/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The verifier of an exclusive create (RFC 1813 s.3.3.8, RFC 8881 s.18.16.3), in stable storage
 * with the file.  Offload threads.
 */
#ifndef PROTO_EXCL_H
#define PROTO_EXCL_H

#include <stdbool.h>
#include <stdint.h>

#define EXCL_XATTR "user.nfsdio.verifier"

/* As the server; `fd` is open for writing.  0 or -errno. */
int excl_store(int fd, const uint8_t verf[8]);
/* Does the object hold this very verifier? */
bool excl_matches(int path_fd, const uint8_t verf[8]);
/* The first SETATTR ends the verifier's life; as the server. */
void excl_drop(int path_fd);

#endif
