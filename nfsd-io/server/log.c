/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_LEN 2048 /* below PIPE_BUF: a pipe takes it whole or says so */
#define SLOTS 512
#define KINDS 64
#define KIND_BURST 20 /* different texts of one kind in the time set, for log_env() */

/* One (who, kind) that was logged lately.  Direct-mapped: a collision only logs a line more. */
struct slot {
	uint64_t key;
	uint64_t until_ns;
	unsigned left_out, texts;
};

static struct {
	pthread_mutex_t lock;
	_Atomic int level;
	_Atomic uint64_t ratelimit_ns, lost, lost_told;
	bool syslog, prefix;
	int fd; /* of /dev/log, or -1 */
	struct slot slots[SLOTS];
	struct slot
		kinds[KINDS]; /* apart, so that a flood of texts does not push its own kind out */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER,
	   .level = LOG_INFO,
	   .ratelimit_ns = 5000000000u,
	   .fd = -1};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Is standard error what journald reads?  $JOURNAL_STREAM is its "device:inode". */
static bool to_journal(void)
{
	const char *env = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return env && sscanf(env, "%llu:%llu", &dev, &ino) == 2 && !fstat(STDERR_FILENO, &st) &&
	       st.st_dev == dev && st.st_ino == ino;
}

static int dev_log(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&sun, sizeof(sun))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

void log_open(const char *target, int level, uint64_t ratelimit_ns)
{
	pthread_mutex_lock(&state.lock);
	state.syslog = !strcmp(target, "syslog");
	state.prefix = !state.syslog && to_journal();
	if (state.syslog && state.fd < 0)
		state.fd = dev_log();
	pthread_mutex_unlock(&state.lock);
	log_set(level, ratelimit_ns);
}

void log_set(int level, uint64_t ratelimit_ns)
{
	atomic_store(&state.level, level);
	atomic_store(&state.ratelimit_ns, ratelimit_ns);
}

int log_level(void)
{
	return atomic_load_explicit(&state.level, memory_order_relaxed);
}

uint64_t log_lost(void)
{
	return atomic_load(&state.lost);
}

void log_close(void)
{
	pthread_mutex_lock(&state.lock);
	if (state.fd >= 0)
		close(state.fd);
	state.fd = -1;
	state.syslog = false;
	memset(state.slots, 0, sizeof(state.slots));
	memset(state.kinds, 0, sizeof(state.kinds));
	pthread_mutex_unlock(&state.lock);
}

/* syslog(3) would block in a full socket. */
static bool write_syslog(int priority, const char *text)
{
	char line[LINE_MAX_LEN + 64];
	int n = snprintf(line, sizeof(line), "<%d>nfsd-io[%d]: %s", LOG_DAEMON | priority,
			 (int)getpid(), text);

	for (int again = 0; again < 2; again++) {
		if (state.fd < 0)
			state.fd = dev_log();
		if (state.fd < 0)
			return false;
		if (send(state.fd, line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return true;
		if (errno == EAGAIN)
			return false;
		close(state.fd); /* the daemon there was restarted */
		state.fd = -1;
	}
	return false;
}

/* A pipe or terminal that nobody reads must not hold the writer: poll first, a short line then
 * fits. */
static bool write_stderr(int priority, const char *text)
{
	char line[LINE_MAX_LEN + 64], prefix[8] = "";
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
	int n;

	if (state.prefix)
		snprintf(prefix, sizeof(prefix), "<%d>", priority);
	n = snprintf(line, sizeof(line), "%s%s\n", prefix, text);
	if (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT))
		return false;
	return write(STDERR_FILENO, line, (size_t)n) == n;
}

/* Under the lock.  What a peer sent must not forge lines: control bytes become '?'. */
static void emit(int priority, char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	if (!(state.syslog ? write_syslog(priority, text) : write_stderr(priority, text)))
		atomic_fetch_add(&state.lost, 1);
}

static void emit_lost(void)
{
	uint64_t lost = atomic_load(&state.lost), told = atomic_exchange(&state.lost_told, lost);
	char text[80];

	if (lost == told)
		return;
	snprintf(text, sizeof(text), "log: %llu lines lost, nobody read them",
		 (unsigned long long)(lost - told));
	emit(LOG_WARNING, text);
}

void log_line(int priority, const char *fmt, ...)
{
	char text[LINE_MAX_LEN];
	va_list ap;

	if (priority > log_level())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&state.lock);
	emit_lost();
	emit(priority, text);
	pthread_mutex_unlock(&state.lock);
}

/* FNV-1a */
static uint64_t hash(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		h = (h ^ *p++) * 1099511628211u;
	return h;
}

static uint64_t key_of(const char *who, const char *fmt)
{
	uint64_t h = hash(14695981039346656037u, &fmt, sizeof(fmt));

	return hash(h, who, strlen(who)) | 1;
}

/*
 * Under the lock: may this key speak now?  `burst` lines are let through in
 * each period.  *left_out: how many were held back in the last one.
 */
static bool admit(struct slot *s, uint64_t key, unsigned burst, unsigned *left_out)
{
	uint64_t now = now_ns(), limit = atomic_load(&state.ratelimit_ns);

	*left_out = 0;
	if (!limit)
		return true;
	if (s->key != key || now >= s->until_ns) {
		if (s->key == key)
			*left_out = s->left_out;
		*s = (struct slot){.key = key, .until_ns = now + limit};
	}
	if (s->texts < burst) {
		s->texts++;
		return true;
	}
	s->left_out++;
	return false;
}

static void emit_counted(int priority, char *text, unsigned left_out)
{
	size_t n = strlen(text);

	if (left_out && n + 48 < LINE_MAX_LEN)
		snprintf(text + n, LINE_MAX_LEN - n, " (%u more like this were left out)",
			 left_out);
	emit_lost();
	emit(priority, text);
}

void log_limited(const char *who, int priority, const char *fmt, ...)
{
	char text[LINE_MAX_LEN];
	unsigned left_out;
	uint64_t key;
	va_list ap;

	if (priority > log_level())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&state.lock);
	key = key_of(who, fmt);
	if (admit(&state.slots[key % SLOTS], key, 1, &left_out))
		emit_counted(priority, text, left_out);
	pthread_mutex_unlock(&state.lock);
}

void log_env(void *arg, int priority, const char *fmt, ...)
{
	char text[LINE_MAX_LEN];
	unsigned same, others = 0;
	uint64_t key, kind;
	va_list ap;

	(void)arg;
	if (priority > log_level())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&state.lock);
	key = key_of(text, fmt);
	kind = key_of("", fmt);
	if (admit(&state.slots[key % SLOTS], key, 1, &same) &&
	    admit(&state.kinds[kind % KINDS], kind, KIND_BURST, &others))
		emit_counted(priority, text, same + others);
	pthread_mutex_unlock(&state.lock);
}
