#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What libnfsdio.so shows and needs: only nfsdio_* outside, no RPC library inside.
srcdir=${srcdir:-.}
BUILDDIR=${BUILDDIR:-.}
. "$srcdir/tests/lib/tap.sh"
lib=$BUILDDIR/.libs/libnfsdio.so
[ -e "$lib" ] || skip_all "libnfsdio.so is not built"

symbols() { nm -D --defined-only "$lib" | awk -v not="${1-}" '$2 ~ /[A-Z]/ && $2 != not { print $3 }' | grep -vE '^(__asan|__odr|_init$|_fini$)'; }
exported() { symbols A | sed 's/@.*//'; }
only_ours() { ! symbols | grep -v '^nfsdio_'; }
ok "only nfsdio_* is exported" only_ours

# Every function the header declares, and no other.
as_declared() {
	diff <(exported | sort) \
		<(tr '\n' ' ' <"$srcdir/nfsd-io/core/nfsdio.h" | grep -oE 'NFSDIO_API [^;(]*\(' | grep -oE 'nfsdio_[a-z_]+\($' | tr -d '(' | sort)
}
ok "what is exported is what the header declares" as_declared

# A symbol without a version could never change its meaning.
versioned() { ! symbols A | grep -vE '@@nfsdio_[0-9.]+$'; }
ok "every symbol has a version" versioned

no_rpc() { ! readelf -d "$lib" | grep NEEDED | grep -iE 'tirpc|nfs\.|nsl|ganesha'; }
ok "no RPC library is needed" no_rpc
# The example copies aligned and misaligned records faithfully.
example() {
	local tmp rc=1
	tmp=$(mktemp -d) || return 1
	head -c 3333333 /dev/urandom >"$tmp/a"
	"$BUILDDIR/tools/libnfsdio-example" "$tmp/a" "$tmp/b" && cmp "$tmp/a" "$tmp/b" &&
		"$BUILDDIR/tools/libnfsdio-example" "$tmp/a" "$tmp/c" 47008 && cmp "$tmp/a" "$tmp/c" &&
		! "$BUILDDIR/tools/libnfsdio-example" "$tmp/none" "$tmp/d" && rc=0
	rm -rf "$tmp"
	return $rc
}
ok "the example program copies a file" example
tap_done
