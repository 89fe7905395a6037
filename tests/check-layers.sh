#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who may include what: the layers of HACKING.md, read from the #include lines.
srcdir=${srcdir:-.}
. "$srcdir/tests/lib/tap.sh"
cd "$srcdir" || exit 1
tree=(policy rpc nfsd-io tools tests)

# Patterns (extended, whole name) of what a folder may include; "<...>" is a system header.
pure='<(stdint|stdbool|stddef|string|assert)\.h>'
codec='<(stdint|stdbool|stddef|stdlib|string|limits|endian|errno|assert|arpa/inet)\.h>|<rpc/(types|xdr)\.h>'
any='<.*>|"config\.h"'
declare -A may=(
	[policy]="$pure|\"policy/.*\""
	[rpc]="$codec|\"config\.h\"|\"rpc/.*\""
	[nfsd-io/core]="$any|\"policy/.*\"|\"nfsd-io/core/.*\""
	[nfsd-io/proto]="$any|\"policy/.*\"|\"rpc/.*\"|\"nfsd-io/(core|proto)/.*\""
	[nfsd-io/server]="$any|\"policy/.*\"|\"rpc/.*\"|\"nfsd-io/(core|proto|server)/.*\""
	[nfsd-io/ganesha]="$any|\"nfsd-io/(core|ganesha)/.*\""
	[tools]="$any|\"(policy|tools)/.*\"|\"tests/lib/.*\""
)

# Headers that one file or layer alone may see: pattern, then the files that may.
alone=(
	'<liburing.*>' 'nfsd-io/core/ring_uring\.c'
	'<sqlite3.*>' 'nfsd-io/proto/state4_record\.c'
	'<numa.*\.h>' 'nfsd-io/core/pool\.c'
	'<(jansson|ini|argp|systemd/.*)\.h>' '(nfsd-io/server|tools)/.*'
	'<openssl/.*>' 'nfsd-io/core/.*'
	'<rpc/.*>' '(rpc|nfsd-io/proto|nfsd-io/server)/.*'
	'<nfsc/.*>' 'tools/.*'
	'"nfsd-io/server/conf.*"' 'nfsd-io/server/.*'
)

# "file:line:<header.h>" of everything below the folders; what rpcgen makes in a build inside the tree is not ours.
includes() {
	find "$@" -name '*.[ch]' ! -path 'rpc/nfs[34].[ch]' ! -path 'rpc/mount.[ch]' -exec grep -Hn '^[[:space:]]*#[[:space:]]*include' {} + |
		sed -E 's/^([^:]*:[0-9]+:).*include[[:space:]]*([<"][^>"]*[>"]).*/\1\2/'
}

all=$(includes "${tree[@]}")

# Fails and names the lines when something else is included.
only() { # FOLDER PATTERN
	! grep "^$1/" <<<"$all" | grep -vE ":($2)\$"
}

reserved() { # HEADER-PATTERN FILE-PATTERN
	! grep -E ":($1)\$" <<<"$all" | grep -vE "^($2|tests/.*):[0-9]+:"
}

for folder in policy rpc nfsd-io/core nfsd-io/proto nfsd-io/server nfsd-io/ganesha tools; do
	[ -d "$folder" ] || continue
	ok "$folder includes only what its layer may" only "$folder" "${may[$folder]}"
done
for ((i = 0; i < ${#alone[@]}; i += 2)); do
	ok "${alone[i]} is seen by ${alone[i + 1]} alone" reserved "${alone[i]}" "${alone[i + 1]}"
done

# One way to the structure around a member.
by_hand() { ! grep -rnE '\(char \*\)[^+]*- ?offsetof' --include='*.[ch]' "${tree[@]}" | grep -v '^nfsd-io/core/container.h:'; }
ok "who wants the structure around a member asks container_of()" by_hand

# Without the quotes' search path, "rpc/..." and <rpc/...> would be mixed up.
relative() { ! grep -E ':"[^/"]*"$' <<<"$all" | grep -v ':"config.h"$'; }
ok "our headers are named from the top" relative

# A lock nobody knows about is a lock nobody can order.
locks() {
	local f bad=0
	while read -r f; do
		grep -qF "\`${f#nfsd-io/}\`" HACKING.md || { echo "$f"; bad=1; }
	done < <(grep -rlE 'pthread_(mutex|rwlock|spinlock)_t' nfsd-io --include='*.[ch]')
	return $bad
}
ok "every file with a lock is in HACKING.md's order" locks

# The names on standard input of files that have no line of PATTERN among their first LINES.
lack() { # LINES PATTERN
	xargs awk -v n="$1" -v pattern="$2" 'FNR > n { nextfile } $0 ~ pattern { found[FILENAME] }
		END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in found)) { print ARGV[i]; bad = 1 } exit bad }'
}

guards() { find "${tree[@]}" -name '*.h' ! -path 'rpc/nfs[34].h' ! -path 'rpc/mount.h' | lack 1000 '^#ifndef [A-Z0-9_]*_H$'; }
ok "every header has its guard" guards

spdx() {
	find "${tree[@]}" ! -path 'rpc/nfs[34].[ch]' ! -path 'rpc/mount.[ch]' \
		\( -name '*.[chx]' -o -name '*.sh' -o -path 'tests/e2e/*.t' -o -path 'tests/kernel/*.t' \) |
		lack 2 'SPDX-License-Identifier: LGPL-2.1-or-later'
}
ok "every source names its license" spdx
tap_done
