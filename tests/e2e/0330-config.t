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
# What serve would stumble over later, check finds.
checks() { # prints what it said; status of check
	"$NFSD_IO" check -f "$DAEMON_DIR/conf" -o "nfsd.state-directory-path=$DAEMON_DIR/state" \
		-o "exports.file=$DAEMON_DIR/exports" -o "exports.directory=$DAEMON_DIR/exports.d" "$@" 2>&1
}
finds() { # WHAT STATUS TEXT OPTION [EXIT]: check answers STATUS and names TEXT; serve exits 6, or EXIT
	checks -o "$4" >"$TAP_TMP/said"
	is "check finds $1" $? "$2"
	ok "and names it" says "$3"
	serve -o "$4" >"$TAP_TMP/said"
	is "serve exits ${5:-6} with it" $? "${5:-6}"
}
ok_here "check finds nothing where nothing is wrong" checks
finds "a host that is none" 1 "[nfsd] host: 999.1.1.1" nfsd.host=999.1.1.1
finds "a congestion control the kernel does not know" 1 "[nfsd] congestion-control: \"rneo\"" nfsd.congestion-control=rneo
finds "a state directory that cannot be made" 1 "[nfsd] state-directory-path: $TAP_TMP/no" \
	"nfsd.state-directory-path=$TAP_TMP/no/where" 1
finds "a key that is none" 1 "[filehandle] key-file: $DAEMON_DIR/conf" "filehandle.key-file=$DAEMON_DIR/conf"
finds "a socket's name that is too long" 6 "[control] socket" "control.socket=/$(printf '%0200d' 0)"
for what in "check -f $DAEMON_DIR/conf -o exports.file=$DAEMON_DIR/exports" "config --defaults" "config --effective" \
	"explain write 1000 1M" help -V; do
	# shellcheck disable=SC2086
	"$NFSD_IO" $what >/dev/full 2>/dev/null
	ok "$what: no success when the answer cannot be written" [ $? -ne 0 ]
done
# As exports(5) says: a file system that has no UUID wants fsid=.
if FS_NO_UUID=y fs_mount ext4; then
	daemon_export "$FS_DIR"
	checks >"$TAP_TMP/said"
	ok "check asks for fsid= where there is no UUID" says "$FS_DIR: its file system (ext4) has no UUID"
	sed -i "\\:$FS_DIR:s:(:(fsid=7,:" "$DAEMON_DIR/exports"
	checks >"$TAP_TMP/said"
	is "and is content with it" "$?$(grep -c UUID "$TAP_TMP/said")" 00
	sed -i "\\:$FS_DIR:d" "$DAEMON_DIR/exports"
else
	tap_skip "a file system without a UUID" "ext4 cannot be mounted here"
fi
daemon_export "$TAP_TMP/absent"
"$NFSD_IO" check -f "$DAEMON_DIR/conf" -o "exports.file=$DAEMON_DIR/exports" \
	-o "exports.directory=$DAEMON_DIR/exports.d" >"$TAP_TMP/said" 2>&1
is "check finds the missing directory" $? 1
ok "and names it" says "$TAP_TMP/absent"
tap_done
