#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# WRITE data that goes through a pipe to the file is right at every offset, on every file system, by both engines; what
# cannot take the pipe is written from memory; who cuts the connection inside of a payload leaves nothing behind.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/e2e/matrix.sh"
need_root
need ss
need jq
MATRIX_FS="ext4 xfs tmpfs" MATRIX_MODES=buffered MATRIX_RULES="" matrix_exports
MATRIX_FS=ext4 MATRIX_MODES=direct MATRIX_RULES="" matrix_exports
load() { timeout 60 "$BUILDDIR/tools/nfsload" "$@" "$DAEMON_HOST" "$DAEMON_PORT" "$path" >/dev/null; }
rpc() { daemon_stat ".rpc.payload_$1"; }

# As the caller, set-id bits included.
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
perms=$FS_DIR
for e in plain rootsquash allsquash readonly; do
	mkdir -m 1777 "$perms/$e"
	printf '[export "%s"]\nwrite-mode = buffered\n' "$perms/$e" | daemon_conf
done
echo x >"$perms/readonly/file"
daemon_export "$perms/plain"
daemon_export "$perms/rootsquash" rw,root_squash,insecure
daemon_export "$perms/allsquash" rw,all_squash,anonuid=4242,anongid=4343,insecure
daemon_export "$perms/readonly" ro,no_root_squash,insecure

for engine in io_uring threads; do
	ok_here "daemon starts, $engine" daemon_start -o "io.engine=$engine" -o io.receive=splice || { tap_done; exit; }
	while IFS=$'\t' read -r name path; do
		before=$(rpc spliced)
		ok "$engine, $name: 1 MiB pieces are read back as written" load -s 1M -t 48M -d 4 -v
		ok "$engine, $name: misaligned ones too" load -s 700001 -t 48M -d 3 -v
		ok "$engine, $name: and those of several connections" load -s 600000 -t 48M -c 3 -d 3 -v
		spliced=$(($(rpc spliced) - before))
		case $name in
		*write=buffered*) ok "$engine, $name: by a pipe: $spliced bytes" [ $spliced -gt 60000000 ] ;;
		*) ok "$engine, $name: past the page cache none" [ $spliced -eq 0 ] ;;
		esac
		tap_adopt "$engine, $name, model" "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$path" 20251130 "${MODEL_OPS:-50}"
	done <"$TAP_TMP/list"
	before=$(rpc spliced)
	tap_adopt "$engine, permissions" "$BUILDDIR/tests/e2e/perms" "$DAEMON_HOST" "$DAEMON_PORT" \
		"$perms/plain" "$perms/rootsquash" "$perms/allsquash" "$perms/readonly"
	rm -rf "$perms"/{plain,rootsquash,allsquash}/*
	ok "$engine: set-id bits went with what came by a pipe" [ $(($(rpc spliced) - before)) -gt 1000000 ]
	ok_here "daemon drains and exits 0" daemon_stop
done

# Cut in the middle of payloads, again and again.
path=$(awk -F'\t' '/write=buffered/ { print $2; exit }' "$TAP_TMP/list")
ok_here "daemon starts" daemon_start -o io.receive=splice
cut() {
	local before pid
	before=$(rpc spliced)
	"$BUILDDIR/tools/nfsload" -w write -s 1M -t 64M -T 20 -c 4 -d 8 "$DAEMON_HOST" "$DAEMON_PORT" "$path" >/dev/null 2>&1 &
	pid=$!
	some() { [ "$(rpc spliced)" -gt "$((before + 20000000))" ]; }
	wait_for 20 some
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
}
quiet() { [ "$(daemon_stat '.connections.open, ([.workers[].buffers_in_use] | add)' | paste -sd,)" = 0,0 ]; }
cut
ok "after a cut nothing is in use" wait_for 20 quiet
fds=$(daemon_fds)
for _ in 1 2 3 4 5 6; do cut; done
ok "after many cuts nothing is in use" wait_for 20 quiet
no_more() { [ "$(daemon_fds)" -le "$fds" ]; }
ok "no descriptor is left behind (at most $fds)" wait_for 20 no_more
ok "and all is written as before" load -s 1M -t 32M -v
ok_here "daemon drains and exits 0" daemon_stop

# A full file system: what is left in the pipe goes nowhere, and into no other file.
: >"$TAP_TMP/full"
for fs in ext4 xfs; do
	size=64M
	[ $fs = xfs ] && size=320M
	fs_mount "$fs" $size || { tap_skip "$fs" "cannot be mounted here"; continue; }
	fallocate -l $(($(df --output=avail -B1 "$FS_DIR" | tail -1) - 7000000)) "$FS_DIR/ballast"
	daemon_export "$FS_DIR"
	printf '[export "%s"]\nread-mode = buffered\nwrite-mode = buffered\n' "$FS_DIR" | daemon_conf
	printf '%s\t%s\n' "$fs" "$FS_DIR" >>"$TAP_TMP/full"
done
ok_here "daemon starts" daemon_start -o io.receive=splice
while IFS=$'\t' read -r name dir; do
	for start in 0 1000; do
		tap_adopt "$name from $start by 1 MiB" "$BUILDDIR/tests/e2e/space" "$DAEMON_HOST" "$DAEMON_PORT" "$dir" $start 1048576 0
	done
done <"$TAP_TMP/full"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
