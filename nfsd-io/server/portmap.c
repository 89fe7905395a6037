/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Not libtirpc's rpcb_set(): that waits up to a minute for a deaf rpcbind, and
 * this is three small calls.
 */
#include "config.h"

#include "nfsd-io/server/portmap.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/server/log.h"
#include "rpc/cursor.h"
#include "rpc/record.h"

#define RPCBIND_SOCKET "/run/rpcbind.sock"
#define RPCBIND_PORT 111
#define SESSION_MS 2000
#define RETRY_MIN_MS 250
#define RETRY_MAX_MS 60000

/* RFC 1833 s.2.2.1 */
#define RPCB_PROG 100000
#define RPCB_VERS 3
enum { RPCB_NULL, RPCB_SET, RPCB_UNSET };

struct portmap {
	pthread_t thread;
	int stop_fd; /* readable when the thread is to end */
	bool expected;
	unsigned networks, n;
	struct portmap_entry entry[];
};

/* One connection to rpcbind, with one deadline for all that is asked over it. */
struct session {
	int fd;
	int64_t deadline_ms;
	uint32_t xid;
	unsigned replaced; /* mappings that were there already */
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int wait_for(const struct session *s, short events)
{
	struct pollfd p = {.fd = s->fd, .events = events};
	int64_t left;
	int n;

	do {
		left = s->deadline_ms - now_ms();
		n = left > 0 ? poll(&p, 1, (int)left) : 0;
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return -ETIMEDOUT;
	return n < 0 ? -errno : 0;
}

/* Send or receive exactly len bytes. */
static int transfer(const struct session *s, void *buf, size_t len, bool out)
{
	uint8_t *p = buf;
	ssize_t n;
	int r;

	while (len) {
		n = out ? send(s->fd, p, len, MSG_NOSIGNAL) : recv(s->fd, p, len, 0);
		if (n == 0)
			return -ECONNRESET;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = wait_for(s, out ? POLLOUT : POLLIN);
		if (r)
			return r;
	}
	return 0;
}

static int connect_to(struct session *s, int family, const void *addr, socklen_t len)
{
	int err = 0, r;

	s->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	/*
	 * Over TCP, rpcbind listens only to a privileged port;
	 * over its own socket it sees who we are.
	 */
	if (family == AF_INET)
		bindresvport(s->fd, NULL);
	if (connect(s->fd, addr, len) == 0)
		return 0;
	r = errno == EINPROGRESS ? wait_for(s, POLLOUT) : -errno;
	len = sizeof(err);
	if (r == 0 && getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (r == 0 && err)
		r = -err;
	if (r)
		close(s->fd);
	return r;
}

static int session_open(struct session *s)
{
	const struct sockaddr_un local = {.sun_family = AF_UNIX, .sun_path = RPCBIND_SOCKET};
	const struct sockaddr_in loopback = {.sin_family = AF_INET,
					     .sin_port = htons(RPCBIND_PORT),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	s->deadline_ms = now_ms() + SESSION_MS;
	s->xid = (uint32_t)now_ms();
	s->replaced = 0;
	if (connect_to(s, AF_UNIX, &local, sizeof(local)) == 0)
		return 0;
	return connect_to(s, AF_INET, &loopback, sizeof(loopback));
}

/* One record in, one fragment as every rpcbind sends it.  Its length, or -errno. */
static int receive_record(const struct session *s, uint8_t *buf, size_t size)
{
	struct cursor c;
	uint8_t mark[4];
	uint32_t len;
	int r = transfer(s, mark, sizeof(mark), false);

	if (r)
		return r;
	cursor_init(&c, mark, sizeof(mark));
	len = cursor_get_u32(&c);
	if (!(len & RECORD_LAST) || (len & ~RECORD_LAST) > size)
		return -EPROTO;
	len &= ~RECORD_LAST;
	r = transfer(s, buf, len, false);
	return r ? r : (int)len;
}

/* The success reply's body: rpcbind's boolean, or for NULL nothing.  1, 0 or -errno. */
static int decode_reply(const uint8_t *buf, size_t len, uint32_t xid, uint32_t proc)
{
	struct cursor c;
	uint32_t verf;
	bool good;

	cursor_init_const(&c, buf, len);
	good = cursor_get_u32(&c) == xid;
	good &= cursor_get_u32(&c) == 1; /* REPLY */
	good &= cursor_get_u32(&c) == 0; /* MSG_ACCEPTED */
	cursor_get_u32(&c);
	cursor_get_opaque(&c, 400, &verf);
	good &= cursor_get_u32(&c) == 0; /* SUCCESS */
	if (!good || !cursor_ok(&c))
		return -EPROTO;
	if (proc == RPCB_NULL)
		return 1;
	good = cursor_get_bool(&c);
	return cursor_ok(&c) ? good : -EPROTO;
}

static void put_string(struct cursor *c, const char *s)
{
	cursor_put_opaque(c, s, (uint32_t)strlen(s));
}

/* Call a procedure; e, netid and uaddr are its struct rpcb.  1 or 0 as it answered, or -errno. */
static int ask(struct session *s, uint32_t proc, const struct portmap_entry *e, const char *netid,
	       const char *uaddr)
{
	uint8_t buf[512];
	struct cursor c;
	int r;

	cursor_init(&c, buf, sizeof(buf));
	cursor_reserve(&c, 4);
	cursor_put_u32(&c, ++s->xid);
	cursor_put_u32(&c, 0); /* CALL */
	cursor_put_u32(&c, 2);
	cursor_put_u32(&c, RPCB_PROG);
	cursor_put_u32(&c, RPCB_VERS);
	cursor_put_u32(&c, proc);
	for (int i = 0; i < 4; i++)
		cursor_put_u32(&c, 0); /* AUTH_NONE, twice */
	if (proc != RPCB_NULL) {
		cursor_put_u32(&c, e->prog);
		cursor_put_u32(&c, e->vers);
		put_string(&c, netid);
		put_string(&c, uaddr);
		put_string(&c, ""); /* owner: rpcbind knows better */
	}
	record_mark(buf, (uint32_t)cursor_pos(&c) - 4);
	r = transfer(s, buf, cursor_pos(&c), true);
	if (r == 0)
		r = receive_record(s, buf, sizeof(buf));
	return r < 0 ? r : decode_reply(buf, (size_t)r, s->xid, proc);
}

bool portmap_answers(void)
{
	struct session s;
	bool yes;

	if (session_open(&s))
		return false;
	yes = ask(&s, RPCB_NULL, NULL, NULL, NULL) == 1;
	close(s.fd);
	return yes;
}

/* Universal address (RFC 5665 s.5.2.3): the host's, then the port's two bytes in decimal. */
static int set(struct session *s, const struct portmap_entry *e, const char *netid, const char *any)
{
	char uaddr[64];
	int r;

	snprintf(uaddr, sizeof(uaddr), "%s.%u.%u", any, (unsigned)e->port >> 8, e->port & 0xffu);
	/* What an instance that died left behind; no matter if there is nothing. */
	r = ask(s, RPCB_UNSET, e, netid, "");
	if (r < 0)
		return r;
	s->replaced += (unsigned)r;
	return ask(s, RPCB_SET, e, netid, uaddr);
}

static int each(const struct portmap *p, struct session *s, bool add)
{
	static const struct {
		unsigned network;
		const char *netid, *any;
	} nets[] = {{PORTMAP_TCP, "tcp", "0.0.0.0"}, {PORTMAP_TCP6, "tcp6", "::"}};
	int done = 0, r;

	for (unsigned i = 0; i < p->n; i++)
		for (unsigned k = 0; k < 2; k++) {
			if (!(p->networks & nets[k].network))
				continue;
			r = add ? set(s, &p->entry[i], nets[k].netid, nets[k].any)
				: ask(s, RPCB_UNSET, &p->entry[i], nets[k].netid, "");
			if (r < 0)
				return r;
			done += r;
		}
	return done;
}

/* Leaves `s` open when it is true.  `again`: it was before, so that only news is told. */
static bool register_all(const struct portmap *p, struct session *s, bool again)
{
	int done;

	if (session_open(s)) {
		if (!again)
			log_line(p->expected ? LOG_WARNING : LOG_INFO,
				 "rpcbind does not answer: clients must name the port when they "
				 "mount");
		return false;
	}
	done = each(p, s, true);
	if (done > 0) {
		if (!again || s->replaced < (unsigned)done)
			log_line(LOG_INFO, "registered with rpcbind%s: %d mappings",
				 again ? " again" : "", done);
		return true;
	}
	close(s->fd);
	if (again)
		return false;
	if (done < 0)
		log_line(LOG_WARNING, "rpcbind: registration failed: %s", strerror(-done));
	else
		log_line(LOG_WARNING, "rpcbind refused our registration: not ours to change?");
	return false;
}

static void unregister_all(const struct portmap *p)
{
	struct session s;

	if (session_open(&s))
		return; /* gone, and our mappings with it */
	each(p, &s, false);
	close(s.fd);
}

/* True: to stop.  False: `fd` (-1: none) has come to its end, or timeout_ms are over. */
static bool told_to_stop(const struct portmap *p, int fd, int timeout_ms)
{
	struct pollfd f[2] = {{.fd = p->stop_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};

	while (poll(f, 2, timeout_ms) < 0 && errno == EINTR)
		;
	return f[0].revents;
}

/*
 * The connection stays open: rpcbind keeps mappings in memory, and its end is how we learn that
 * another one may be there without them.
 */
static void *run(void *arg)
{
	struct portmap *p = arg;
	bool ever = false, stop = false;
	int pause = RETRY_MIN_MS;
	struct session s;

	for (unsigned turn = 0; !stop; turn++) {
		if (register_all(p, &s, turn)) {
			ever = true;
			pause = RETRY_MIN_MS;
			stop = told_to_stop(p, s.fd, -1);
			close(s.fd);
		}
		if (!stop)
			stop = told_to_stop(p, -1, ever || p->expected ? pause : -1);
		pause = pause < RETRY_MAX_MS / 2 ? pause * 2 : RETRY_MAX_MS;
	}
	if (ever)
		unregister_all(p);
	return NULL;
}

/* Signals are for the thread that waits for them. */
static int start_thread(struct portmap *p)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&p->thread, NULL, run, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r == 0)
		pthread_setname_np(p->thread, "nfsd-io/rpcbind");
	return r;
}

struct portmap *portmap_start(const struct portmap_entry *e, unsigned n, unsigned networks,
			      bool expected)
{
	struct portmap *p = calloc(1, sizeof(*p) + n * sizeof(*e));
	int r = ENOMEM;

	if (!p)
		goto fail;
	memcpy(p->entry, e, n * sizeof(*e));
	p->n = n;
	p->networks = networks;
	p->expected = expected;
	p->stop_fd = eventfd(0, EFD_CLOEXEC);
	r = p->stop_fd < 0 ? errno : start_thread(p);
	if (!r)
		return p;
	if (p->stop_fd >= 0)
		close(p->stop_fd);
fail:
	free(p);
	log_line(LOG_WARNING, "rpcbind: no registration: %s", strerror(r));
	return NULL;
}

void portmap_stop(struct portmap *p)
{
	if (!p)
		return;
	eventfd_write(p->stop_fd, 1);
	pthread_join(p->thread, NULL);
	close(p->stop_fd);
	free(p);
}
