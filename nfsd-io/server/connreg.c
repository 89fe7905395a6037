/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "nfsd-io/server/connreg.h"

#define BUCKETS 1024 /* a power of two */

struct connreg {
	pthread_mutex_t lock;
	_Atomic unsigned count;
	uint64_t last;
	struct connreg_node *bucket[BUCKETS];
};

int connreg_new(struct connreg **out)
{
	struct connreg *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	*out = r;
	return 0;
}

void connreg_free(struct connreg *r)
{
	if (!r)
		return;
	assert(!r->count);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct connreg_node **bucket_of(struct connreg *r, uint64_t number)
{
	return &r->bucket[number % BUCKETS];
}

void connreg_add(struct connreg *r, struct connreg_node *n, int fd)
{
	struct connreg_node **b;

	pthread_mutex_lock(&r->lock);
	n->number = ++r->last;
	n->fd = fd;
	b = bucket_of(r, n->number);
	n->next = *b;
	*b = n;
	r->count++;
	pthread_mutex_unlock(&r->lock);
}

void connreg_remove(struct connreg *r, struct connreg_node *n)
{
	struct connreg_node **p;

	pthread_mutex_lock(&r->lock);
	for (p = bucket_of(r, n->number); *p != n; p = &(*p)->next)
		assert(*p);
	*p = n->next;
	r->count--;
	pthread_mutex_unlock(&r->lock);
}

unsigned connreg_count(const struct connreg *r)
{
	return r->count;
}

/* A peer that went away without a word shows as retransmissions long before the socket errs. */
static bool acknowledging(int fd)
{
	struct tcp_info ti = {0};
	socklen_t len = sizeof(ti);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len))
		return false;
	return ti.tcpi_state == TCP_ESTABLISHED && !ti.tcpi_retransmits && !ti.tcpi_backoff;
}

/* Under the lock. */
static struct connreg_node *find(struct connreg *r, uint64_t number)
{
	struct connreg_node *n = *bucket_of(r, number);

	while (n && n->number != number)
		n = n->next;
	return n;
}

bool connreg_alive(void *reg, uint64_t number)
{
	struct connreg *r = reg;
	struct connreg_node *n;
	bool alive;

	pthread_mutex_lock(&r->lock);
	n = find(r, number);
	alive = n && acknowledging(n->fd);
	pthread_mutex_unlock(&r->lock);
	return alive;
}

int connreg_post(struct connreg *r, uint64_t number, struct op *op)
{
	struct connreg_node *n;

	/* Under the lock the connection stays, and with it its ring. */
	pthread_mutex_lock(&r->lock);
	n = find(r, number);
	if (n)
		ring_post(n->ring, op, 0);
	pthread_mutex_unlock(&r->lock);
	return n ? 0 : -ENOTCONN;
}

struct connreg_node *connreg_find(struct connreg *r, uint64_t number)
{
	struct connreg_node *n;

	pthread_mutex_lock(&r->lock);
	n = find(r, number);
	pthread_mutex_unlock(&r->lock);
	return n;
}
