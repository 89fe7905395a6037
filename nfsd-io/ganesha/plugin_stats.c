/* SPDX-License-Identifier: LGPL-2.1-or-later */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "nfsd-io/ganesha/plugin.h"

/* All its members are counters of one kind. */
_Static_assert(sizeof(struct nfsdio_stats) % sizeof(uint64_t) == 0, "counters and nothing else");

void plugin_stats_add(struct nfsdio_stats *to, const struct nfsdio_stats *what)
{
	uint64_t *t = (uint64_t *)to;
	const uint64_t *w = (const uint64_t *)what;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += w[i];
}

/* {"NAME":N,...}: what was decided at all. */
static void decisions(FILE *f, const uint64_t ops[NFSDIO_DECISIONS])
{
	const char *sep = "{";

	for (unsigned i = 0; nfsdio_decision_name(i); i++) {
		if (!ops[i])
			continue;
		fprintf(f, "%s\"%s\":%" PRIu64, sep, nfsdio_decision_name(i), ops[i]);
		sep = ",";
	}
	fputs(*sep == '{' ? "{}" : "}", f);
}

void plugin_stats_log(struct plugin_export *x)
{
	struct nfsdio_stats s = x->closed;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	plugin_file_sum(x, &s);
	fprintf(f, "read %" PRIu64 " bytes ", s.payload[NFSDIO_READ]);
	decisions(f, s.ops[NFSDIO_READ]);
	fprintf(f, ", written %" PRIu64 " bytes ", s.payload[NFSDIO_WRITE]);
	decisions(f, s.ops[NFSDIO_WRITE]);
	if (fclose(f) == 0)
		LogEvent(COMPONENT_FSAL, "NFSDIO: export %u so far %s", x->exp->export_id, text);
	free(text);
}

/* --- JSON ------------------------------------------------------------------------------- */
static void json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ')
			fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			putc(*s, f);
	}
	putc('"', f);
}

static void json_direction(FILE *f, const struct nfsdio_stats *s, enum nfsdio_direction d)
{
	fprintf(f,
		"{\"payload\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"handed\":%" PRIu64
		",\"buffered\":%" PRIu64 ",\"dontcache\":%" PRIu64 ",\"direct\":%" PRIu64
		",\"dispositions\":",
		s->payload[d], s->errors[d], s->handed[d], s->bytes[d][NFSDIO_BUFFERED],
		s->bytes[d][NFSDIO_DONTCACHE], s->bytes[d][NFSDIO_DIRECT]);
	decisions(f, s->ops[d]);
	putc('}', f);
}

struct writer {
	FILE *f;
	const char *sep;
};

static void json_export(struct plugin_export *x, void *arg)
{
	struct writer *w = arg;
	struct nfsdio_stats s = x->closed;

	plugin_file_sum(x, &s);
	fprintf(w->f, "%s{\"id\":%u,\"path\":", w->sep, x->exp->export_id);
	json_string(w->f, x->path ? x->path : "");
	fprintf(w->f, ",\"read_mode\":\"%s\",\"write_mode\":\"%s\",\"rule\":\"%s\",\"read\":",
		plugin_mode_name(x->params.read_mode), plugin_mode_name(x->params.write_mode),
		plugin_rule_name(x->params.rule));
	json_direction(w->f, &s, NFSDIO_READ);
	fputs(",\"write\":", w->f);
	json_direction(w->f, &s, NFSDIO_WRITE);
	fprintf(w->f,
		",\"head\":%" PRIu64 ",\"middle\":%" PRIu64 ",\"tail\":%" PRIu64
		",\"expand\":%" PRIu64 ",\"fallback_direct\":%" PRIu64
		",\"fallback_dontcache\":%" PRIu64 ",\"continued\":%" PRIu64 ",\"syncs\":%" PRIu64
		"}",
		s.head, s.middle, s.tail, s.expand, s.fallback_direct, s.fallback_dontcache,
		s.continued, s.syncs);
	w->sep = ",";
}

static void answer(FILE *f)
{
	struct writer w = { f, "" };
	unsigned files, fds;

	plugin_file_counts(&files, &fds);
	fputs("{\"engine\":", f);
	json_string(f, nfsdio_engine(plugin_engine()));
	fprintf(f, ",\"open_files\":%u,\"open_descriptors\":%u,\"lost_files\":%u,\"exports\":[",
		files, fds, plugin_lost_count());
	plugin_export_each(json_export, &w);
	fputs("]}\n", f);
}

/* --- the socket ------------------------------------------------------------------------- */
static void serve_one(int fd)
{
	const struct timeval patience = { .tv_sec = 5 };
	char *text = NULL;
	size_t len = 0, sent = 0;
	FILE *f = open_memstream(&text, &len);
	ssize_t n;

	if (f) {
		answer(f);
		if (fclose(f) != 0)
			len = 0;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (sent < len && (n = send(fd, text + sent, len - sent, MSG_NOSIGNAL)) > 0)
		sent += (size_t)n;
	free(text);
	close(fd);
}

static void *server(void *arg)
{
	int listener = (int)(intptr_t)arg;

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			serve_one(fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			sleep(1); /* no descriptor is left: nothing to wait for but time */
	}
	return NULL;
}

/* Only root and ganesha's group may look; what an earlier run has left is removed. */
static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	int fd, ret;

	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	/* On a socket that is not bound yet, this is the mode it will be made with. */
	if (fchmod(fd, 0660) < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(fd, 8) < 0) {
		ret = -errno;
		close(fd);
		return ret;
	}
	return fd;
}

void plugin_stats_serve(const char *path)
{
	sigset_t all, old;
	pthread_t t;
	int fd = listen_at(path), ret;

	if (fd < 0) {
		LogCrit(COMPONENT_FSAL, "NFSDIO: Control_Socket %s: %s", path, strerror(-fd));
		return;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&t, NULL, server, (void *)(intptr_t)fd);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (ret)
		close(fd);
	else
		pthread_detach(t);
}
