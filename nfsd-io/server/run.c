/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nfsd-io/server/process.h"
#include "nfsd-io/server/run.h"

extern char **environ;

static bool is_ours(const char *word)
{
	return !strncmp(word, "NFSD_IO_PORT=", 13) || !strncmp(word, "NFSD_IO_EXPORT=", 15);
}

/* The environment with our two words in place of what a server around this one set. */
static char **make_environment(char *port, char *export)
{
	size_t n = 0, i;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 3, sizeof(*env));
	if (!env)
		return NULL;
	env[0] = port;
	env[1] = export;
	n = 2;
	for (i = 0; environ[i]; i++)
		if (!is_ours(environ[i]))
			env[n++] = environ[i];
	return env;
}

/* Between fork() and exec in a process with threads: async-signal-safe calls only. */
static void child(const char *cmd, char **env)
{
	process_restore();
	execle("/bin/sh", "sh", "-c", cmd, (char *)NULL, env);
	_exit(127);
}

pid_t run_start(const char *cmd, uint16_t port, const char *export)
{
	char *words[2] = {NULL, NULL}, **env = NULL;
	pid_t pid = -ENOMEM;

	if (asprintf(&words[0], "NFSD_IO_PORT=%u", port) < 0)
		words[0] = NULL;
	if (asprintf(&words[1], "NFSD_IO_EXPORT=%s", export) < 0)
		words[1] = NULL;
	if (words[0] && words[1])
		env = make_environment(words[0], words[1]);
	if (!env)
		goto out;
	pid = fork();
	if (!pid)
		child(cmd, env);
	if (pid < 0)
		pid = -errno;
out:
	free(env);
	free(words[0]);
	free(words[1]);
	return pid;
}

bool run_ended(pid_t pid, int *status)
{
	int st;

	if (waitpid(pid, &st, WNOHANG) != pid)
		return false;
	*status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	return true;
}
