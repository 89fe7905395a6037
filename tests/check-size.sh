#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Files are split by noun before they pass 600 lines, functions before they pass 60, lines before they pass 100 columns.
srcdir=${srcdir:-.}
. "$srcdir/tests/lib/tap.sh"
cd "$srcdir" || exit 1

# A switch or a table that is one thing, although long.
long_functions='because|changes|parse_opt'

sources() { find policy rpc nfsd-io tests tools -name '*.[ch]' ! -path 'rpc/nfs[34].[ch]' ! -path 'rpc/mount.[ch]'; }

short_files() {
	! { sources; find tests -name '*.sh' -o -path 'tests/e2e/*.t' -o -path 'tests/kernel/*.t'; } |
		xargs wc -l | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }' | grep .
}
ok "no file passes 600 lines" short_files

# In this style a function's braces, and only those, stand in the first column.
short_functions() {
	! sources | xargs awk -v allow="^($long_functions)\$" '
		FNR == 1 { start = 0 }
		/^[A-Za-z_].*\(/ && !start { sig = FNR; name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
			if (name ~ /^START_TEST$/) { name = $0; sub(/.*\(/, "", name); sub(/\).*/, "", name) } }
		/^\{/ { start = FNR }
		/^\}/ && start {
			if (FNR - start > 60 && name !~ allow) print FILENAME ":" sig ": " name ": " FNR - start - 1 " lines"
			start = 0
		}' | grep .
}
ok "no function passes 60 lines, but for the switches and tables named here" short_functions

# A table, and a file that would pass 600 lines if it were wrapped: it is to be split first.
wide_files='tests/e2e/types4.c|tests/e2e/longrun40.c'

narrow_lines() {
	! sources | grep -vxE "$wide_files" | xargs awk '{
			line = $0
			while (i = index(line, "\t"))
				line = substr(line, 1, i - 1) substr("        ", (i - 1) % 8 + 1) substr(line, i + 1)
			if (length(line) > 100) print FILENAME ":" FNR ": " length(line) " columns"
		}' | grep .
}
ok "no line passes 100 columns, but in the files named here" narrow_lines

tap_done
