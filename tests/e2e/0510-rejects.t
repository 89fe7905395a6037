#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What RPC refuses and bad handles, each with its reason, and the connection lives on (BR-32).
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
tap_adopt rejects "$BUILDDIR/tests/e2e/rejects" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
