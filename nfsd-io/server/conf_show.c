/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include "nfsd-io/server/conf_show.h"

#include <string.h>

#include "nfsd-io/server/conf_table.h"
#include "nfsd-io/server/conf_value.h"

static void section(FILE *out, unsigned i)
{
	if (!i || strcmp(conf_table[i].section, conf_table[i - 1].section))
		fprintf(out, "%s[%s]\n", i ? "\n" : "", conf_table[i].section);
}

static void assignment(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s =%s%s", name, *value ? " " : "", value);
}

void conf_show_defaults(FILE *out)
{
	fputs("# Configuration of nfsd-io, in the grammar of nfs.conf(5): see nfsd-io.conf(5).\n"
	      "# Every value below is the default; an empty file is valid.\n"
	      "# The .conf files of conf.d beside this file are read after it, in name order.\n\n",
	      out);
	for (unsigned i = 0; i < conf_table_len; i++) {
		section(out, i);
		fprintf(out, "# %s\n", conf_table[i].doc);
		assignment(out, conf_table[i].name, conf_table[i].def);
		fputc('\n', out);
	}
	fputs("\n# Any of the [io] keys read-mode, write-mode, rule, read-direct-min, min-middle,\n"
	      "# on-unsupported, reply, splice-buffered and receive may differ for one exported "
	      "path:\n"
	      "#[export \"/srv/data\"]\n"
	      "#read-mode = buffered\n",
	      out);
}

static void show_export(FILE *out, const struct conf_export *x)
{
	fprintf(out, "\n[export \"%s\"]\n", x->path);
	for (unsigned i = 0; i < conf_table_len; i++) {
		const struct conf_key *k = &conf_table[i];
		char value[256];

		if (!k->set_offset || !*(const bool *)((const char *)x + k->set_offset))
			continue;
		conf_value_print(k, (const char *)&x->io + (k->offset - offsetof(struct conf, io)),
				 value, sizeof(value));
		assignment(out, k->name, value);
		fputc('\n', out);
	}
}

void conf_show_effective(FILE *out, const struct conf *c)
{
	for (unsigned i = 0; i < conf_table_len; i++) {
		const struct conf_key *k = &conf_table[i];
		const struct conf_where *w = &c->where[i];
		char value[4096];

		section(out, i);
		conf_value_print(k, (const char *)c + k->offset, value, sizeof(value));
		assignment(out, k->name, value);
		if (w->file && w->line)
			fprintf(out, " ; %s:%u", w->file, w->line);
		else if (w->file)
			fprintf(out, " ; %s", w->file);
		fputc('\n', out);
	}
	for (unsigned i = 0; i < c->nexports; i++)
		show_export(out, &c->exports[i]);
}
