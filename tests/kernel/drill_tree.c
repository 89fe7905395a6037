/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A tree of every kind of object, its attributes and names; modes; the file system's size. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/kernel/drill.h"

#define MANY 80 /* names in one directory */
#define TOP DRILL_A "/t"

static const struct node {
	const char *path;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint32_t len; /* bytes of a file */
} nodes[] = {
	{TOP, S_IFDIR | 0755, 0, 0, 0},
	{TOP "/empty", S_IFDIR | 0711, 1, 2, 0},
	{TOP "/empty/deep", S_IFDIR | 01777, 0, 0, 0},
	{TOP "/zero", S_IFREG | 0600, 0, 0, 0},
	{TOP "/one", S_IFREG | 0644, 7, 8, 1},
	{TOP "/setuid", S_IFREG | 04755, 9, 9, 511},
	{TOP "/none", S_IFREG | 0, 12345, 54321, 4096},
	{TOP "/odd", S_IFREG | 0444, 0, 0, 47009},
	{TOP "/more", S_IFREG | 0664, 0, 100, 100017},
	{TOP "/large", S_IFREG | 0640, 4000000000u, 4000000000u, DRILL_DATA - 3},
	{TOP "/fifo", S_IFIFO | 0640, 3, 3, 0},
	{TOP "/null", S_IFCHR | 0666, 0, 0, 0},
};
#define NODES (sizeof(nodes) / sizeof(*nodes))

static struct timespec mtime(size_t i)
{
	return (struct timespec){.tv_sec = 1000000000 + (time_t)i * 86400,
				 .tv_nsec = 1001001 * (long)i};
}

static bool make_node(const struct node *n)
{
	switch (n->mode & S_IFMT) {
	case S_IFDIR:
		MUST(!mkdir(n->path, 0700));
		break;
	case S_IFREG:
		MUST(drill_make(n->path, n->len));
		break;
	default:
		MUST(!mknod(n->path, n->mode, makedev(1, 3)));
	}
	MUST(!chown(n->path, n->uid, n->gid));
	MUST(!chmod(n->path, n->mode & 07777));
	return true;
}

static bool same_node(size_t i)
{
	const struct node *n = &nodes[i];
	struct timespec want = mtime(i);
	struct stat st;

	MUST(!lstat(n->path, &st));
	MUST(st.st_mode == n->mode);
	MUST(st.st_uid == n->uid && st.st_gid == n->gid);
	MUST(st.st_mtim.tv_sec == want.tv_sec && st.st_mtim.tv_nsec == want.tv_nsec);
	MUST(!S_ISCHR(n->mode) || st.st_rdev == makedev(1, 3));
	MUST(!S_ISREG(n->mode) || st.st_size == (off_t)n->len);
	return !S_ISREG(n->mode) || drill_same(n->path, drill_data(), n->len);
}

static bool make_names(void)
{
	char path[64];

	MUST(!symlink("nowhere/at all", TOP "/link"));
	MUST(!link(TOP "/one", TOP "/again"));
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), TOP "/empty/deep/name %d", i);
		MUST(drill_make(path, (size_t)i));
	}
	return true;
}

static bool make_tree(void)
{
	for (size_t i = 0; i < NODES; i++)
		MUST(make_node(&nodes[i]));
	MUST(make_names());
	for (size_t i = NODES; i-- > 0;) { /* a directory's after all that is in it */
		struct timespec at[2] = {mtime(i), mtime(i)};

		MUST(!utimensat(AT_FDCWD, nodes[i].path, at, AT_SYMLINK_NOFOLLOW));
	}
	return true;
}

/* Each name once, of the size that its name says. */
static bool listed(void)
{
	DIR *dir = opendir(TOP "/empty/deep");
	bool seen[MANY] = {false};
	struct dirent *e;
	struct stat st;
	int n, count = 0;

	MUST(dir);
	while ((e = readdir(dir))) {
		if (sscanf(e->d_name, "name %d", &n) != 1)
			continue;
		MUST(n >= 0 && n < MANY && !seen[n]);
		MUST(!fstatat(dirfd(dir), e->d_name, &st, 0) && st.st_size == n);
		seen[n] = true;
		count++;
	}
	closedir(dir);
	MUST(count == MANY);
	return true;
}

static bool same_tree(void)
{
	char target[64] = "";
	struct stat st;

	for (size_t i = 0; i < NODES; i++)
		MUST(same_node(i));
	MUST(readlink(TOP "/link", target, sizeof(target) - 1) == 14 &&
	     !strcmp(target, "nowhere/at all"));
	MUST(!lstat(TOP "/link", &st) && S_ISLNK(st.st_mode) && st.st_size == 14);
	MUST(!stat(TOP "/again", &st) && st.st_nlink == 2);
	return listed();
}

bool drill_tree(const struct drill *d)
{
	return make_tree() && drill_remount(d) && same_tree();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

bool drill_empty(const struct drill *d)
{
	struct dirent *e;
	int left = 0;
	DIR *dir;

	(void)d;
	MUST(!nftw(DRILL_A, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT));
	dir = opendir(DRILL_A);
	MUST(dir);
	while ((e = readdir(dir)))
		left += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	MUST(left == 0);
	return true;
}

static bool masked(const char *path, mode_t want)
{
	struct stat st;

	MUST(!lstat(path, &st));
	MUST((st.st_mode & 07777) == want);
	MUST(!remove(path));
	return true;
}

static bool under_umask(mode_t mask)
{
	int fd;

	umask(mask);
	fd = open(DRILL_A "/uf", O_WRONLY | O_CREAT | O_EXCL, 0666);
	MUST(fd >= 0 && !close(fd));
	MUST(!mkdir(DRILL_A "/ud", 0777));
	MUST(!mkfifo(DRILL_A "/up", 0666));
	MUST(!symlink("x", DRILL_A "/ul"));
	MUST(masked(DRILL_A "/uf", 0666 & ~mask));
	MUST(masked(DRILL_A "/ud", 0777 & ~mask));
	MUST(masked(DRILL_A "/up", 0666 & ~mask));
	return masked(DRILL_A "/ul", 0777);
}

bool drill_umask(const struct drill *d)
{
	static const mode_t masks[] = {0, 002, 022, 027, 077, 0777};
	bool ok = true;

	(void)d;
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		ok = under_umask(masks[i]) && ok;
	umask(022);
	return ok;
}

/* The client rounds up to blocks of its own. */
bool drill_statfs(const struct drill *d)
{
	struct statvfs fs;
	struct stat st;

	MUST(!statvfs(DRILL_A, &fs));
	MUST(fs.f_blocks == (d->bytes + fs.f_frsize - 1) / fs.f_frsize);
	MUST(fs.f_bavail > 0 && fs.f_bavail <= fs.f_blocks);
	MUST(!stat(DRILL_A, &st));
	MUST(S_ISDIR(st.st_mode) && st.st_uid == 0);
	return true;
}
