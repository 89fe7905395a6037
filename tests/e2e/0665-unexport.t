#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# An export with files open and locked over NFSv4 is taken away: its file system can be unmounted, and the clients are told.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
mkdir "$TAP_TMP/stays"
daemon_export "$TAP_TMP/stays"
cp "$DAEMON_DIR/exports" "$TAP_TMP/without"
daemon_export "$FS_DIR"
cp "$DAEMON_DIR/exports" "$TAP_TMP/with"

# What the client asks for, by commands of its own.
change() {
	printf '[export "%s"]\nwrite-mode = buffered\n' "$FS_DIR" >>"$DAEMON_DIR/conf"
	daemon_ctl reload
}
unexport() {
	cp "$TAP_TMP/without" "$DAEMON_DIR/exports"
	: >"$DAEMON_DIR/conf"
	daemon_ctl reload && wait_for 10 umount "$FS_DIR"
}
export_again() {
	mount -o loop "$FS_IMAGE" "$FS_DIR" && cp "$TAP_TMP/with" "$DAEMON_DIR/exports" && daemon_ctl reload
}
{
	declare -p DAEMON_DIR FS_DIR FS_IMAGE NFSD_IO TAP_TMP
	declare -f change unexport export_again daemon_ctl wait_for
	echo '"$@" >&2'
} >"$TAP_TMP/do"

ok_here "daemon starts" daemon_start || { tap_done; exit; }
tap_adopt unexport timeout 100 "$BUILDDIR/tests/e2e/unexport" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" "$TAP_TMP/stays" \
	"bash $TAP_TMP/do change" "bash $TAP_TMP/do unexport" "bash $TAP_TMP/do export_again"
ok "the log says what was revoked" grep -q "$FS_DIR: no longer exported: 4 opens and locks revoked" "$DAEMON_DIR/log"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
