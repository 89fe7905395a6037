/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "nfsd-io/server/conf_value.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy/place.h"

#define WORD_MAX 40
#define NEAR_MAX 3

static void store(void *field, size_t size, uint64_t v)
{
	switch (size) {
	case 1:
		*(uint8_t *)field = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)field = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)field = (uint32_t)v;
		break;
	case 8:
		*(uint64_t *)field = v;
		break;
	default:
		assert(!"field size");
	}
}

static uint64_t fetch(const void *field, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)field;
	case 2:
		return *(const uint16_t *)field;
	case 4:
		return *(const uint32_t *)field;
	default:
		assert(size == 8);
		return *(const uint64_t *)field;
	}
}

int conf_value_bool(const char *text, uint64_t *v)
{
	static const char *const yes[] = {"y", "yes", "t", "true", "on", "1"};
	static const char *const no[] = {"n", "no", "f", "false", "off", "0"};

	for (unsigned i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		*v = !strcasecmp(text, yes[i]);
		if (*v || !strcasecmp(text, no[i]))
			return 0;
	}
	return -EINVAL;
}

/* Digits, then a unit which *unit is left at. */
static int number(const char *text, unsigned base, uint64_t *v, const char **unit)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*v = strtoull(text, &end, (int)base);
	*unit = end;
	return errno || end == text ? -EINVAL : 0;
}

static int scale(uint64_t *v, uint64_t by)
{
	return __builtin_mul_overflow(*v, by, v) ? -EINVAL : 0;
}

int conf_value_size(const char *text, uint64_t *v)
{
	static const char *const units[] = {"", "K", "M", "G", "T"};
	const char *unit;

	if (number(text, 10, v, &unit))
		return -EINVAL;
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcasecmp(unit, units[i]))
			return scale(v, 1ull << (10 * i));
	return -EINVAL;
}

int conf_value_time(const char *text, uint64_t *v)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {{"ns", 1},        {"us", 1000},       {"ms", 1000000},     {"s", 1000000000},
		     {"", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
	const char *unit;

	if (number(text, 10, v, &unit))
		return -EINVAL;
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].unit))
			return scale(v, units[i].ns);
	return -EINVAL;
}

static void word_list(const char *const *words, char *out, size_t len)
{
	size_t at = 0;

	for (unsigned i = 0; words[i] && at < len; i++) {
		const char *sep = !i ? "" : words[i + 1] ? ", " : " or ";

		at += (size_t)snprintf(out + at, len - at, "%s%s", sep, words[i]);
	}
}

static int bad_word(const char *text, const char *const *words, char *why, size_t len)
{
	const char *best = NULL;
	unsigned least = conf_value_near(text);
	char list[256];

	for (unsigned i = 0; words[i]; i++) {
		unsigned d = conf_value_distance(words[i], text);

		if (d <= least && (!best || d < least)) {
			least = d;
			best = words[i];
		}
	}
	word_list(words, list, sizeof(list));
	if (best)
		snprintf(why, len, "\"%s\" is not %s (did you mean %s?)", text, list, best);
	else
		snprintf(why, len, "\"%s\" is not %s", text, list);
	return -EINVAL;
}

static int set_word(const struct conf_key *k, const char *text, uint64_t *v, char *why, size_t len)
{
	for (unsigned i = 0; k->words[i]; i++) {
		if (!strcasecmp(text, k->words[i])) {
			*v = k->min + i;
			return 0;
		}
	}
	return bad_word(text, k->words, why, len);
}

/* log.target is kept as its word, for whoever opens the log. */
static bool word_is_string(const struct conf_key *k)
{
	return k->size == sizeof(char *);
}

static int set_mode(const char *text, uint64_t *v, char *why, size_t len)
{
	static const char *const words[] = {"buffered", "dontcache", "direct", NULL};
	enum dio_mode m;

	if (!dio_mode_parse(text, &m))
		return bad_word(text, words, why, len);
	*v = m;
	return 0;
}

static int set_rule(const char *text, uint64_t *v, char *why, size_t len)
{
	const char *words[DIO_RULE_COUNT + 1] = {NULL};
	enum dio_rule r;

	for (unsigned i = 0; i < DIO_RULE_COUNT; i++)
		words[i] = dio_rule_name((enum dio_rule)i);
	if (!dio_rule_parse(text, &r))
		return bad_word(text, words, why, len);
	*v = r;
	return 0;
}

static int set_number(const struct conf_key *k, const char *text, uint64_t *v, char *why,
		      size_t len)
{
	struct conf_key wide = *k; /* to print the limits */
	const char *rest = "";
	char lo[24], hi[24];
	int err;

	switch (k->type) {
	case CONF_SIZE:
		err = conf_value_size(text, v);
		break;
	case CONF_TIME:
		err = conf_value_time(text, v);
		break;
	default:
		err = number(text, k->type == CONF_OCTAL ? 8 : 10, v, &rest);
	}
	if (err || *rest) {
		snprintf(why, len, "\"%s\" is not %s", text,
			 k->type == CONF_SIZE    ? "a size (bytes, or with K, M or G)"
			 : k->type == CONF_TIME  ? "a time (such as 500ms, 5s or 1m)"
			 : k->type == CONF_OCTAL ? "an octal number"
						 : "a number");
		return -EINVAL;
	}
	if (*v >= k->min && *v <= k->max)
		return 0;
	wide.size = sizeof(k->min);
	conf_value_print(&wide, &k->min, lo, sizeof(lo));
	conf_value_print(&wide, &k->max, hi, sizeof(hi));
	snprintf(why, len, "%s is not between %s and %s", text, lo, hi);
	return -EINVAL;
}

static int set_string(char **field, const char *text)
{
	char *s = strdup(text);

	if (!s)
		return -ENOMEM;
	free(*field);
	*field = s;
	return 0;
}

static void list_clear(void *field)
{
	char ***list = field;
	unsigned *n = (unsigned *)(list + 1);

	for (unsigned i = 0; i < *n; i++)
		free((*list)[i]);
	free(*list);
	*list = NULL;
	*n = 0;
}

static int set_list(void *field, const char *text)
{
	char ***list = field;
	unsigned *n = (unsigned *)(list + 1);

	list_clear(field);
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ", \t");
		char **more;

		if (len) {
			more = realloc(*list, (*n + 1) * sizeof(*more));
			if (!more)
				return -ENOMEM;
			*list = more;
			more[*n] = strndup(p, len);
			if (!more[*n])
				return -ENOMEM;
			++*n;
		}
		p += len;
		p += strspn(p, ", \t");
	}
	return 0;
}

static int set_numa(char **field, const char *text, char *why, size_t len)
{
	struct place_wish w;

	if (place_wish_parse(text, &w))
		return set_string(field, text);
	snprintf(why, len, "\"%s\" is not auto, off, netdev:IFACE or node:N[,N]", text);
	return -EINVAL;
}

int conf_value_set(const struct conf_key *k, void *field, const char *text, char *why, size_t len)
{
	uint64_t v = 0;
	int err;

	switch (k->type) {
	case CONF_STRING:
		return set_string(field, text);
	case CONF_LIST:
		return set_list(field, text);
	case CONF_NUMA:
		return set_numa(field, text, why, len);
	case CONF_BOOL:
		err = conf_value_bool(text, &v);
		if (err)
			snprintf(why, len, "\"%s\" is neither y nor n", text);
		break;
	case CONF_WORD:
		err = set_word(k, text, &v, why, len);
		if (!err && word_is_string(k))
			return set_string(field, k->words[v - k->min]);
		break;
	case CONF_MODE:
		err = set_mode(text, &v, why, len);
		break;
	case CONF_RULE:
		err = set_rule(text, &v, why, len);
		break;
	default:
		err = set_number(k, text, &v, why, len);
	}
	if (!err)
		store(field, k->size, v);
	return err;
}

static void print_scaled(uint64_t v, char *out, size_t len)
{
	static const char units[] = " KMGT";
	unsigned i = 0;

	while (v && v % 1024 == 0 && i < 4) {
		v /= 1024;
		i++;
	}
	snprintf(out, len, i ? "%" PRIu64 "%c" : "%" PRIu64, v, units[i]);
}

static void print_time(uint64_t ns, char *out, size_t len)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = {{3600000000000, "h"},
		     {60000000000, "m"},
		     {1000000000, "s"},
		     {1000000, "ms"},
		     {1000, "us"}};

	for (unsigned i = 0; ns && i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns % units[i].ns == 0) {
			snprintf(out, len, "%" PRIu64 "%s", ns / units[i].ns, units[i].unit);
			return;
		}
	}
	snprintf(out, len, ns ? "%" PRIu64 "ns" : "%" PRIu64, ns);
}

static void print_list(const void *field, char *out, size_t len)
{
	char *const *list = *(char *const *const *)field;
	unsigned n = *(const unsigned *)((const char *)field + sizeof(char **));
	size_t at = 0;

	*out = '\0';
	for (unsigned i = 0; i < n && at < len; i++)
		at += (size_t)snprintf(out + at, len - at, "%s%s", i ? ", " : "", list[i]);
}

void conf_value_print(const struct conf_key *k, const void *field, char *out, size_t len)
{
	const char *s;

	switch (k->type) {
	case CONF_STRING:
	case CONF_NUMA:
		s = *(char *const *)field;
		snprintf(out, len, "%s", s ? s : "");
		break;
	case CONF_LIST:
		print_list(field, out, len);
		break;
	case CONF_BOOL:
		snprintf(out, len, "%s", fetch(field, k->size) ? "y" : "n");
		break;
	case CONF_WORD:
		if (word_is_string(k))
			snprintf(out, len, "%s", *(char *const *)field);
		else
			snprintf(out, len, "%s", k->words[fetch(field, k->size) - k->min]);
		break;
	case CONF_MODE:
		snprintf(out, len, "%s", dio_mode_name((enum dio_mode)fetch(field, k->size)));
		break;
	case CONF_RULE:
		snprintf(out, len, "%s", dio_rule_name((enum dio_rule)fetch(field, k->size)));
		break;
	case CONF_SIZE:
		print_scaled(fetch(field, k->size), out, len);
		break;
	case CONF_TIME:
		print_time(fetch(field, k->size), out, len);
		break;
	case CONF_OCTAL:
		snprintf(out, len, "%04" PRIo64, fetch(field, k->size));
		break;
	case CONF_NUMBER:
		snprintf(out, len, "%" PRIu64, fetch(field, k->size));
		break;
	}
}

bool conf_value_equal(const struct conf_key *k, const void *a, const void *b)
{
	char x[4096], y[4096];

	conf_value_print(k, a, x, sizeof(x));
	conf_value_print(k, b, y, sizeof(y));
	return !strcmp(x, y);
}

void conf_value_clear(const struct conf_key *k, void *field)
{
	if (k->type == CONF_LIST) {
		list_clear(field);
	} else if (k->type == CONF_STRING || k->type == CONF_NUMA ||
		   (k->type == CONF_WORD && word_is_string(k))) {
		free(*(char **)field);
		*(char **)field = NULL;
	}
}

unsigned conf_value_near(const char *word)
{
	size_t len = strlen(word);

	return len < 4 ? 1 : len < 9 ? 2 : NEAR_MAX;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned conf_value_distance(const char *a, const char *b)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	/* Further apart than any typo: most words are, and need no table. */
	if (n > WORD_MAX || m > WORD_MAX || n > m + NEAR_MAX || m > n + NEAR_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			int ca = i ? tolower((unsigned char)a[i - 1]) : 0,
			    cb = j ? tolower((unsigned char)b[j - 1]) : 0;

			if (!i || !j) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1,
				       d[i - 1][j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
			    cb == tolower((unsigned char)a[i - 2]) && d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[n][m];
}
