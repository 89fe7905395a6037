/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nfsd-io/core/pathmap.h"
#include "nfsd-io/proto/idmap.h"
#include "nfsd-io/proto/mount3.h"
#include "nfsd-io/proto/state4.h"
#include "nfsd-io/server/clientdir.h"
#include "nfsd-io/server/control.h"
#include "nfsd-io/server/current.h"
#include "nfsd-io/server/groups.h"
#include "nfsd-io/server/log.h"
#include "nfsd-io/server/netdev.h"
#include "nfsd-io/server/notify.h"
#include "nfsd-io/server/port.h"
#include "nfsd-io/server/portmap.h"
#include "nfsd-io/server/process.h"
#include "nfsd-io/server/run.h"
#include "nfsd-io/server/server_int.h"
#include "nfsd-io/server/worker.h"

#define SECOND 1000000000ull
#define DRAIN_NS (20 * SECOND)
#define ABORT_NS (5 * SECOND)
#define SWEEP_MS 1000

static void wake(struct server *s)
{
	uint64_t one = 1;

	if (write(s->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		log_line(LOG_ERR, "eventfd: %s", strerror(errno));
}

/* Is there what one day must be closed, or clients whose leases pass? */
static bool must_sweep(const struct server *s)
{
	return fdcache_count(s->env.files) || (s->env.state && state4_active(s->env.state));
}

/* After each turn of each worker: files were perhaps opened, or clients came. */
static void turned(void *arg)
{
	struct server *s = arg;

	if (atomic_load_explicit(&s->sweeping, memory_order_relaxed) || !must_sweep(s))
		return;
	if (!atomic_exchange(&s->sweeping, true))
		wake(s);
}

/* --- start --------------------------------------------------------------------- */

static int complain(int err, const char *what)
{
	log_line(LOG_ERR, "%s: %s", what, process_why(err));
	return err;
}

static void print_errors(struct conf_errors *e)
{
	unsigned i;

	for (i = 0; i < e->n; i++)
		fprintf(stderr, "%s\n", e->line[i]);
	conf_errors_free(e);
}

static void log_errors(struct conf_errors *e, int priority)
{
	unsigned i;

	for (i = 0; i < e->n; i++)
		log_line(priority, "%s", e->line[i]);
}

static int bind_ports(struct server *s, const struct conf *c)
{
	struct port_params pp = {.hosts = c->hosts,
				 .nhosts = c->nhosts,
				 .any_will_do = c->embedded,
				 .congestion = c->congestion};
	char why[320] = "";
	int ret;

	ret = port_new(&s->port);
	if (ret)
		return complain(ret, "start");
	ret = port_bind(s->port, &pp, c->port, why, sizeof(why));
	if (ret > 0) {
		s->number = (uint16_t)ret;
		if (c->mountd_port && c->mountd_port != s->number)
			ret = port_bind(s->port, &pp, c->mountd_port, why, sizeof(why));
	}
	if (ret < 0)
		log_line(LOG_ERR, "%s", why);
	/* A host or a congestion control that is none. */
	if (ret == -EADDRNOTAVAIL || ret == -ENOENT)
		s->status = EXIT_CONF;
	return ret < 0 ? ret : 0;
}

static void place(struct server *s, const struct conf *c, cpu_set_t *near)
{
	struct sockaddr_storage addrs[32];
	char netdevs[32][IF_NAMESIZE];
	struct placement_wish wish = {.numa = c->numa, .workers = c->threads, .netdevs = netdevs};
	struct topology_source self;
	unsigned n = port_sockaddrs(s->port, addrs, 32);

	wish.nnetdevs = netdev_owners(addrs, n, netdevs, 32);
	topology_self(&self);
	placement_make(&s->placement, &self, &wish, s->place, near, ROOT_WORKERS);
	if (s->placement.bound)
		offload_confine(s->env.offload, &s->placement.cpus);
}

/* One line, for the first worker that something could not be bound for. */
static void log_placement(struct server *s)
{
	char first[160] = "", text[160];
	unsigned i, bad = 0;

	if (*s->placement.why)
		log_line(LOG_WARNING, "numa = %s: %s", s->placement.asked, s->placement.why);
	for (i = 0; i < s->nworkers; i++)
		if (server_worker_unbound(s, i, text, sizeof(text)) && !bad++)
			memcpy(first, text, sizeof(first));
	if (bad)
		log_line(LOG_WARNING, "numa = %s: %u of %u workers are not placed as planned: %s",
			 s->placement.asked, bad, s->nworkers, first);
}

static int start_workers(struct server *s, const struct conf *c)
{
	cpu_set_t near[ROOT_WORKERS];
	unsigned n, i;
	int err;

	place(s, c, near);
	n = s->placement.n;
	for (i = 0; i < n; i++) {
		struct worker_params wp = {
			.number = i,
			.cpu = s->place[i].cpu,
			.node = s->place[i].mem_node,
			.near = s->placement.bound ? &near[i] : NULL,
			.engine = c->engine,
			.queue_depth = c->queue_depth,
			.iowq = c->iowq,
			.pool_bytes = c->buffer_pool / n,
			.env = &s->env,
			.conns = s->conns,
			.turned = turned,
			.arg = s,
		};

		err = worker_new(&s->workers[i], &wp);
		if (err)
			return complain(err, "I/O engine");
		s->nworkers++;
	}
	log_line(LOG_INFO, "%u workers on %s (%s)", n, ring_engine_name(s->workers[0]->ring),
		 ring_engine_why(s->workers[0]->ring));
	log_placement(s);
	return 0;
}

static void free_words(char **words, unsigned n)
{
	while (n)
		free(words[--n]);
	free(words);
}

static void announce(struct server *s)
{
	struct export_table *t = server_exports(s);
	char status[96];
	unsigned i, up = 0;

	for (i = 0; i < t->n; i++) {
		const struct export *x = &t->exports[i];

		up += !x->down;
		if (x->down)
			log_line(LOG_WARNING, "%s: not served: %s", x->path, x->down);
		else
			log_line(LOG_INFO, "serving %s", x->path);
		if (x->root && x->root->path_mode)
			log_line(LOG_WARNING, "%s: handles are names here: %s", x->path,
				 x->root->probe.handles_why);
		if (x->root && export_all_are_server(x))
			log_line(LOG_WARNING,
				 "%s: every caller acts as uid %u: no CAP_SETUID or CAP_SETGID",
				 x->path, geteuid());
	}
	snprintf(status, sizeof(status), "serving %u of %u exports on port %u", up, t->n,
		 s->number);
	export_table_put(t);
	notify_ready(status);
}

/* What to tell rpcbind: every program on its port, on the networks we listen on. */
static void start_portmap(struct server *s, const struct conf *c, unsigned networks)
{
	struct portmap_entry e[8];
	const struct dispatch_program *p;
	size_t i, n;

	if (c->rpcbind == CONF_RPCBIND_N)
		return;
	p = req_served(&s->env, &n);
	assert(n <= sizeof(e) / sizeof(e[0]));
	for (i = 0; i < n; i++) {
		bool mount = p[i].prog == MOUNT3_PROGRAM;

		e[i] = (struct portmap_entry){
			.prog = p[i].prog,
			.vers = p[i].vers,
			.port = mount && c->mountd_port ? c->mountd_port : s->number,
		};
	}
	s->portmap = portmap_start(e, (unsigned)n, networks, c->rpcbind == CONF_RPCBIND_Y);
}

/* Returns the networks, as portmap counts them. */
static unsigned announce_listeners(struct server *s)
{
	char **text = NULL;
	unsigned n = server_listeners(s, &text), i, networks = 0;

	for (i = 0; i < n; i++) {
		log_line(LOG_NOTICE, "listening on %s", text[i]);
		networks |= text[i][0] == '[' ? PORTMAP_TCP6 : PORTMAP_TCP;
	}
	free_words(text, n);
	return networks;
}

/* Two embedded servers share a state directory; the second does without. */
static int open_control(struct server *s, const struct conf *c)
{
	int err = control_open(&s->control, s);

	/* Beside a socket that is ours nobody else's files are. */
	if (!err && s->env.state)
		s->clientdir = clientdir_new(control_path(s->control));
	if (err == -EADDRINUSE && c->embedded) {
		log_line(LOG_WARNING, "%s: another server answers there; no control socket",
			 c->socket);
		return 0;
	}
	if (err == -EADDRINUSE)
		log_line(LOG_ERR, "%s: another server answers there (control.socket)", c->socket);
	else if (err)
		complain(err, c->socket);
	return err;
}

static int start_port(struct server *s)
{
	struct port_service ps = {
		.workers = s->workers,
		.nworkers = s->nworkers,
		.env = &s->env,
		.conns = s->conns,
		.max_connections = s->fds.connections,
	};
	int err = port_start(s->port, &ps);

	return err ? complain(err, "accept") : 0;
}

/* Last of all: who is answered sees the whole. */
static int serve_control(struct server *s)
{
	int err = s->control ? control_serve(s->control) : 0;

	return err ? complain(err, control_path(s->control)) : 0;
}

static int start(struct server *s)
{
	const struct conf *c = server_conf(s);
	struct export_table *t = server_exports(s);
	int err;

	process_share_fds(c->max_connections, t->n, &s->fds);
	export_table_put(t);
	if (s->fds.connections < c->max_connections)
		log_line(LOG_WARNING,
			 "RLIMIT_NOFILE leaves room for %u connections (max-connections = %u)",
			 s->fds.connections, c->max_connections);
	err = server_env_make(s, c);
	if (!err)
		err = bind_ports(s, c);
	if (!err)
		err = start_workers(s, c);
	/* Before the first call is taken: it may be that we are not to run. */
	if (!err)
		err = open_control(s, c);
	if (!err)
		err = start_port(s);
	if (err)
		return err;
	start_portmap(s, c, announce_listeners(s));
	err = serve_control(s);
	if (!err)
		announce(s);
	return err;
}

/* --- run ----------------------------------------------------------------------- */

static void reload(struct server *s)
{
	struct conf_errors e = {0};
	int err = server_reload(s, &e);

	log_errors(&e, err ? LOG_ERR : LOG_WARNING);
	conf_errors_free(&e);
}

static int start_command(struct server *s, const char *cmd)
{
	struct export_table *t = server_exports(s);
	pid_t pid = run_start(cmd, s->number, t->n ? t->exports[0].path : "");

	export_table_put(t);
	if (pid < 0)
		return complain((int)pid, cmd);
	s->run = pid;
	return 0;
}

/* True when the server is to end. */
static bool take_signal(struct server *s)
{
	struct signalfd_siginfo si;

	while (read(s->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		switch (si.ssi_signo) {
		case SIGTERM:
		case SIGINT:
			log_line(LOG_NOTICE, "%s: stopping", strsignal((int)si.ssi_signo));
			return true;
		case SIGHUP:
			reload(s);
			break;
		case SIGCHLD:
			if (s->run && run_ended(s->run, &s->status)) {
				s->run = 0;
				return true;
			}
			break;
		}
	}
	return false;
}

/* Handles of path mode are to survive a power failure too, but for those of the last second. */
static void sync_paths(struct server *s)
{
	struct export_table *t = server_exports(s);

	for (unsigned i = 0; i < t->n; i++)
		if (t->exports[i].root && t->exports[i].root->paths)
			pathmap_sync(t->exports[i].root->paths);
	export_table_put(t);
}

static void sweep(struct server *s)
{
	sync_paths(s);
	fdcache_sweep(s->env.files, worker_clock_ns());
	server_name_iowq(s); /* open files are when there are any */
	if (s->env.state) {
		state4_sweep(s->env.state);
		clientdir_sweep(s->clientdir, s->env.state, worker_clock_ns());
	}
	if (!must_sweep(s))
		s->sweeping = false;
}

static void run(struct server *s)
{
	struct pollfd fds[2] = {{.fd = s->signal_fd, .events = POLLIN},
				{.fd = s->wake_fd, .events = POLLIN}};
	uint64_t n;

	for (;;) {
		if (!poll(fds, 2, s->sweeping ? SWEEP_MS : -1))
			sweep(s);
		if ((fds[0].revents & POLLIN) && take_signal(s))
			return;
		if ((fds[1].revents & POLLIN) && read(s->wake_fd, &n, sizeof(n)) < 0)
			continue;
		if (s->stop)
			return;
	}
}

/* --- stop ---------------------------------------------------------------------- */

/* Wait for all workers; how many have not ended. */
static unsigned wait_workers(struct server *s, uint64_t deadline)
{
	unsigned i, left = 0;

	for (i = 0; i < s->nworkers; i++) {
		if (worker_wait(s->workers[i], deadline))
			left++;
	}
	return left;
}

static void free_workers(struct server *s)
{
	unsigned i;

	for (i = 0; i < s->nworkers; i++)
		worker_free(s->workers[i]);
	s->nworkers = 0;
}

/*
 * Answer what runs; after DRAIN_NS cut the connections.
 * False when requests are stuck in the kernel.
 */
static bool drain(struct server *s)
{
	unsigned i;

	port_stop(s->port);
	for (i = 0; i < s->nworkers; i++)
		worker_drain(s->workers[i]);
	if (!wait_workers(s, worker_clock_ns() + DRAIN_NS))
		return true;
	log_line(LOG_WARNING, "some connections did not drain in %llu s and are cut",
		 DRAIN_NS / SECOND);
	for (i = 0; i < s->nworkers; i++)
		worker_abort(s->workers[i]);
	return !wait_workers(s, worker_clock_ns() + ABORT_NS);
}

/*
 * 0, or 1 when something would not end: then everything is
 * left as it is, for the process is about to.
 */
static int stop(struct server *s)
{
	notify_stopping();
	portmap_stop(s->portmap);
	if (s->run)
		kill(s->run, SIGTERM);
	if (s->port && !drain(s)) {
		log_line(LOG_ERR, "requests are stuck in the kernel; leaving without them");
		return 1;
	}
	clientdir_free(s->clientdir);
	control_stop(s->control); /* it looks at the workers */
	free_workers(s);
	port_free(s->port);
	server_env_free(&s->env);
	if (s->groups)
		groups_free(s->groups);
	connreg_free(s->conns);
	current_free(s->current);
	close(s->signal_fd);
	close(s->wake_fd);
	return 0;
}

static int prepare(struct server *s, const struct server_options *o)
{
	struct conf_errors e = {0};
	const struct conf *c;
	int err;

	process_prepare(&s->waited);
	err = current_new(&s->current, o, &e);
	print_errors(&e);
	if (err)
		return EXIT_CONF;
	c = server_conf(s);
	log_open(c->log_target, c->log_level, c->log_ratelimit_ns);
	s->start_time = (uint64_t)time(NULL);
	s->signal_fd = signalfd(-1, &s->waited, SFD_CLOEXEC | SFD_NONBLOCK);
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->signal_fd < 0 || s->wake_fd < 0) {
		complain(-errno, "start");
		return EXIT_FAILURE;
	}
	return 0;
}

int server_run(const struct server_options *o)
{
	struct server *s = calloc(1, sizeof(*s));
	int status;

	if (!s)
		return EXIT_FAILURE;
	status = prepare(s, o);
	if (status) {
		free(s);
		return status;
	}
	if (start(s) || (o->run && start_command(s, o->run)))
		s->status = s->status ? s->status : EXIT_FAILURE;
	else
		run(s);
	status = s->status;
	if (stop(s))
		return EXIT_FAILURE;
	log_close();
	free(s);
	return status;
}

/* --- for the control socket ------------------------------------------------------ */

struct export_table *server_exports(struct server *s)
{
	return current_exports(s->current);
}

const struct conf *server_conf(struct server *s)
{
	return current_conf(s->current);
}

int server_reload(struct server *s, struct conf_errors *e)
{
	const struct conf *c;
	int err;

	notify_reloading();
	err = current_reload(s->current, s->env.files, s->env.state, e);
	if (err) {
		log_line(LOG_ERR, "reload: errors; the old configuration stays in force");
	} else {
		c = server_conf(s);
		log_set(c->log_level, c->log_ratelimit_ns);
		groups_flush(s->groups);
		idmap_flush(s->env.idmap);
		log_line(LOG_NOTICE, "reloaded");
	}
	announce(s);
	return err;
}

void server_stop(struct server *s)
{
	s->stop = true;
	wake(s);
}
