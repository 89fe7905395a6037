/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/conf_dirs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char export_dir[4096];

static const char *tmp(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir == '/' ? dir : "/tmp";
}

char *conf_dirs_state_path(void)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char *path = NULL;
	int n;

	if (run && *run == '/')
		n = asprintf(&path, "%s/nfsd-io", run);
	else if (!geteuid())
		n = asprintf(&path, "/run/nfsd-io");
	else
		n = asprintf(&path, "%s/nfsd-io-%u", tmp(), (unsigned)geteuid());
	return n < 0 ? NULL : path;
}

char *conf_dirs_state(void)
{
	char *path = conf_dirs_state_path();
	struct stat st;
	int err = 0;

	if (!path)
		return NULL;
	if (mkdir(path, 0700) && errno != EEXIST)
		err = errno;
	/* The name under /tmp can be guessed: somebody else's directory or link is not ours to use.
	 */
	else if (lstat(path, &st))
		err = errno;
	else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
		 (st.st_mode & (S_IWGRP | S_IWOTH)))
		err = EPERM;
	if (!err)
		return path;
	free(path);
	errno = err;
	return NULL;
}

char *conf_dirs_export(void)
{
	char *path = NULL;

	pthread_mutex_lock(&lock);
	if (!*export_dir) {
		snprintf(export_dir, sizeof(export_dir), "%s/nfsd-io.XXXXXX", tmp());
		if (!mkdtemp(export_dir))
			*export_dir = '\0';
	}
	if (*export_dir)
		path = strdup(export_dir);
	pthread_mutex_unlock(&lock);
	return path;
}

void conf_dirs_cleanup(void)
{
	pthread_mutex_lock(&lock);
	if (*export_dir)
		rmdir(export_dir);
	*export_dir = '\0';
	pthread_mutex_unlock(&lock);
}
