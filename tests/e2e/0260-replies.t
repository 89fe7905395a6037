#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# READ data is right whichever way it leaves, at every alignment and at the end of the file; who cuts the connection
# under a reply leaves no pipe, buffer or descriptor behind.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/e2e/matrix.sh"
need_root
need ss
need jq
MATRIX_FS=ext4 MATRIX_MODES="buffered direct" MATRIX_RULES="" matrix_exports
MATRIX_FS="xfs btrfs tmpfs" MATRIX_MODES=direct MATRIX_RULES="" matrix_exports
dir=$(awk -F'\t' '/read=direct write=direct/ { print $2; exit }' "$TAP_TMP/list")

models() { # NAME: the model on each file system
	while IFS=$'\t' read -r name path; do
		tap_adopt "$1, $name" "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$path" 20251130 "${MODEL_OPS:-50}"
	done <"$TAP_TMP/list"
}

sent() { daemon_stat ".read_data.$1.replies"; }
for way in sendmsg splice zerocopy; do
	ok_here "daemon starts with reply $way" daemon_start -o "io.reply=$way" -o io.splice-buffered=y || { tap_done; exit; }
	models "$way"
	ok "$way is how it left" [ "$(sent "$way")" -gt 0 ]
	# Once the kernel is known to copy on a connection, all the rest is copied by us.
	[ "$way" = zerocopy ] || ok "the other way was not taken for most" [ "$(sent "$way")" -gt "$(sent zerocopy)" ]
	ok_here "daemon drains and exits 0" daemon_stop
done

# Large READs of files in the page cache, where that is allowed; never where the cache is to keep nothing.
kept=$(awk -F'\t' '/read=buffered write=buffered/ { print $2; exit }' "$TAP_TMP/list")
gone=${kept%/*}/gone
mkdir "$gone" && daemon_export "$gone" && daemon_conf <<<"[export \"$gone\"]"$'\nread-mode = dontcache'
read_large() { # PATH
	"$BUILDDIR/tools/nfsload" -w write -t 8M "$DAEMON_HOST" "$DAEMON_PORT" "$1" &&
		"$BUILDDIR/tools/nfsload" -w read -t 8M "$DAEMON_HOST" "$DAEMON_PORT" "$1"
} >/dev/null 2>&1
spliced() { # PATH: of its large READs
	local before
	before=$(sent splice)
	read_large "$1" && echo $(($(sent splice) - before))
}
ok_here "daemon starts with reply auto" daemon_start
is "auto does not splice cached data unasked" "$(spliced "$kept")" 0
ok_here "daemon drains and exits 0" daemon_stop
for way in auto splice; do
	ok_here "daemon starts with reply $way, cached data allowed" daemon_start -o "io.reply=$way" -o io.splice-buffered=y
	is "$way splices cached data where that is allowed" "$(spliced "$kept")" 8
	n=$(spliced "$gone")
	if "$NFSD_IO" explain read 0 1048576 --file "$gone/nfsload" --mode dontcache | grep -q ' dontcache$'; then
		is "$way splices nothing that is not to stay in the cache" "$n" 0
	else
		tap_skip "dontcache" "this kernel has no RWF_DONTCACHE"
	fi
	[ "$way" = splice ] || models "$way"
	ok_here "daemon drains and exits 0" daemon_stop
done

ok_here "daemon starts with the threads engine and splice" daemon_start -o io.engine=threads -o io.reply=splice
models "threads, splice"
ok "spliced by threads" [ "$(sent splice)" -gt 0 ]
ok_here "daemon drains and exits 0" daemon_stop

ok_here "daemon starts with splice from direct READs alone" daemon_start -o io.reply=splice
tap_adopt "splice, silent reader" "$BUILDDIR/tests/e2e/silent" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" 200 2 "$DAEMON_PID"

# Cut in the middle of replies, again and again.
load() { "$BUILDDIR/tools/nfsload" "$@" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" >/dev/null 2>&1; }
load -w write -t 64M
cut() {
	local before pid
	before=$(sent splice)
	"$BUILDDIR/tools/nfsload" -r -t 64M -T 20 -c 4 -d 8 "$DAEMON_HOST" "$DAEMON_PORT" "$dir" >/dev/null 2>&1 &
	pid=$!
	some() { [ "$(sent splice)" -gt "$((before + 20))" ]; }
	wait_for 20 some
	# Under the readers' feet: counts shrink, nothing else.
	truncate -s 33333333 "$dir/nfsload" && truncate -s 64M "$dir/nfsload"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
}
quiet() { [ "$(daemon_stat '.connections.open, ([.workers[].buffers_in_use] | add)' | paste -sd,)" = 0,0 ]; }
cut
ok "after a cut nothing is in use" wait_for 20 quiet
fds=$(daemon_fds)
for _ in 1 2 3 4 5 6 7 8; do cut; done
ok "after many cuts nothing is in use" wait_for 20 quiet
no_more() { [ "$(daemon_fds)" -le "$fds" ]; }
ok "no descriptor is left behind (at most $fds)" wait_for 20 no_more
ok_here "daemon drains and exits 0" daemon_stop
tap_done
