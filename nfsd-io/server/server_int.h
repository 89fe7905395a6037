/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What server.c runs and server_info.c tells about.  Set up
 * before the control socket opens; constant from then on.
 */
#ifndef SERVER_SERVER_INT_H
#define SERVER_SERVER_INT_H

#include <signal.h>

#include "nfsd-io/server/current.h"
#include "nfsd-io/server/groups.h"
#include "nfsd-io/server/placement.h"
#include "nfsd-io/server/port.h"
#include "nfsd-io/server/process.h"
#include "nfsd-io/server/server.h"

struct clientdir;
struct control;
struct portmap;

enum { EXIT_CONF = 6 };

struct server {
	struct current *current;
	struct proto_env env;
	struct connreg *conns;
	struct groups *groups;
	struct port *port;
	uint16_t number; /* the NFS port */
	struct worker *workers[ROOT_WORKERS];
	struct place_worker place[ROOT_WORKERS];
	struct placement placement;
	unsigned nworkers;
	struct control *control;
	struct clientdir *clientdir; /* the main thread's; NULL: none */
	struct portmap *portmap;
	struct process_fds fds;
	uint64_t start_time;
	sigset_t waited;
	int signal_fd, wake_fd;
	_Atomic bool stop;     /* asked for by the control socket */
	/* files are cached or NFSv4 has clients: the main thread wakes once a second */
	_Atomic bool sweeping;
	pid_t run;
	int status; /* to exit with */
};

/*
 * Fill s->env, s->conns and s->groups; 0 or -errno, logged.  What was
 * made is freed by the second, whatever the first said.
 */
int server_env_make(struct server *s, const struct conf *c);
void server_env_free(struct proto_env *env);
/* After they have had something to do. */
void server_name_iowq(const struct server *s);
/* Says in text[len] what of worker n could not be bound; false: nothing. */
bool server_worker_unbound(const struct server *s, unsigned n, char *text, size_t len);

#endif
