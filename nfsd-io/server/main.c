/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "nfsd-io/server/cli.h"
#include "nfsd-io/server/conf_value.h"
#include "nfsd-io/server/explain.h"
#include "nfsd-io/server/process.h"

static const struct cli_verb verbs[] = {
	{"serve", "Serve what the configuration and exports(5) say, until SIGTERM.", "foer",
	 cli_serve},
	{"check", "Parse everything, open and examine each export, serve nothing.", "foet",
	 cli_check_run},
	{"explain", "Say how a READ or WRITE would be carried out.", "", NULL},
	{"status", "How the server and its exports are; 3 when one is down.", "jS", cli_status},
	{"stats", "Operations, bytes and decisions so far.", "jS", cli_stats},
	{"exports", "What is exported to whom.", "vsjS", cli_exports},
	{"clients",
	 "NFSv4 clients; states [N]: what they hold; expire N: the server forgets one of them.",
	 "wjS", cli_clients},
	{"grace", "Whether NFSv4 clients may reclaim after a start; end: no more.", "wjS",
	 cli_grace},
	{"reload", "Read configuration and exports again: all of it or, on a mistake, nothing.",
	 "S", cli_reload},
	{"config", "Print the configuration.", "foedc", cli_config},
};
#define NVERBS (sizeof(verbs) / sizeof(verbs[0]))

static const struct cli_verb *find(const char *name)
{
	for (unsigned i = 0; i < NVERBS; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static void usage(FILE *out)
{
	fprintf(out, "Usage: nfsd-io VERB [OPTION...]\n\n");
	for (unsigned i = 0; i < NVERBS; i++)
		fprintf(out, "  %-9s %s\n", verbs[i].name, verbs[i].doc);
	fprintf(out, "\nnfsd-io VERB --help lists its options; nfsd-io(8) explains them.\n");
}

static int unknown(const char *name)
{
	for (unsigned i = 0; i < NVERBS; i++) {
		if (conf_value_distance(verbs[i].name, name) <= conf_value_near(name)) {
			fprintf(stderr, "nfsd-io: no verb %s (did you mean %s?)\n", name,
				verbs[i].name);
			return CLI_USAGE;
		}
	}
	fprintf(stderr, "nfsd-io: no verb %s: see nfsd-io help\n", name);
	return CLI_USAGE;
}

static int run(const struct cli_verb *v, int argc, char **argv)
{
	struct cli c;
	int code;

	if (!v->run)
		return explain_main(argc, argv);
	cli_parse(v, argc, argv, &c);
	code = v->run(&c);
	cli_free(&c);
	return code;
}

static int verb(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	static char help[] = "--help";
	const struct cli_verb *v;

	if (!word) {
		usage(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(word, "-V") || !strcmp(word, "--version")) {
		printf("nfsd-io " PACKAGE_VERSION "\n");
		return CLI_OK;
	}
	if (!strcmp(word, "-h") || !strcmp(word, "--help") || (!strcmp(word, "help") && argc < 3)) {
		usage(stdout);
		return CLI_OK;
	}
	if (!strcmp(word, "help")) {
		char *words[] = {argv[2], help, NULL};

		v = find(argv[2]);
		return v ? run(v, 2, words) : unknown(argv[2]);
	}
	v = find(word);
	return v ? run(v, argc - 1, argv + 1) : unknown(word);
}

int main(int argc, char **argv)
{
	int code;

	if (argc > 1 && !strcmp(argv[1], "serve"))
		process_hold_hup();
	process_hold_std();
	code = verb(argc, argv);
	/* A script must not take half an answer, or none, for one. */
	if ((fflush(stdout) || ferror(stdout)) && code == CLI_OK) {
		perror("nfsd-io: standard output");
		code = CLI_FAILED;
	}
	return code;
}
