/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The write verifier (RFC 1813 s.3.3.7): one per instance, random at start,
 * new after any write-back error, so that clients send unstable data again.
 * All functions: any thread.
 */
#ifndef CORE_VERIFIER_H
#define CORE_VERIFIER_H

#include <stdatomic.h>
#include <stdint.h>

struct verifier {
	_Atomic uint64_t value;
	_Atomic uint64_t bumps;
};

void verifier_init(struct verifier *v);
uint64_t verifier_get(const struct verifier *v);
/*
 * Call before the erring reply is queued.  -EAGAIN,
 * -ESTALE and -EINTR change nothing (knfsd's rule).
 */
void verifier_error(struct verifier *v, int err);

#endif
