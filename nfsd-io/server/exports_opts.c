/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/exports_opts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/server/conf_value.h"

#define NOBODY 65534

/* State of one list: options after a sec= hold for its flavors only. */
struct list {
	struct exports_opts *to;
	const struct exports_text *at;
	bool applies; /* to a flavor that is served */
};

struct option {
	const char *name;
	size_t offset; /* of a bool in struct export_opts */
	bool value;
	bool by_flavor;                                /* may differ by sec= */
	const char *warning;                           /* said when given */
	int (*set)(struct list *l, const char *value); /* takes =value; offset unused */
	bool bare;                                     /* ... which may be missing */
};

#define F(f) offsetof(struct export_opts, f)
#define IGNORED SIZE_MAX

void exports_opts_default(struct exports_opts *o)
{
	*o = (struct exports_opts){.o = {.sync = true,
					 .secure = true,
					 .root_squash = true,
					 .anonuid = NOBODY,
					 .anongid = NOBODY,
					 .sec_sys = true}};
}

static int set_id(struct list *l, const char *value, uint32_t *id, const char *what)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(value, &end, 10);
	/* -1 is "no change" to the kernel's calls: nobody can act as it. */
	if (end == value || *end || errno || v < -2147483648ll || v >= 4294967295ll || v == -1) {
		exports_text_say(l->at, false, "%s=%s: not an id", what, value);
		return -EINVAL;
	}
	*id = (uint32_t)v;
	l->to->squash_given = true;
	return 0;
}

static int set_anonuid(struct list *l, const char *value)
{
	uint32_t id = 0;
	int err = set_id(l, value, &id, "anonuid");

	if (!err)
		l->to->o.anonuid = id;
	return err;
}

static int set_anongid(struct list *l, const char *value)
{
	uint32_t id = 0;
	int err = set_id(l, value, &id, "anongid");

	if (!err)
		l->to->o.anongid = id;
	return err;
}

/* 32 hex digits, whatever stands between them: FNV-1a over them gives the root id. */
static bool uuid_id(const char *value, uint32_t *id)
{
	uint32_t h = 2166136261u;
	unsigned digits = 0;

	for (; *value; value++) {
		if (isxdigit((unsigned char)*value)) {
			h = (h ^ (uint32_t)tolower((unsigned char)*value)) * 16777619u;
			digits++;
		} else if (!strchr("-:.", *value)) {
			return false;
		}
	}
	*id = h ? h : 1;
	return digits == 32;
}

static int set_fsid(struct list *l, const char *value)
{
	unsigned long long v;
	char *end;

	l->to->o.fsid_root = !strcmp(value, "root") || !strcmp(value, "0");
	if (l->to->o.fsid_root) {
		l->to->o.fsid = 0;
		return 0;
	}
	errno = 0;
	v = strtoull(value, &end, 10);
	if (isdigit((unsigned char)*value) && !*end && !errno && v <= UINT32_MAX) {
		l->to->o.fsid = (uint32_t)v;
		return 0;
	}
	if (uuid_id(value, &l->to->o.fsid))
		return 0;
	exports_text_say(l->at, false, "fsid=%s: not a number below 2^32, root or a UUID", value);
	return -EINVAL;
}

static int set_mountpoint(struct list *l, const char *value)
{
	struct export_opts *o = &l->to->o;

	if (value && (*value != '/' || strlen(value) >= sizeof(o->mountpoint))) {
		exports_text_say(l->at, false,
				 "mountpoint=%s: not an absolute path of at most %zu bytes", value,
				 sizeof(o->mountpoint) - 1);
		return -EINVAL;
	}
	o->mountpoint_required = true;
	strcpy(o->mountpoint, value ? value : "");
	return 0;
}

static int sec_flavor(struct list *l, const char *name)
{
	static const char *const kerberos[] = {"krb5",  "krb5i", "krb5p", "lkey", "lkeyi",
					       "lkeyp", "spkm",  "spkmi", "spkmp"};

	if (!strcmp(name, "sys") || !strcmp(name, "unix")) {
		l->to->o.sec_sys = l->applies = true;
		return 0;
	}
	if (!strcmp(name, "none") || !strcmp(name, "null")) {
		l->to->o.sec_none = l->applies = true;
		return 0;
	}
	for (unsigned i = 0; i < sizeof(kerberos) / sizeof(kerberos[0]); i++) {
		if (!strcmp(name, kerberos[i])) {
			exports_text_say(l->at, true,
					 "sec=%s: not served: clients that use it are refused",
					 name);
			return 0;
		}
	}
	exports_text_say(l->at, false, "sec=%s: unknown security flavor", name);
	return -EINVAL;
}

static int set_sec(struct list *l, const char *value)
{
	char copy[256], *save, *flavor;
	int err = 0;

	if (!l->to->sec_given)
		l->to->o.sec_sys = l->to->o.sec_none = false;
	l->to->sec_given = true;
	l->applies = false;
	if (snprintf(copy, sizeof(copy), "%s", value) >= (int)sizeof(copy))
		*copy = '\0';
	flavor = strtok_r(copy, ":", &save);
	if (!flavor)
		return sec_flavor(l, value);
	for (; flavor; flavor = strtok_r(NULL, ":", &save))
		if (sec_flavor(l, flavor))
			err = -EINVAL;
	l->to->o.sec_other = !l->to->o.sec_sys && !l->to->o.sec_none;
	return err;
}

/* xprtsec=tls says "only with TLS": to ignore it would let others in. */
static int set_xprtsec(struct list *l, const char *value)
{
	char list[256];

	snprintf(list, sizeof(list), ":%s:", value);
	if (strstr(list, ":none:")) {
		exports_text_say(l->at, true, "xprtsec=%s: TLS is not served", value);
		return 0;
	}
	exports_text_say(l->at, false, "xprtsec=%s: TLS is not served and this demands it", value);
	return -EINVAL;
}

static int ignore_value(struct list *l, const char *value)
{
	(void)l;
	(void)value;
	return 0;
}

static const struct option options[] = {
	{"rw", F(rw), true, true, NULL, NULL, false},
	{"ro", F(rw), false, true, NULL, NULL, false},
	{"sync", F(sync), true, false, NULL, NULL, false},
	{"async", F(sync), false, false,
	 "holds for names and attributes only: WRITE and COMMIT keep their promises", NULL, false},
	{"secure", F(secure), true, true, NULL, NULL, false},
	{"insecure", F(secure), false, true, NULL, NULL, false},
	{"root_squash", F(root_squash), true, true, NULL, NULL, false},
	{"no_root_squash", F(root_squash), false, true, NULL, NULL, false},
	{"all_squash", F(all_squash), true, true, NULL, NULL, false},
	{"no_all_squash", F(all_squash), false, true, NULL, NULL, false},
	{"hide", F(crossmnt), false, false, NULL, NULL, false},
	{"nohide", F(crossmnt), true, false, "ignored: mounts below an export are not entered",
	 NULL, false},
	{"crossmnt", F(crossmnt), true, false, "ignored: mounts below an export are not entered",
	 NULL, false},
	{"nocrossmnt", F(crossmnt), false, false, NULL, NULL, false},
	{"subtree_check", F(subtree_check), true, false,
	 "ignored: file handles are signed for their export instead", NULL, false},
	{"no_subtree_check", F(subtree_check), false, false, NULL, NULL, false},
	{"wdelay", IGNORED, false, false, NULL, NULL, false},
	{"no_wdelay", IGNORED, false, false, NULL, NULL, false},
	{"sign_fh", IGNORED, false, false, NULL, NULL, false},
	{"auth_nlm", IGNORED, false, false, NULL, NULL, false},
	{"no_auth_nlm", IGNORED, false, false, NULL, NULL, false},
	{"secure_locks", IGNORED, false, false, NULL, NULL, false},
	{"insecure_locks", IGNORED, false, false, NULL, NULL, false},
	{"acl", IGNORED, false, false, NULL, NULL, false},
	{"no_acl", IGNORED, false, false, NULL, NULL, false},
	{"no_pnfs", IGNORED, false, false, NULL, NULL, false},
	{"pnfs", IGNORED, false, false, "ignored: pNFS is not served", NULL, false},
	{"security_label", IGNORED, false, false, "ignored: security labels are not served", NULL,
	 false},
	{"nordirplus", IGNORED, false, false, "ignored: READDIRPLUS stays on", NULL, false},
	{"anonuid", IGNORED, false, true, NULL, set_anonuid, false},
	{"anongid", IGNORED, false, true, NULL, set_anongid, false},
	{"fsid", IGNORED, false, false, NULL, set_fsid, false},
	{"mountpoint", IGNORED, false, false, NULL, set_mountpoint, true},
	{"mp", IGNORED, false, false, NULL, set_mountpoint, true},
	{"sec", IGNORED, false, false, NULL, set_sec, false},
	{"xprtsec", IGNORED, false, false, NULL, set_xprtsec, false},
	{"refer", IGNORED, false, false, "ignored: referrals are not served", ignore_value, false},
	{"replicas", IGNORED, false, false, "ignored: referrals are not served", ignore_value,
	 false},
	{"squash_uids", IGNORED, false, false, "ignored, as in knfsd", ignore_value, false},
	{"squash_gids", IGNORED, false, false, "ignored, as in knfsd", ignore_value, false},
};
#define NOPTIONS (sizeof(options) / sizeof(options[0]))

static const struct option *find(const char *name)
{
	for (unsigned i = 0; i < NOPTIONS; i++)
		if (!strcmp(options[i].name, name))
			return &options[i];
	return NULL;
}

static int unknown(const struct list *l, const char *name)
{
	unsigned least = conf_value_near(name);
	const char *best = NULL;

	for (unsigned i = 0; i < NOPTIONS; i++) {
		unsigned d = conf_value_distance(options[i].name, name);

		if (d <= least && (!best || d < least)) {
			least = d;
			best = options[i].name;
		}
	}
	if (best)
		exports_text_say(l->at, false, "unknown option \"%s\" (did you mean %s?)", name,
				 best);
	else
		exports_text_say(l->at, false, "unknown option \"%s\"", name);
	return -EINVAL;
}

/* Is this one of the options that say who the caller becomes? */
static bool squashes(const struct option *op)
{
	return op->offset == F(root_squash) || op->offset == F(all_squash);
}

static int take(struct list *l, char *word)
{
	char *value = strchr(word, '=');
	const struct option *op;

	if (value)
		*value++ = '\0';
	op = find(word);
	if (!op)
		return unknown(l, word);
	if (value && (!op->set || !*value)) {
		exports_text_say(l->at, false, "%s: %s", word,
				 op->set ? "no value behind =" : "takes no value");
		return -EINVAL;
	}
	if (op->set && !value && !op->bare) {
		exports_text_say(l->at, false, "%s: needs a value: %s=...", word, word);
		return -EINVAL;
	}
	if (op->by_flavor && !l->applies)
		return 0;
	if (op->warning)
		exports_text_say(l->at, true, "%s: %s", word, op->warning);
	if (op->set)
		return op->set(l, value);
	if (op->offset != IGNORED)
		*(bool *)((char *)&l->to->o + op->offset) = op->value;
	l->to->squash_given |= squashes(op);
	return 0;
}

int exports_opts_parse(struct exports_opts *o, const char *list, const struct exports_text *at)
{
	struct list l = {o, at, true};
	char *copy = strdup(list), *save, *word;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (take(&l, word))
			err = -EINVAL;
	free(copy);
	return err;
}

void exports_opts_print(const struct export_opts *o, char *out, size_t len)
{
	int n = snprintf(out, len, "%s,%s,%s,%s,%s,sec=%s", o->rw ? "rw" : "ro",
			 o->sync ? "sync" : "async", o->secure ? "secure" : "insecure",
			 o->root_squash ? "root_squash" : "no_root_squash",
			 o->all_squash ? "all_squash" : "no_all_squash",
			 o->sec_sys && o->sec_none ? "sys:none"
			 : o->sec_sys              ? "sys"
			 : o->sec_none             ? "none"
						   : "krb5");

	if (n > 0 && (size_t)n < len && (o->root_squash || o->all_squash))
		n += snprintf(out + n, len - (size_t)n, ",anonuid=%u,anongid=%u", o->anonuid,
			      o->anongid);
	if (n > 0 && (size_t)n < len && o->fsid)
		n += snprintf(out + n, len - (size_t)n, ",fsid=%u", o->fsid);
	if (n > 0 && (size_t)n < len && o->fsid_root)
		n += snprintf(out + n, len - (size_t)n, ",fsid=root");
	if (n > 0 && (size_t)n < len && o->mountpoint_required)
		n += snprintf(out + n, len - (size_t)n, ",mp%s%s", *o->mountpoint ? "=" : "",
			      o->mountpoint);
	if (n > 0 && (size_t)n < len && o->crossmnt)
		n += snprintf(out + n, len - (size_t)n, ",crossmnt");
	if (n > 0 && (size_t)n < len && o->subtree_check)
		snprintf(out + n, len - (size_t)n, ",subtree_check");
}
