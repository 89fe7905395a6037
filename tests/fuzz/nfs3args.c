/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arguments of every NFSv3 procedure and of MNT: decoding any bytes neither
 * crashes nor leaks, and what was decoded survives encoding and decoding.
 * Input: one byte that picks the type, then its encoding.
 */
#include <string.h>

#include "tests/lib/fuzz.h"
#include "tests/lib/nfs3types.h"

static uint8_t once[65536], twice[65536];

static void check_round_trip(xdrproc_t xdr, union nfs3_any *args, size_t consumed)
{
	union nfs3_any again = {0};
	struct cursor c;
	size_t len;

	cursor_init(&c, once, sizeof(once));
	FUZZ_CHECK(codec_encode(&c, xdr, args));
	len = cursor_pos(&c);
	FUZZ_CHECK(len == consumed);
	cursor_init(&c, once, len);
	FUZZ_CHECK(codec_decode(&c, xdr, &again) && cursor_left(&c) == 0);
	cursor_init(&c, twice, len);
	FUZZ_CHECK(codec_encode(&c, xdr, &again) && cursor_left(&c) == 0);
	FUZZ_CHECK(memcmp(once, twice, len) == 0);
	codec_free(xdr, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	union nfs3_any args = {0};
	struct cursor c;
	xdrproc_t xdr;

	if (size < 1 || size > sizeof(once))
		return 0;
	xdr = nfs3_args[data[0] % NFS3_NARGS].xdr;
	cursor_init_const(&c, data + 1, size - 1);
	if (!codec_decode(&c, xdr, &args))
		return 0;
	check_round_trip(xdr, &args, cursor_pos(&c));
	codec_free(xdr, &args);
	return 0;
}
