#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# io_uring refused: the daemon says why, takes threads, and serves the same.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
before=$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)
restore() { [ -z "$before" ] || echo "$before" >/proc/sys/kernel/io_uring_disabled; }
trap 'restore; cleanup' EXIT
if [ -n "$before" ] && echo 2 >/proc/sys/kernel/io_uring_disabled 2>/dev/null; then
	ok_here "daemon starts where the sysctl forbids io_uring" daemon_start
	restore
	ok "status names the engine" bash -c "'$NFSD_IO' status -S '$DAEMON_DIR/ctl' | grep -w threads"
	ok "and the sysctl" bash -c "'$NFSD_IO' status -S '$DAEMON_DIR/ctl' | grep io_uring_disabled ||
		grep io_uring_disabled '$DAEMON_DIR/log'"
	tap_adopt "model" "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" 9 300
	tap_adopt "mixed" "$BUILDDIR/tests/e2e/mixed" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" 9 8000000
	ok_here "daemon drains and exits 0" daemon_stop
else
	tap_skip "io_uring forbidden by sysctl" "kernel.io_uring_disabled cannot be set"
fi
tap_done
