#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Callers act as themselves on the file system: owner override, groups, squashing, set-id bits, read-only exports.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
for engine in io_uring threads; do
	: >"$DAEMON_DIR/exports"
	fs_mount ext4 || skip_all "ext4 cannot be mounted here"
	base=$FS_DIR
	for e in plain rootsquash allsquash readonly; do
		mkdir -m 1777 "$base/$e"
	done
	echo x >"$base/readonly/file"
	daemon_export "$base/plain"
	daemon_export "$base/rootsquash" rw,root_squash,insecure
	daemon_export "$base/allsquash" rw,all_squash,anonuid=4242,anongid=4343,insecure
	daemon_export "$base/readonly" ro,no_root_squash,insecure
	ok_here "daemon starts with engine $engine" daemon_start -o "io.engine=$engine" || { tap_done; exit; }
	tap_adopt "$engine" "$BUILDDIR/tests/e2e/perms" "$DAEMON_HOST" "$DAEMON_PORT" \
		"$base/plain" "$base/rootsquash" "$base/allsquash" "$base/readonly"
	ok_here "daemon drains and exits 0" daemon_stop
done
tap_done
