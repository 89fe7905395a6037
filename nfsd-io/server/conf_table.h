/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one table of configuration keys.  Parsing, defaults, the sample file,
 * the man page's test and did-you-mean all come from it.
 */
#ifndef SERVER_CONF_TABLE_H
#define SERVER_CONF_TABLE_H

#include "nfsd-io/server/conf.h"

enum conf_type {
	CONF_STRING, /* char * */
	CONF_LIST,   /* char **, the count right behind it; words between commas or blanks */
	CONF_BOOL,   /* y yes t true on 1 and their opposites, any case */
	CONF_NUMBER, /* decimal */
	CONF_SIZE,   /* bytes; K, M, G = 1024 and its powers */
	CONF_TIME,   /* stored as ns; ns us ms s m h, none = s */
	CONF_OCTAL,  /* file mode */
	CONF_WORD,   /* one of `words`; stored as min + its index */
	CONF_MODE,   /* enum dio_mode: name or 0, 1, 2 */
	CONF_RULE,   /* enum dio_rule by name */
	CONF_NUMA,   /* char *; what place_wish_parse() understands */
};

struct conf_key {
	const char *section, *name;
	enum conf_type type;
	size_t offset, size;      /* of the field in struct conf, bytes */
	uint64_t min, max;        /* numbers: both included */
	const char *const *words; /* CONF_WORD, NULL-terminated */
	const char *def;          /* default as it is written */
	bool restart;             /* a change takes effect at the next start only */
	size_t set_offset;        /* [io] keys that [export "..."] may override: flag in struct
				     conf_export, else 0 */
	const char *doc;          /* one line */
};

extern const struct conf_key conf_table[];
extern const unsigned conf_table_len;

/* Names in any case; NULL when there is none. */
const struct conf_key *conf_table_find(const char *section, const char *name);
bool conf_table_has_section(const char *section);
/* The key or section most like the unknown one, or NULL when none is close. */
const char *conf_table_like_key(const char *section, const char *name);
const char *conf_table_like_section(const char *section);
/* Another section that has key `name`, or NULL. */
const char *conf_table_elsewhere(const char *name);
/*
 * A key or section of knfsd's nfs.conf(5) that means nothing here: a word
 * about why, NULL when it is not one.  "" when `value` asks for what is so anyway.
 */
const char *conf_table_knfsd(const char *section, const char *name, const char *value);

#endif
