/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One configuration value: text to field and back, by the key's type.  Pure but for memory. */
#ifndef SERVER_CONF_VALUE_H
#define SERVER_CONF_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "nfsd-io/server/conf_table.h"

/*
 * Parse `text` into the field at `field` (the key's offset applied by the
 * caller).  0, or -EINVAL with what is wrong in why, or -ENOMEM.
 */
int conf_value_set(const struct conf_key *k, void *field, const char *text, char *why,
		   size_t whylen);
/* The field as it would be written; cut at len. */
void conf_value_print(const struct conf_key *k, const void *field, char *out, size_t len);
/* Have the two fields the same value? */
bool conf_value_equal(const struct conf_key *k, const void *a, const void *b);
/* Free what the field owns and clear it. */
void conf_value_clear(const struct conf_key *k, void *field);

/* 0 with 1 or 0 in *v, or -EINVAL. */
int conf_value_bool(const char *text, uint64_t *v);
/* "64K" -> bytes; "1500ms" -> ns.  0 or -EINVAL, also when it does not fit. */
int conf_value_size(const char *text, uint64_t *v);
int conf_value_time(const char *text, uint64_t *v);

/* Edit distance (letters added, dropped, changed, two swapped), case ignored; and how much of it is
 * still a typo. */
unsigned conf_value_distance(const char *a, const char *b);
unsigned conf_value_near(const char *word);

#endif
