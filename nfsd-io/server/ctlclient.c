/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/ctlclient.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nfsd-io/server/conf.h"
#include "nfsd-io/server/conf_dirs.h"

#define CODE_FAILED 1
#define CODE_NOT_PERMITTED 4
#define CODE_NOT_RUNNING 7
#define ANSWER_SECONDS 60

static int connect_to(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct timeval tv = {.tv_sec = ANSWER_SECONDS};
	int fd, err;

	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	if (!connect(fd, (struct sockaddr *)&sun, sizeof(sun)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Where the configuration that is installed has the socket; mistakes in it are not this command's.
 */
static char *configured(void)
{
	struct conf_options o = {.file = CONF_FILE};
	struct conf_errors e = {0};
	struct conf c;
	char *path;

	if (access(CONF_FILE, R_OK))
		return strdup("/run/nfsd-io/control.sock");
	conf_load(&c, &o, &e);
	path = c.socket ? strdup(c.socket) : NULL;
	conf_free(&c);
	conf_errors_free(&e);
	return path;
}

static char *embedded(void)
{
	char *dir = conf_dirs_state_path(), *path = NULL;

	if (dir && asprintf(&path, "%s/control.sock", dir) < 0)
		path = NULL;
	free(dir);
	return path;
}

/* Connected descriptor; *told: the path to speak of when there is none. */
static int find(const char *socket, char **told)
{
	const char *env = getenv("NFSD_IO_SOCKET");
	char *second = NULL;
	int fd;

	if (!socket && env && *env)
		socket = env;
	*told = socket ? strdup(socket) : configured();
	if (!*told)
		return -ENOMEM;
	fd = connect_to(*told);
	if (fd >= 0 || socket || fd == -EACCES)
		return fd;
	second = embedded();
	if (second && strcmp(second, *told)) {
		int other = connect_to(second);

		if (other >= 0 || other == -EACCES) {
			free(*told);
			*told = second;
			return other;
		}
	}
	free(second);
	return fd;
}

/* Greeting, answers, and the object with "ok", which *last gets; -EPROTO when it never comes. */
static int read_answer(FILE *in, json_t *answer, json_t **last)
{
	bool greeted = false;
	char *line = NULL;
	size_t room = 0;

	while (!*last && getline(&line, &room, in) > 0) {
		json_t *o = json_loads(line, 0, NULL);

		if (!json_is_object(o)) {
			json_decref(o);
			break;
		}
		if (!greeted && json_object_get(o, "nfsd-io"))
			json_decref(o);
		else if (json_object_get(o, "ok"))
			*last = o;
		else
			json_array_append_new(answer, o);
		greeted = true;
	}
	free(line);
	return *last ? 0 : -EPROTO;
}

/* Messages on the way to the verdict. */
static void print_messages(const json_t *answer)
{
	const json_t *o;
	size_t i;

	json_array_foreach(answer, i, o)
	{
		const char *text = json_string_value(json_object_get(o, "message"));
		bool warning = json_is_true(json_object_get(o, "warning"));

		if (text)
			fprintf(stderr, "%s%s\n", warning ? "warning: " : "", text);
	}
}

static int verdict(const char *name, const json_t *last)
{
	const char *error = json_string_value(json_object_get(last, "error"));
	int code = (int)json_integer_value(json_object_get(last, "code"));

	if (json_is_true(json_object_get(last, "ok")))
		return 0;
	fprintf(stderr, "%s: %s\n", name, error ? error : "refused");
	return code ? code : CODE_FAILED;
}

int ctlclient_ask(const char *name, const char *socket, const char *line, json_t **answer)
{
	char *path = NULL;
	json_t *last = NULL;
	FILE *io = NULL;
	int fd = find(socket, &path), code;

	*answer = json_array();
	if (fd < 0) {
		fprintf(stderr, "%s: no server answers at %s: %s\n", name,
			path ? path : "the control socket", strerror(-fd));
		free(path);
		return fd == -EACCES ? CODE_NOT_PERMITTED : CODE_NOT_RUNNING;
	}
	io = fdopen(fd, "r+");
	if (!io || fprintf(io, "%s\n", line) < 0 || fflush(io) || read_answer(io, *answer, &last)) {
		fprintf(stderr, "%s: no answer from %s\n", name, path);
		code = CODE_NOT_RUNNING;
	} else {
		print_messages(*answer);
		code = verdict(name, last);
	}
	if (io)
		fclose(io);
	else
		close(fd);
	json_decref(last);
	free(path);
	return code;
}
