#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The configuration is described in four places: the table in the program, the sample, the man page, the completions.
srcdir=${srcdir:-.}
BUILDDIR=${BUILDDIR:-.}
. "$srcdir/tests/lib/tap.sh"
TAP_TMP=$(mktemp -d "${TMPDIR:-/tmp}/nfsd-io-test.XXXXXX") || exit 1
trap 'rm -rf "$TAP_TMP"' EXIT
nfsd_io=$BUILDDIR/nfsd-io/server/nfsd-io
server=$srcdir/nfsd-io/server
[ -x "$nfsd_io" ] || { echo "1..0 # SKIP $nfsd_io is not built"; exit 0; }

# "section key default" of each line "key = default" behind its section's heading; * and _ are scdoc's.
keys() { awk '
	/^(# )?\[[a-z]+\]$/ { gsub(/[][# ]/, ""); section = $0; next }
	/^\*?[a-z][a-z-]*\*? =/ && section { key = $1; gsub(/\*/, "", key); sub(/^[^=]*= ?/, ""); sub(/^\(empty\)$/, "")
		print section, key, $0 }
	/^# [^[]/ && FILENAME ~ /scd$/ { section = "" }' "$1" | sort; }

"$nfsd_io" config --defaults >"$TAP_TMP/defaults"
is "the sample is what config --defaults prints" "$(cat "$srcdir/etc/nfsd-io.conf")" "$(cat "$TAP_TMP/defaults")"
is "the man page has every key, with its default" "$(keys "$server/nfsd-io.conf.5.scd")" "$(keys "$TAP_TMP/defaults")"

effective() { "$nfsd_io" config --effective -f "$1"; }
: >"$TAP_TMP/empty.conf"
is "the sample says nothing that an empty file does not" \
	"$(effective "$srcdir/etc/nfsd-io.conf" 2>&1 | sed 's/ ; .*//; /key-file/d')" \
	"$(effective "$TAP_TMP/empty.conf" 2>&1 | sed 's/ ; .*//; /key-file/d')"
is "its own examples are valid once they are uncommented" \
	"$(sed 's/^#\([a-z[]\)/\1/' "$srcdir/etc/nfsd-io.conf" >"$TAP_TMP/all.conf"
	   effective "$TAP_TMP/all.conf" 2>&1 | tail -2)" \
	"$(printf '[export "/srv/data"]\nread-mode = buffered')"

# Everything in the exports sample parses: what check finds is only that the paths are not here.
sed 's/^#\([/"]\)/\1/' "$srcdir/etc/exports.sample" >"$TAP_TMP/exports"
"$nfsd_io" check -f "$TAP_TMP/empty.conf" -o "exports.file=$TAP_TMP/exports" -o "exports.directory=" \
	-o "nfsd.state-directory-path=$TAP_TMP" >"$TAP_TMP/check" 2>&1
is "the sample of exports has no mistake" "$(grep -E '(error|warning): .*exports:[0-9]+: ' "$TAP_TMP/check" |
	grep -v 'it will match nobody')" ""

# Each option a verb lists in its help is in the man page and in the completions, and the other way round.
options() { grep -oE -- '--[a-z]+(-[a-z]+)*' | sort -u | grep -vxE -- '--(help|usage|version)'; }
helps=$(for verb in serve check status stats exports clients grace reload config explain; do "$nfsd_io" $verb --help; done | options)
is "the man page has every option" "$(sed -n '/^# OPTIONS/,/^# THE/s/^\*.*/&/p' "$server/nfsd-io.8.scd" | options)" "$helps"
is "the completions have every option" "$(options <"$srcdir/etc/completions/nfsd-io")" "$helps"
ok "the completions are bash" bash -n "$srcdir/etc/completions/nfsd-io"

if command -v scdoc >/dev/null && command -v mandoc >/dev/null; then
	# scdoc itself writes paragraphs that mandoc calls empty, and lines longer than it likes.
	lint() { scdoc <"$server/$1.scd" >"$TAP_TMP/$1" && mandoc -T lint -W warning "$TAP_TMP/$1" |
		grep -v 'skipping paragraph macro'; }
	is "nfsd-io(8) is clean" "$(lint nfsd-io.8)" ""
	is "nfsd-io.conf(5) is clean" "$(lint nfsd-io.conf.5)" ""
fi
if command -v systemd-analyze >/dev/null; then
	sed "s|@sbindir@/nfsd-io|/bin/true|" "$srcdir/etc/nfsd-io.service.in" >"$TAP_TMP/nfsd-io.service"
	is "systemd accepts the unit" "$(systemd-analyze verify --man=no "$TAP_TMP/nfsd-io.service" 2>&1 |
		grep -F nfsd-io.service)" ""
fi
tap_done
