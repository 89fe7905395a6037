/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration: any text gives values that print and read back, or errors that name a place.
 */
#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nfsd-io/server/conf_table.h"
#include "nfsd-io/server/conf_value.h"
#include "tests/lib/fuzz.h"

static void check_values(const struct conf *c)
{
	for (unsigned i = 0; i < conf_table_len; i++) {
		const struct conf_key *k = &conf_table[i];
		char text[4096], why[256] = "";
		_Alignas(8) char field[32] = {0};

		/* Lists are cut where they are longer than the text. */
		if (k->type == CONF_LIST || k->type == CONF_STRING)
			continue;
		conf_value_print(k, (const char *)c + k->offset, text, sizeof(text));
		FUZZ_CHECK(!conf_value_set(k, field, text, why, sizeof(why)));
		FUZZ_CHECK(conf_value_equal(k, (const char *)c + k->offset, field));
		conf_value_clear(k, field);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("conf", MFD_CLOEXEC);
	struct conf_errors e = {0};
	struct conf_options o = {0};
	struct conf c;
	char path[64];

	if (size > 16384)
		size = 16384;
	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	o.file = path;
	if (!conf_load(&c, &o, &e)) {
		FUZZ_CHECK(!conf_nerrors(&e));
		FUZZ_CHECK(c.socket && c.key_file && c.state_dir);
		check_values(&c);
	} else {
		FUZZ_CHECK(conf_nerrors(&e) > 0);
	}
	conf_io_for(&c, "/srv");
	conf_free(&c);
	conf_errors_free(&e);
	close(fd);
	return 0;
}
