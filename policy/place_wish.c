/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "policy/place.h"

/* A decimal number below PLACE_NODES; where it ends, or NULL. */
static const char *number(const char *s, unsigned *out)
{
	unsigned n = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (unsigned)(*s - '0');
		if (n >= PLACE_NODES)
			return NULL;
	}
	*out = n;
	return s;
}

static bool nodes(const char *s, struct place_wish *out)
{
	unsigned n;

	for (;; s++) {
		s = number(s, &n);
		if (!s)
			return false;
		out->nodes[n / 64] |= (uint64_t)1 << n % 64;
		if (!*s)
			return true;
		if (*s != ',')
			return false;
	}
}

/* As the kernel's dev_valid_name(): short, no blank, slash or colon, not . or .. */
static bool netdev(const char *s, struct place_wish *out)
{
	size_t len = strlen(s);

	if (!len || len >= sizeof(out->netdev) || strcspn(s, " \t/:") != len || !strcmp(s, ".") ||
	    !strcmp(s, ".."))
		return false;
	memcpy(out->netdev, s, len + 1);
	return true;
}

bool place_wish_parse(const char *text, struct place_wish *out)
{
	memset(out, 0, sizeof(*out));
	if (!strcmp(text, "auto"))
		return true;
	if (!strcmp(text, "off")) {
		out->kind = PLACE_OFF;
		return true;
	}
	if (!strncmp(text, "netdev:", 7)) {
		out->kind = PLACE_NETDEV;
		return netdev(text + 7, out);
	}
	if (!strncmp(text, "node:", 5)) {
		out->kind = PLACE_NODE;
		return nodes(text + 5, out);
	}
	return false;
}
