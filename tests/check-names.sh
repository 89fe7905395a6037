#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What nm sees: every global of foo.c begins foo_ (that of foo_part.c too, and of nfs3_part.c v3_), and none begins as those of libtirpc, libnfs or ganesha do:
# a program's symbol silently replaces the library's.
srcdir=${srcdir:-.}
BUILDDIR=${BUILDDIR:-.}
. "$srcdir/tests/lib/tap.sh"
libs=("$BUILDDIR"/.libs/lib*.a)
[ -e "${libs[0]}" ] || skip_all "no library is built"

# Files with a second noun: what the header names after what it describes.
declare -A also=(
	[cred]='rpccred_' # rpc/cred.c: core/cred.c has cred_
	[file]='fdcache_'
	[pool]='buf_'
)

# "library stem symbol" of all that is defined and global; libtool puts "libx_la-" before a stem.
globals() {
	nm -A --defined-only -g "${libs[@]}" 2>/dev/null |
		sed -nE 's|^([^:]*):([^:]*)\.o:[0-9a-f]* [A-Z] (.*)$|\1 \2 \3|p' |
		sed -E 's| [a-z0-9_]*_la-| |' | grep -vE ' (__|_GLOBAL_|\.)[^ ]*$'
}
list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
globals | sort -u >"$list"
[ -s "$list" ] || { echo "Bail out! nm shows nothing"; exit 1; }

# Made by rpcgen, whose names are the RFC's: kept out of every shared library by its visibility.
ours() { grep -v '/librpcgen\.a ' "$list" | grep -vE ' (nfs3|nfs4|mount) xdr_'; }

begins() {
	local lib stem noun symbol bad=0
	while read -r lib stem symbol; do
		noun=${stem%%_*}
		case $noun in nfs[34]) noun=v${noun#nfs};; esac
		case $symbol in "$stem" | "$noun"_*) continue;; esac
		[ -n "${also[$stem]}" ] && [[ $symbol =~ ^(${also[$stem]}) ]] && continue
		echo "${lib##*/}: $stem.c: $symbol"
		bad=1
	done < <(ours)
	return $bad
}
ok "every global of foo.c begins foo_" begins

foreign() { ! ours | awk '{ print $2 ".c: " $3 }' | grep -E ': (xdr|svc|clnt|rpc|nfs|nfs3|nfs4|mount|zdr|libnfs|auth|authnone|authunix|pmap|rpcb|fsal|cache_inode|mdcache)_'; }
ok "no global has a name of libtirpc, libnfs or ganesha" foreign

twice() { ! ours | awk '{ print $3, $2 }' | sort -u | awk '{ print $1 }' | uniq -d | grep .; }
ok "no name is defined by two files" twice
tap_done
