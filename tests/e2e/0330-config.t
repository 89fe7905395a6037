#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Configuration errors: all of them, with file and line, exit status 6, before any port is bound.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need ss
serve() { # prints what it said; status of serve
	"$NFSD_IO" serve -f "$DAEMON_DIR/conf" -o nfsd.port=0 -o nfsd.host=127.0.0.1 -o nfsd.rpcbind=n \
		-o "nfsd.state-directory-path=$DAEMON_DIR/state" -o "exports.file=$DAEMON_DIR/exports" \
		-o "exports.directory=$DAEMON_DIR/exports.d" -o "control.socket=$DAEMON_DIR/ctl" \
		--run true "$@" </dev/null 2>&1
}
says() { grep -qF -- "$1" "$TAP_TMP/said" || { cat "$TAP_TMP/said"; return 1; }; }

printf '%s\n' '[io]' 'raed-mode = direct' 'write-mode = fast' '[nfsd]' 'port = 70000' '[nosuch]' 'x = 1' >"$DAEMON_DIR/conf"
mkdir "$TAP_TMP/export"
daemon_export "$TAP_TMP/export"
serve >"$TAP_TMP/said"
is "a wrong configuration exits 6" $? 6
ok "it names file and line of the unknown key" says "conf:2:"
ok "and guesses what was meant" says "read-mode"
ok "it names the bad value too" says "conf:3:"
ok "and the number out of range" says "conf:5:"
ok "and the unknown section" says "nosuch"
: >"$DAEMON_DIR/conf"
: >"$DAEMON_DIR/exports"
serve >"$TAP_TMP/said"
is "nothing to export exits 6" $? 6
echo "$TAP_TMP/export 127.0.0.1(rw,nosuchoption)" >"$DAEMON_DIR/exports"
serve >"$TAP_TMP/said"
is "a wrong exports file exits 6" $? 6
ok "and names its line" says "exports:1:"
: >"$DAEMON_DIR/exports"
daemon_export "$TAP_TMP/export"
daemon_export "$TAP_TMP/absent"
serve >"$TAP_TMP/said"
is "one missing directory does not stop the others" $? 0
serve -o io.write-mode=quick >"$TAP_TMP/said"
is "a wrong -o exits 6" $? 6
"$NFSD_IO" serve --no-such-option >"$TAP_TMP/said" 2>&1
is "a wrong option exits 2" $? 2
"$NFSD_IO" status -S "$TAP_TMP/nobody-listens" >"$TAP_TMP/said" 2>&1
is "status with no daemon exits 7" $? 7
for mode in 0 1 2 buffered dontcache direct; do
	serve -o "io.read-mode=$mode" >"$TAP_TMP/said"
	is "io-mode $mode is understood" $? 0
done
# Descriptors that came closed: files of the server must not take their place, or log and data mix.
: >"$DAEMON_DIR/exports"
daemon_export "$TAP_TMP/export"
for fd in 0 1 2; do
	eval "'$NFSD_IO' serve -f '$DAEMON_DIR/conf' -o nfsd.port=0 -o nfsd.host=127.0.0.1 -o nfsd.rpcbind=n \
		-o 'nfsd.state-directory-path=$DAEMON_DIR/state' -o 'exports.file=$DAEMON_DIR/exports' \
		-o 'exports.directory=$DAEMON_DIR/exports.d' -o 'control.socket=$DAEMON_DIR/ctl' \
		--run 'readlink /proc/\$PPID/fd/$fd >$TAP_TMP/fd' </dev/null >/dev/null 2>&1 $fd>&-"
	is "descriptor $fd that came closed is /dev/null" "$(cat "$TAP_TMP/fd")" /dev/null
done
daemon_export "$TAP_TMP/absent"
"$NFSD_IO" check -f "$DAEMON_DIR/conf" -o "exports.file=$DAEMON_DIR/exports" \
	-o "exports.directory=$DAEMON_DIR/exports.d" >"$TAP_TMP/said" 2>&1
is "check finds the missing directory" $? 1
ok "and names it" says "$TAP_TMP/absent"
tap_done
