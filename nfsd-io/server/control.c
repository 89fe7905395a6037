/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/control.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/server/control_verbs.h"
#include "nfsd-io/server/log.h"

#define CLIENTS_MAX 16
#define LINE_MAX_LEN 1024
#define IDLE_SECONDS 30 /* without a byte either way */
#define YIELD_SECONDS 1 /* and where another waits for the place */
#define BACKLOG 16

struct client {
	int fd; /* -1: free */
	bool may_change;
	char in[LINE_MAX_LEN];
	size_t nin;
	char *out; /* what is still to be sent, or NULL */
	size_t nout, sent;
	bool last; /* close when all is sent */
	time_t since;
};

struct control {
	struct server *server;
	pthread_t thread;
	bool serving; /* there is a thread */
	int listen_fd, wake_fd;
	char *path;
	dev_t dev; /* of our socket file: a successor's is not ours to remove */
	ino_t ino;
	struct client clients[CLIENTS_MAX];
};

static time_t now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static void client_close(struct client *c)
{
	close(c->fd);
	free(c->out);
	c->fd = -1;
	c->out = NULL;
}

static void client_append(struct client *c, const char *text, size_t len)
{
	char *more = realloc(c->out, c->nout + len + 1);

	if (!more) {
		c->last = true;
		return;
	}
	memcpy(more + c->nout, text, len);
	more[c->nout + len] = '\n';
	c->out = more;
	c->nout += len + 1;
}

static void client_answer(struct client *c, const json_t *lines)
{
	const json_t *o;
	size_t i;

	json_array_foreach(lines, i, o)
	{
		char *text = json_dumps(o, JSON_COMPACT);

		if (text)
			client_append(c, text, strlen(text));
		free(text);
	}
}

static void client_send(struct client *c)
{
	while (c->out && c->sent < c->nout) {
		ssize_t n = send(c->fd, c->out + c->sent, c->nout - c->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0) {
			if (errno != EAGAIN && errno != EINTR)
				client_close(c);
			return;
		}
		c->sent += (size_t)n;
		c->since = now_seconds();
	}
	free(c->out);
	c->out = NULL;
	c->nout = c->sent = 0;
	if (c->last)
		client_close(c);
}

/* One line at a time: the next is looked at when the answer is on its way. */
static void client_run(struct control *ctl, struct client *c)
{
	char *nl;

	while (c->fd >= 0 && !c->out && (nl = memchr(c->in, '\n', c->nin))) {
		size_t used = (size_t)(nl - c->in) + 1;
		json_t *lines = json_array();

		*nl = '\0';
		/* A NUL inside ends the line early; what is behind it is not read. */
		control_verbs_run(ctl->server, c->in, c->may_change, lines);
		memmove(c->in, c->in + used, c->nin - used);
		c->nin -= used;
		client_answer(c, lines);
		json_decref(lines);
		client_send(c);
	}
}

static void client_receive(struct control *ctl, struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->nin, sizeof(c->in) - c->nin, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_close(c);
		return;
	}
	c->since = now_seconds();
	c->nin += (size_t)n;
	client_run(ctl, c);
	if (c->fd >= 0 && !c->out && c->nin == sizeof(c->in)) {
		static const char too_long[] =
			"{\"ok\":false,\"code\":2,\"error\":\"line too long\"}";

		c->last = true;
		client_append(c, too_long, sizeof(too_long) - 1);
		client_send(c);
	}
}

/* Who may change: root, and whoever runs the server. */
static bool peer_may_change(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* A free place, or that of who has been silent longest: sixteen must not lock others out. */
static struct client *place(struct control *ctl)
{
	struct client *idlest = NULL;

	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &ctl->clients[i];

		if (c->fd < 0)
			return c;
		if (!idlest || c->since < idlest->since)
			idlest = c;
	}
	return now_seconds() - idlest->since > YIELD_SECONDS ? idlest : NULL;
}

/* Without a place they stay in the backlog. */
static void accept_client(struct control *ctl)
{
	static const char hello[] = "{\"nfsd-io\":\"" PACKAGE_VERSION "\",\"proto\":1}";
	struct client *c = place(ctl);
	int fd = c ? accept4(ctl->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

	if (fd < 0)
		return;
	if (c->fd >= 0)
		client_close(c);
	*c = (struct client){.fd = fd, .may_change = peer_may_change(fd), .since = now_seconds()};
	client_append(c, hello, sizeof(hello) - 1);
	client_send(c);
}

static void expire(struct control *ctl)
{
	time_t now = now_seconds();

	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		if (ctl->clients[i].fd >= 0 && now - ctl->clients[i].since >= IDLE_SECONDS)
			client_close(&ctl->clients[i]);
}

static void fill_polls(struct control *ctl, struct pollfd *p, bool *any)
{
	p[0] = (struct pollfd){.fd = ctl->wake_fd, .events = POLLIN};
	/* With all places taken, who comes next waits in the backlog until one may be had. */
	p[1] = (struct pollfd){.fd = place(ctl) ? ctl->listen_fd : -1, .events = POLLIN};
	*any = false;
	for (unsigned i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &ctl->clients[i];

		p[2 + i] = (struct pollfd){.fd = c->fd, .events = c->out ? POLLOUT : POLLIN};
		*any |= c->fd >= 0;
	}
}

static void *control_thread(void *arg)
{
	struct control *ctl = arg;
	struct pollfd p[2 + CLIENTS_MAX];
	bool any;

	pthread_setname_np(pthread_self(), "nfsd-io/control");
	for (;;) {
		fill_polls(ctl, p, &any);
		/* Woken by the clock only while somebody is connected. */
		if (poll(p, 2 + CLIENTS_MAX, any ? 1000 : -1) < 0)
			continue;
		if (p[0].revents)
			break;
		if (p[1].revents)
			accept_client(ctl);
		for (unsigned i = 0; i < CLIENTS_MAX; i++) {
			struct client *c = &ctl->clients[i];

			if (c->fd < 0 || c->fd != p[2 + i].fd || !p[2 + i].revents)
				continue;
			if (c->out) {
				client_send(c);
				client_run(ctl, c);
			} else {
				client_receive(ctl, c);
			}
		}
		expire(ctl);
	}
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		if (ctl->clients[i].fd >= 0)
			client_close(&ctl->clients[i]);
	return NULL;
}

/* 0 when the path is free or was left by a dead server (then it is gone). */
static int clear_stale(const struct sockaddr_un *sun)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (lstat(sun->sun_path, &st))
		err = errno == ENOENT ? 0 : -errno;
	else if (!S_ISSOCK(st.st_mode))
		err = -EEXIST;
	else if (!connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) || errno == EAGAIN)
		err = -EADDRINUSE;
	else if (errno == ECONNREFUSED)
		err = unlink(sun->sun_path) && errno != ENOENT ? -errno : 0;
	else
		err = -errno;
	close(fd);
	return err;
}

static void make_parent(const char *path)
{
	char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;

	if (slash && slash != copy) {
		*slash = '\0';
		mkdir(copy, 0755); /* bind() tells what is wrong */
	}
	free(copy);
}

static void give_to_group(const char *path, const char *name)
{
	struct group *g = name && *name ? getgrnam(name) : NULL;

	if (name && *name && !g)
		log_line(LOG_WARNING,
			 "[control] group: no group %s: only the socket's owner may use %s", name,
			 path);
	else if (g && chown(path, (uid_t)-1, g->gr_gid) && !geteuid())
		log_line(LOG_WARNING, "[control] group: %s: %s", path, strerror(errno));
}

static int listen_at(struct control *ctl, const struct conf *conf, const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct stat st;
	int err;

	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	make_parent(path);
	err = clear_stale(&sun);
	if (err)
		return err;
	ctl->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The mode of the descriptor is the file's from its first moment. */
	if (ctl->listen_fd < 0 || fchmod(ctl->listen_fd, conf->socket_mode) ||
	    bind(ctl->listen_fd, (struct sockaddr *)&sun, sizeof(sun)))
		return -errno;
	ctl->path = strdup(path);
	if (!lstat(path, &st)) {
		ctl->dev = st.st_dev;
		ctl->ino = st.st_ino;
	}
	give_to_group(path, conf->socket_group);
	/* chown() clears no mode bits of a socket, but a umask may have at bind(). */
	chmod(path, conf->socket_mode);
	return ctl->path && !listen(ctl->listen_fd, BACKLOG) ? 0 : -errno;
}

/*
 * Nobody configured the embedded default's socket, and several may run at a
 * time: the second takes a name of its own.
 */
static int listen_somewhere(struct control *ctl, const struct conf *conf)
{
	int err = listen_at(ctl, conf, conf->socket);
	char *own;

	if (err != -EADDRINUSE || !conf->embedded)
		return err;
	if (asprintf(&own, "%s.%d", conf->socket, (int)getpid()) < 0)
		return -ENOMEM;
	err = listen_at(ctl, conf, own);
	if (!err)
		log_line(LOG_NOTICE, "another server answers at %s: the control socket is %s",
			 conf->socket, own);
	free(own);
	return err;
}

static void control_free(struct control *ctl)
{
	struct stat st;

	if (ctl->path && !lstat(ctl->path, &st) && st.st_dev == ctl->dev && st.st_ino == ctl->ino)
		unlink(ctl->path);
	if (ctl->listen_fd >= 0)
		close(ctl->listen_fd);
	if (ctl->wake_fd >= 0)
		close(ctl->wake_fd);
	free(ctl->path);
	free(ctl);
}

int control_open(struct control **out, struct server *s)
{
	struct control *ctl = calloc(1, sizeof(*ctl));
	int err;

	if (!ctl)
		return -ENOMEM;
	ctl->server = s;
	ctl->listen_fd = -1;
	for (unsigned i = 0; i < CLIENTS_MAX; i++)
		ctl->clients[i].fd = -1;
	ctl->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = ctl->wake_fd < 0 ? -errno : listen_somewhere(ctl, server_conf(s));
	if (err)
		control_free(ctl);
	else
		*out = ctl;
	return err;
}

int control_serve(struct control *ctl)
{
	int err = -pthread_create(&ctl->thread, NULL, control_thread, ctl);

	ctl->serving = !err;
	return err;
}

const char *control_path(const struct control *c)
{
	return c->path;
}

void control_stop(struct control *ctl)
{
	uint64_t one = 1;

	if (!ctl)
		return;
	while (write(ctl->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	if (ctl->serving)
		pthread_join(ctl->thread, NULL);
	control_free(ctl);
}
