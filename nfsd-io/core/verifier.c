/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/core/verifier.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

/* Random; where the system has no entropy yet, the time, which differs from start to start too. */
static uint64_t fresh(uint64_t old)
{
	struct timespec now;
	uint64_t v;

	do {
		if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != sizeof(v)) {
			clock_gettime(CLOCK_REALTIME, &now);
			v = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		}
	} while (v == old);
	return v;
}

void verifier_init(struct verifier *v)
{
	atomic_store(&v->value, fresh(0));
	atomic_store(&v->bumps, 0);
}

uint64_t verifier_get(const struct verifier *v)
{
	return atomic_load(&v->value);
}

void verifier_error(struct verifier *v, int err)
{
	if (err == -EAGAIN || err == -ESTALE || err == -EINTR)
		return;
	atomic_store(&v->value, fresh(atomic_load(&v->value)));
	atomic_fetch_add(&v->bumps, 1);
}
