/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/control_verbs.h"

#include <errno.h>
#include <string.h>

#include "nfsd-io/proto/state4.h"
#include "nfsd-io/server/health.h"
#include "nfsd-io/server/nfs4state.h"
#include "nfsd-io/server/stats.h"

/* Exit codes of nfsd-io(8). */
enum { CODE_USAGE = 2, CODE_NO = 3, CODE_NOT_PERMITTED = 4, CODE_CONFIG = 6 };

/* What follows the verb. */
#define MORE_MAX 2
struct words {
	const char *word[MORE_MAX];
	int n;
};

int control_verbs_split(char *line, char *words[CONTROL_WORDS_MAX])
{
	int n = 0;
	char *in = line;

	for (;;) {
		char *out, quote = 0;

		in += strspn(in, " \t\r");
		if (!*in)
			return n;
		if (n == CONTROL_WORDS_MAX)
			return -EINVAL;
		words[n++] = out = in;
		for (; *in && (quote || !strchr(" \t\r", *in)); in++) {
			if ((unsigned char)*in < 0x20)
				return -EINVAL;
			if (*in == quote)
				quote = 0;
			else if (!quote && (*in == '"' || *in == '\''))
				quote = *in;
			else
				*out++ = *in;
		}
		if (quote)
			return -EINVAL;
		in += *in != '\0';
		*out = '\0';
	}
}

static void finish(json_t *lines, int code, const char *error)
{
	json_t *o = code ? json_pack("{s:b, s:i, s:s}", "ok", 0, "code", code, "error", error)
			 : json_pack("{s:b}", "ok", 1);

	if (o)
		json_array_append_new(lines, o);
}

static void run_status(struct server *s, const struct words *w, json_t *lines)
{
	(void)w;
	json_array_append_new(lines, health_json(s));
	finish(lines, 0, NULL);
}

static void run_stats(struct server *s, const struct words *w, json_t *lines)
{
	(void)w;
	json_array_append_new(lines, stats_json(s));
	finish(lines, 0, NULL);
}

static void run_exports(struct server *s, const struct words *w, json_t *lines)
{
	struct export_table *t = server_exports(s);
	json_t *list = health_exports_json(t), *x;
	size_t i;

	(void)w;
	json_array_foreach(list, i, x) json_array_append(lines, x);
	json_decref(list);
	export_table_put(t);
	finish(lines, 0, NULL);
}

static void run_reload(struct server *s, const struct words *w, json_t *lines)
{
	struct conf_errors e = {0};
	int err = server_reload(s, &e);

	(void)w;
	for (unsigned i = 0; i < e.n; i++) {
		json_t *text = json_string(e.line[i]);

		json_array_append_new(lines, json_pack("{s:o, s:b}", "message",
						       text ? text : json_string("?"), "warning",
						       (int)e.warning[i]));
	}
	conf_errors_free(&e);
	finish(lines, err ? CODE_CONFIG : 0, "nothing was changed");
}

static void run_stop(struct server *s, const struct words *w, json_t *lines)
{
	(void)w;
	server_stop(s);
	finish(lines, 0, NULL);
}

static void run_clients(struct server *s, const struct words *w, json_t *lines)
{
	struct state4 *state = server_env(s)->state;
	int err = 0;

	if (!state)
		err = w->n == 2 ? -ENOENT : 0;
	else if (w->n && !strcmp(w->word[0], "states"))
		err = nfs4state_states(state, w->n == 2 ? w->word[1] : NULL, lines);
	else if (w->n == 2)
		err = nfs4state_expire(state, w->word[1]);
	else
		nfs4state_clients(state, lines);
	finish(lines, err ? CODE_NO : 0, "there is no such client");
}

static void run_grace(struct server *s, const struct words *w, json_t *lines)
{
	struct state4 *state = server_env(s)->state;

	if (state && w->n == 1)
		state4_grace_end(state);
	if (state)
		json_array_append_new(lines, nfs4state_grace(state));
	finish(lines, state ? 0 : CODE_NO, "NFSv4 is not served");
}

static void run_help(struct server *s, const struct words *w, json_t *lines);

static const struct {
	const char *name;
	void (*run)(struct server *s, const struct words *w, json_t *lines);
	bool changes;
	const char *doc;
	const char *more; /* a word that may follow, and is a change */
	int nmore;	  /* words with it */
	const char *look; /* a word that may follow, with one more or not, and is none */
	const char *takes; /* told to who says something else; NULL: nothing may follow */
} verbs[] = {
	{"status", run_status, false, "how the server and its exports are", NULL, 0, NULL, NULL},
	{"stats", run_stats, false, "counters", NULL, 0, NULL, NULL},
	{"exports", run_exports, false, "what is exported to whom", NULL, 0, NULL, NULL},
	{"clients", run_clients, false,
	 "NFSv4 clients; states [N]: what they hold; expire N: one of them goes", "expire", 2,
	 "states", "clients may be followed by: states, states N, expire N"},
	{"grace", run_grace, false, "whether NFSv4 clients may reclaim; end: no more", "end", 1,
	 NULL, "grace may be followed by: end"},
	{"reload", run_reload, true, "read configuration and exports again", NULL, 0, NULL, NULL},
	{"stop", run_stop, true, "finish what runs, then end", NULL, 0, NULL, NULL},
	{"help", run_help, false, "these words", NULL, 0, NULL, NULL},
};
#define NVERBS (sizeof(verbs) / sizeof(verbs[0]))

static void run_help(struct server *s, const struct words *w, json_t *lines)
{
	(void)s;
	(void)w;
	for (unsigned i = 0; i < NVERBS; i++)
		json_array_append_new(lines, json_pack("{s:s, s:s}", "verb", verbs[i].name, "does",
						       verbs[i].doc));
	finish(lines, 0, NULL);
}

/*
 * "stats --json" and "stats json" are what the command line says; the answer is
 * JSON anyway.  What else follows the verb, or false: too much.
 */
static bool take_words(char *const words[], int n, struct words *out)
{
	out->n = 0;
	for (int i = 1; i < n; i++) {
		if (!strcmp(words[i], "json") || !strcmp(words[i], "--json"))
			continue;
		if (out->n == MORE_MAX)
			return false;
		out->word[out->n++] = words[i];
	}
	return true;
}

static void wrong_word(unsigned v, json_t *lines)
{
	finish(lines, CODE_USAGE,
	       verbs[v].takes ? verbs[v].takes : "nothing may follow this verb");
}

static void run_verb(struct server *s, unsigned v, const struct words *w, bool may_change,
		     json_t *lines)
{
	bool more = w->n && verbs[v].more && w->n == verbs[v].nmore &&
		    !strcmp(w->word[0], verbs[v].more);
	bool look = w->n && verbs[v].look && !strcmp(w->word[0], verbs[v].look);

	if (w->n && !more && !look)
		wrong_word(v, lines);
	else if ((verbs[v].changes || more) && !may_change)
		finish(lines, CODE_NOT_PERMITTED,
		       "only root and the server's own user may change anything");
	else
		verbs[v].run(s, w, lines);
}

void control_verbs_run(struct server *s, char *line, bool may_change, json_t *lines)
{
	char *words[CONTROL_WORDS_MAX];
	int n = control_verbs_split(line, words);
	struct words more;

	if (n <= 0) {
		finish(lines, CODE_USAGE, n ? "not a line of words" : "no verb: try help");
		return;
	}
	for (unsigned i = 0; i < NVERBS; i++) {
		if (strcmp(verbs[i].name, words[0]))
			continue;
		if (take_words(words, n, &more))
			run_verb(s, i, &more, may_change, lines);
		else
			wrong_word(i, lines);
		return;
	}
	finish(lines, CODE_USAGE, "unknown verb: try help");
}
