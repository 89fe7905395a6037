/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs of the command line.  Each takes what cli_parse() found and returns the exit code. */
#ifndef SERVER_CLI_H
#define SERVER_CLI_H

#include <stdbool.h>

enum cli_code {
	CLI_OK,
	CLI_FAILED, /* at run time; check: problems found */
	CLI_USAGE,
	CLI_NO, /* the answer is no: status of a degraded server */
	CLI_NOT_PERMITTED,
	CLI_MISSING, /* kernel or build lacks something required */
	CLI_CONFIG,  /* configuration or exports wrong, or nothing to export */
	CLI_NOT_RUNNING,
};

struct cli {
	const char *name; /* "nfsd-io serve", for messages */
	const char *file, *run, *socket;
	char **overrides, **exports; /* arrays of argv's strings; freed by cli_free() */
	unsigned noverrides, nexports;
	const char *word[2]; /* behind the verb, where it takes some */
	unsigned nwords;
	bool takes_words;
	bool json, strict, verbose, script, defaults, effective;
};

struct cli_verb {
	const char *name, *doc;
	const char *options; /* letters of cli.c's option table that it takes; w: words */
	int (*run)(const struct cli *c);
};

/* Parse argv[1..] by the verb's options; exits with CLI_USAGE on a mistake, 0 after --help. */
void cli_parse(const struct cli_verb *v, int argc, char **argv, struct cli *out);
void cli_free(struct cli *c);

int cli_check_run(const struct cli *c);
int cli_serve(const struct cli *c);
int cli_config(const struct cli *c);
int cli_status(const struct cli *c);
int cli_stats(const struct cli *c);
int cli_exports(const struct cli *c);
int cli_reload(const struct cli *c);
int cli_clients(const struct cli *c);
int cli_grace(const struct cli *c);

#endif
