/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * main() of a fuzz target built without libFuzzer: feeds it each file named,
 * or those of its seeds directory (tests/fuzz/seeds/<stem>), and prints TAP.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/fuzz.h"

static unsigned count;

/* The input in a block of exactly its size, so that a sanitizer sees one byte too many. */
static void feed(const char *path, size_t size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1);
	size_t n;

	if (!f || !data) {
		printf("Bail out! %s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	n = fread(data, 1, size, f);
	fclose(f);
	printf("# %s\n", path);
	fflush(stdout); /* a crash shall name its input */
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	printf("ok %u - %s\n", ++count, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void feed_path(const char *path)
{
	struct dirent **names;
	struct stat st;
	char sub[PATH_MAX];
	int n;

	if (stat(path, &st)) {
		printf("Bail out! %s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	if (!S_ISDIR(st.st_mode)) {
		feed(path, (size_t)st.st_size);
		return;
	}
	n = scandir(path, &names, visible, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(sub, sizeof(sub), "%s/%s", path, names[i]->d_name);
		feed_path(sub);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* "tests/fuzz/record.t", or libtool's ".libs/record.t" -> $srcdir/tests/fuzz/seeds/record */
static void feed_seeds(const char *argv0)
{
	const char *src = getenv("srcdir"), *stem = strrchr(argv0, '/');
	char path[PATH_MAX];

	stem = stem ? stem + 1 : argv0;
	snprintf(path, sizeof(path), "%s/tests/fuzz/seeds/%.*s", src ? src : ".",
		 (int)strcspn(stem, "."), stem);
	feed_path(path);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		feed_path(argv[i]);
	if (argc < 2)
		feed_seeds(argv[0]);
	printf("1..%u\n", count);
	return count ? EXIT_SUCCESS : EXIT_FAILURE;
}
