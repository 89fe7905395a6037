#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Without privileges: no capability, another user's process; the same clients work, as that user.  Root without some.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss setpriv
fs_mount dir
chown 65534:65534 "$FS_DIR"
chown -R 65534:65534 "$DAEMON_DIR"
daemon_export "$FS_DIR" rw,all_squash,anonuid=65534,anongid=65534,insecure
DAEMON_PREFIX=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all)
chmod 755 "$TAP_TMP"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
is "it runs as nobody" "$(stat -c %u "/proc/$DAEMON_PID")" 65534
is "with no capability" "$(awk '/^CapEff/ { print $2 }' "/proc/$DAEMON_PID/status")" 0000000000000000
tap_adopt "model" "$BUILDDIR/tests/e2e/model" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" 7 300
tap_adopt "mixed" "$BUILDDIR/tests/e2e/mixed" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" 7 8000000
tap_adopt "handles" "$BUILDDIR/tests/e2e/handles" save "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" "$TAP_TMP/handles"
mv "$FS_DIR/kept" "$FS_DIR/kept.away" && mv "$FS_DIR/kept.away" "$FS_DIR/kept"
tap_adopt "handles" "$BUILDDIR/tests/e2e/handles" check "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" "$TAP_TMP/handles"
ok_here "daemon drains and exits 0" daemon_stop
ok_here "daemon starts again" daemon_restart
tap_adopt "handles after a restart" "$BUILDDIR/tests/e2e/handles" check "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR" \
	"$TAP_TMP/handles"
ok_here "daemon drains and exits 0" daemon_stop
# Root in a container that lacks the capabilities to be anybody else: what is asked as another must not be done as root.
DAEMON_PREFIX=(setpriv --bounding-set=-setuid --inh-caps=-setuid)
: >"$DAEMON_DIR/exports"
daemon_export "$FS_DIR" rw,insecure
chown -R 0:0 "$FS_DIR" "$DAEMON_DIR"
: >"$DAEMON_DIR/log"
is "root without CAP_SETUID does not serve callers that it would make root" "$(daemon_start >/dev/null; echo $?)" 6
ok "and says why" grep -qF "every caller would be root" "$DAEMON_DIR/log"
: >"$DAEMON_DIR/exports"
daemon_export "$FS_DIR" rw,insecure,all_squash,anonuid=0,anongid=0
ok_here "unless all are squashed to root, in so many words" daemon_start
ok_here "daemon drains and exits 0" daemon_stop
# Anybody else may serve what is his, but tells that squashing is not what the options say.
DAEMON_PREFIX=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all)
chown -R 65534:65534 "$DAEMON_DIR" "$FS_DIR"
: >"$DAEMON_DIR/exports"
daemon_export "$FS_DIR" rw,insecure
ok_here "another user's server serves callers that it cannot become" daemon_start
ok "and warns that all are that user" eval 'daemon_ctl status | grep -qF "every caller acts as uid 65534"'
ok_here "daemon drains and exits 0" daemon_stop
# the embedded default: no file at all, as nobody
run=$TAP_TMP/run
mkdir -m 700 "$run"
chown 65534:65534 "$run"
cp "$NFSD_IO" "$BUILDDIR/tests/e2e/model" "$TAP_TMP/" # where nobody may go
ok "serve --export with no file at all runs as nobody" env XDG_RUNTIME_DIR="$run" HOME="$run" "${DAEMON_PREFIX[@]}" \
	"$TAP_TMP/nfsd-io" serve --export "$FS_DIR" -o nfsd.port=0 --run \
	"$TAP_TMP/model 127.0.0.1 \$NFSD_IO_PORT '$FS_DIR' 8 50"
tap_done
