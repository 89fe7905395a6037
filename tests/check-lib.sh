#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What libnfsdio.so shows and needs: only nfsdio_* outside, no RPC library inside.
srcdir=${srcdir:-.}
BUILDDIR=${BUILDDIR:-.}
. "$srcdir/tests/lib/tap.sh"
lib=$BUILDDIR/.libs/libnfsdio.so
[ -e "$lib" ] || skip_all "libnfsdio.so is not built"

exported() { nm -D --defined-only "$lib" | awk '$2 ~ /[A-Z]/ { print $3 }' | grep -vE '^(__asan|__odr|_init$|_fini$)'; }
only_ours() { ! exported | grep -v '^nfsdio_'; }
ok "only nfsdio_* is exported" only_ours

# Every function the header declares, and no other.
as_declared() {
	diff <(exported | sort) \
		<(tr '\n' ' ' <"$srcdir/nfsd-io/core/nfsdio.h" | grep -oE 'NFSDIO_API [^;(]*\(' | grep -oE 'nfsdio_[a-z_]+\($' | tr -d '(' | sort)
}
ok "what is exported is what the header declares" as_declared

no_rpc() { ! readelf -d "$lib" | grep NEEDED | grep -iE 'tirpc|nfs\.|nsl|ganesha'; }
ok "no RPC library is needed" no_rpc
tap_done
