/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/cli.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsd-io/server/conf_dirs.h"
#include "nfsd-io/server/conf_show.h"
#include "nfsd-io/server/ctlclient.h"
#include "nfsd-io/server/health.h"
#include "nfsd-io/server/nfs4state.h"
#include "nfsd-io/server/server.h"
#include "nfsd-io/server/stats.h"

#define KEY_EXPORT 'e' /* keys are the letters in struct cli_verb.options */
#define KEY_RUN 'r'
#define KEY_STRICT 't'
#define KEY_DEFAULTS 'd'
#define KEY_EFFECTIVE 'c'
#define KEY_JSON 'j'
#define LONG_ONLY(key) (0x100 + (key))

static const struct argp_option all[] = {
	{"file", 'f', "FILE", 0, "Read this configuration instead of the installed one", 0},
	{NULL, 'o', "SECTION.KEY=VALUE", 0, "Set one value, over all files", 0},
	{"export", LONG_ONLY(KEY_EXPORT), "DIR[:CLIENT(OPTS)]", 0, "Serve this directory", 0},
	{"run", LONG_ONLY(KEY_RUN), "CMD", 0, "Serve while CMD runs; end with its status", 0},
	{"strict", LONG_ONLY(KEY_STRICT), NULL, 0, "Warnings are problems too", 0},
	{"defaults", LONG_ONLY(KEY_DEFAULTS), NULL, 0, "Every key with its default", 0},
	{"effective", LONG_ONLY(KEY_EFFECTIVE), NULL, 0,
	 "Every key with its value and where that was set", 0},
	{"json", LONG_ONLY(KEY_JSON), NULL, 0, "The answer as JSON", 0},
	{"verbose", 'v', NULL, 0, "With all options", 0},
	{"script", 's', NULL, 0, "As lines of exports(5)", 0},
	{"socket", 'S', "SOCKET", 0, "Control socket of the server to ask", 0},
};
#define NALL (sizeof(all) / sizeof(all[0]))

static int push(char ***list, unsigned *n, char *s)
{
	char **more = realloc(*list, (*n + 1) * sizeof(*more));

	if (!more)
		return -1;
	*list = more;
	more[(*n)++] = s;
	return 0;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
	struct cli *c = state->input;

	switch (key) {
	case 'f':
		c->file = arg;
		break;
	case 'o':
		return push(&c->overrides, &c->noverrides, arg) ? ENOMEM : 0;
	case LONG_ONLY(KEY_EXPORT):
		return push(&c->exports, &c->nexports, arg) ? ENOMEM : 0;
	case LONG_ONLY(KEY_RUN):
		c->run = arg;
		break;
	case LONG_ONLY(KEY_STRICT):
		c->strict = true;
		break;
	case LONG_ONLY(KEY_DEFAULTS):
		c->defaults = true;
		break;
	case LONG_ONLY(KEY_EFFECTIVE):
		c->effective = true;
		break;
	case LONG_ONLY(KEY_JSON):
		c->json = true;
		break;
	case 'v':
		c->verbose = true;
		break;
	case 's':
		c->script = true;
		break;
	case 'S':
		c->socket = arg;
		break;
	case ARGP_KEY_ARG:
		if (!c->takes_words || c->nwords == 2)
			argp_error(state, "what is \"%s\"?", arg);
		else
			c->word[c->nwords++] = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void cli_parse(const struct cli_verb *v, int argc, char **argv, struct cli *out)
{
	struct argp_option options[NALL + 1] = {{0}};
	struct argp argp = {options, take, NULL, v->doc, NULL, NULL, NULL};
	char *name = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < NALL; i++)
		if (strchr(v->options, all[i].key & 0xff))
			options[n++] = all[i];
	if (asprintf(&name, "nfsd-io %s", v->name) < 0)
		exit(CLI_FAILED);
	argv[0] = name;
	memset(out, 0, sizeof(*out));
	out->name = name;
	out->takes_words = strchr(v->options, 'w');
	argp_err_exit_status = CLI_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, out))
		exit(CLI_FAILED);
}

void cli_free(struct cli *c)
{
	free(c->overrides);
	free(c->exports);
	free((char *)c->name);
	memset(c, 0, sizeof(*c));
}

int cli_serve(const struct cli *c)
{
	struct server_options o = {.conf_file = c->file,
				   .overrides = c->overrides,
				   .noverrides = c->noverrides,
				   .run = c->run,
				   .export_args = c->exports,
				   .nexport_args = c->nexports};
	int code = server_run(&o);

	conf_dirs_cleanup();
	return code;
}

int cli_config(const struct cli *c)
{
	struct conf_options o = {.file = c->file,
				 .overrides = c->overrides,
				 .noverrides = c->noverrides,
				 .export_args = c->exports,
				 .nexport_args = c->nexports};
	struct conf_errors e = {0};
	struct conf conf;
	int err;

	if (c->defaults == c->effective) {
		fprintf(stderr, "%s: one of --defaults and --effective must be given\n", c->name);
		return CLI_USAGE;
	}
	if (c->defaults) {
		conf_show_defaults(stdout);
		return ferror(stdout) || fflush(stdout) ? CLI_FAILED : CLI_OK;
	}
	err = conf_load(&conf, &o, &e);
	for (unsigned i = 0; i < e.n; i++)
		fprintf(stderr, "%s%s\n", e.warning[i] ? "warning: " : "", e.line[i]);
	if (!err)
		conf_show_effective(stdout, &conf);
	conf_free(&conf);
	conf_errors_free(&e);
	conf_dirs_cleanup();
	return err ? CLI_CONFIG : CLI_OK;
}

/* One verb whose answer is one object: as it is, or as `print` makes it readable. */
static int ask(const struct cli *c, const char *line,
	       void (*print)(FILE *out, const json_t *answer), json_t **keep)
{
	json_t *answer;
	int code = ctlclient_ask(c->name, c->socket, line, &answer);
	const json_t *o = json_array_get(answer, 0);

	if (!code && o && c->json) {
		json_dumpf(o, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
		putchar('\n');
	} else if (!code && o) {
		print(stdout, o);
	}
	*keep = answer;
	return code;
}

int cli_status(const struct cli *c)
{
	json_t *answer;
	int code = ask(c, "status", health_print, &answer);
	const char *state = json_string_value(json_object_get(json_array_get(answer, 0), "state"));

	if (!code && state && strcmp(state, "ok"))
		code = CLI_NO;
	json_decref(answer);
	return code;
}

int cli_stats(const struct cli *c)
{
	json_t *answer;
	int code = ask(c, "stats", stats_print, &answer);

	json_decref(answer);
	return code;
}

/* The words as they are: the server knows which it takes. */
static int ask_words(const struct cli *c, const char *verb, json_t **answer)
{
	char line[512];

	snprintf(line, sizeof(line), "%s%s%s%s%s", verb, c->nwords ? " " : "",
		 c->nwords ? c->word[0] : "", c->nwords > 1 ? " " : "",
		 c->nwords > 1 ? c->word[1] : "");
	return ctlclient_ask(c->name, c->socket, line, answer);
}

int cli_clients(const struct cli *c)
{
	json_t *answer;
	int code = ask_words(c, "clients", &answer);

	if (!code && c->json)
		json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	else if (!code && !c->nwords)
		nfs4state_print_clients(stdout, answer);
	else if (!code && !strcmp(c->word[0], "states"))
		nfs4state_print_states(stdout, answer);
	json_decref(answer);
	return code;
}

int cli_grace(const struct cli *c)
{
	json_t *answer;
	int code = ask_words(c, "grace", &answer);
	const json_t *o = json_array_get(answer, 0);

	if (!code && o && c->json)
		json_dumpf(o, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	else if (!code && o)
		nfs4state_print_grace(stdout, o);
	json_decref(answer);
	return code;
}

int cli_reload(const struct cli *c)
{
	json_t *answer;
	int code = ctlclient_ask(c->name, c->socket, "reload", &answer);

	json_decref(answer);
	return code;
}
