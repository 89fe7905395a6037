#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Reload while clients work: unchanged, added, removed, changed and broken exports; a hundred in a row.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
mkdir "$FS_DIR/a" "$FS_DIR/b"
daemon_export "$FS_DIR/a"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
(
	rc=0
	while [ ! -e "$TAP_TMP/enough" ] && [ $rc -eq 0 ]; do
		"$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR/a" $RANDOM 100
		rc=$?
	done
	exit $rc
) >"$TAP_TMP/load" 2>&1 &
load=$!
mnt() { "$BUILDDIR/tests/e2e/handles" stale "$DAEMON_HOST" "$DAEMON_PORT" "$1" /dev/null; }
handles() { "$BUILDDIR/tests/e2e/handles" "$1" "$DAEMON_HOST" "$DAEMON_PORT" "$2" "$TAP_TMP/h"; }
ok "reload of the same files" daemon_ctl reload
daemon_export "$FS_DIR/b"
ok "reload with one more export" daemon_ctl reload
tap_adopt "the new export" handles save "$FS_DIR/b"
cp "$DAEMON_DIR/exports" "$TAP_TMP/good"
echo "$FS_DIR/b 127.0.0.1(rw,no_such_option)" >>"$DAEMON_DIR/exports"
ok "reload of a broken exports file fails" bash -c "! '$NFSD_IO' reload -S '$DAEMON_DIR/ctl'"
tap_adopt "the old exports go on" handles check "$FS_DIR/b"
kill -HUP "$DAEMON_PID"
tap_adopt "nor does SIGHUP take a broken file" handles check "$FS_DIR/b"
cp "$TAP_TMP/good" "$DAEMON_DIR/exports"
sed -i "\\|/b\"|d" "$DAEMON_DIR/exports"
ok "reload without it" daemon_ctl reload
tap_adopt "the removed export" handles stale "$FS_DIR/b"
for i in {1..100}; do
	# by rename: a file caught half written would be a mistake of ours
	cp "$TAP_TMP/good" "$TAP_TMP/next"
	[ $((i % 2)) = 0 ] || sed -i "\\|/b\"|d" "$TAP_TMP/next"
	mv "$TAP_TMP/next" "$DAEMON_DIR/exports"
	kill -HUP "$DAEMON_PID"
done
ok "a hundred SIGHUPs leave it alive" daemon_alive
ok "which answers" daemon_ctl status --json
touch "$TAP_TMP/enough"
wait $load
is "I/O on the other export was not disturbed" $? 0
grep -B3 '^not ok' "$TAP_TMP/load" | sed 's/^/# /'
: >"$DAEMON_DIR/exports"
daemon_ctl reload >/dev/null 2>&1
ok "removing the last export does not kill it" daemon_alive
ok_here "daemon drains and exits 0" daemon_stop

# From the first thing it does on, a SIGHUP waits until it can be answered.  What comes before, while the program is
# still being loaded, is the kernel's to decide.
cp "$TAP_TMP/good" "$DAEMON_DIR/exports"
DAEMON_PREFIX=(bash -c '
	( until [[ $(readlink "/proc/$$/exe") = */nfsd-io ]] && grep -q "^SigBlk:.*[13579bdf]$" "/proc/$$/status"; do
		kill -0 $$ || exit
	done
	for i in {1..50}; do kill -HUP $$; done ) 2>/dev/null &
	exec "$@"' -)
ok_here "a server that is told to reload while it starts" daemon_restart
ok "is alive" daemon_alive
ok "answers" daemon_ctl status --json
DAEMON_PREFIX=()
ok_here "drains and exits 0" daemon_stop

# Whoever asks while it stops gets an answer or none; what the answer is made of lives until then (TSan and ASan look on).
for i in 1 2 3; do
	ok_here "asked all the time: starts" daemon_restart
	asking=()
	for verb in status stats exports clients grace; do
		(while daemon_ctl "$verb" --json; do :; done) >/dev/null 2>&1 &
		asking+=($!)
	done
	ok "asked all the time: works" "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR/a" "$i" 20
	ok_here "asked all the time: drains and exits 0" daemon_stop
	wait "${asking[@]}"
done
tap_done
