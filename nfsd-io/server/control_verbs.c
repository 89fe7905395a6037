/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/control_verbs.h"

#include <errno.h>
#include <string.h>

#include "nfsd-io/server/health.h"
#include "nfsd-io/server/stats.h"

/* Exit codes of nfsd-io(8). */
enum { CODE_USAGE = 2, CODE_NOT_PERMITTED = 4, CODE_CONFIG = 6 };

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

static void run_status(struct server *s, json_t *lines)
{
	json_array_append_new(lines, health_json(s));
	finish(lines, 0, NULL);
}

static void run_stats(struct server *s, json_t *lines)
{
	json_array_append_new(lines, stats_json(s));
	finish(lines, 0, NULL);
}

static void run_exports(struct server *s, json_t *lines)
{
	struct export_table *t = server_exports(s);
	json_t *list = health_exports_json(t), *x;
	size_t i;

	json_array_foreach(list, i, x) json_array_append(lines, x);
	json_decref(list);
	export_table_put(t);
	finish(lines, 0, NULL);
}

static void run_reload(struct server *s, json_t *lines)
{
	struct conf_errors e = {0};
	int err = server_reload(s, &e);

	for (unsigned i = 0; i < e.n; i++) {
		json_t *text = json_string(e.line[i]);

		json_array_append_new(lines, json_pack("{s:o, s:b}", "message",
						       text ? text : json_string("?"), "warning",
						       (int)e.warning[i]));
	}
	conf_errors_free(&e);
	finish(lines, err ? CODE_CONFIG : 0, "nothing was changed");
}

static void run_stop(struct server *s, json_t *lines)
{
	server_stop(s);
	finish(lines, 0, NULL);
}

static void run_help(struct server *s, json_t *lines);

static const struct {
	const char *name;
	void (*run)(struct server *s, json_t *lines);
	bool changes;
	const char *doc;
} verbs[] = {
	{"status", run_status, false, "how the server and its exports are"},
	{"stats", run_stats, false, "counters"},
	{"exports", run_exports, false, "what is exported to whom"},
	{"reload", run_reload, true, "read configuration and exports again"},
	{"stop", run_stop, true, "finish what runs, then end"},
	{"help", run_help, false, "these words"},
};
#define NVERBS (sizeof(verbs) / sizeof(verbs[0]))

static void run_help(struct server *s, json_t *lines)
{
	(void)s;
	for (unsigned i = 0; i < NVERBS; i++)
		json_array_append_new(lines, json_pack("{s:s, s:s}", "verb", verbs[i].name, "does",
						       verbs[i].doc));
	finish(lines, 0, NULL);
}

/* "stats --json" and "stats json" are what the command line says; the answer is JSON anyway. */
static bool only_json(char *const words[], int n)
{
	for (int i = 1; i < n; i++)
		if (strcmp(words[i], "json") && strcmp(words[i], "--json"))
			return false;
	return true;
}

void control_verbs_run(struct server *s, char *line, bool may_change, json_t *lines)
{
	char *words[CONTROL_WORDS_MAX];
	int n = control_verbs_split(line, words);

	if (n <= 0) {
		finish(lines, CODE_USAGE, n ? "not a line of words" : "no verb: try help");
		return;
	}
	for (unsigned i = 0; i < NVERBS; i++) {
		if (strcmp(verbs[i].name, words[0]))
			continue;
		if (!only_json(words, n))
			finish(lines, CODE_USAGE, "this verb takes no such word");
		else if (verbs[i].changes && !may_change)
			finish(lines, CODE_NOT_PERMITTED,
			       "only root and the server's own user may change anything");
		else
			verbs[i].run(s, lines);
		return;
	}
	finish(lines, CODE_USAGE, "unknown verb: try help");
}
