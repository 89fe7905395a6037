#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4 client ids: made, confirmed, ended; what the operator sees.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need jq
daemon_one_export
tap_adopt clients "$BUILDDIR/tests/e2e/clients" "$DAEMON_HOST" "$DAEMON_PORT"
own() { daemon_ctl clients --json | jq -r ".[] | select(.name == \"own\") | $1"; }
is "clients shows who is there" "$(own '"\(.status) 4.\(.minor_version) \(.sessions)"')" "confirmed 4.1 1"
ok "clients is a table, too" grep -qE '4\.1 .*confirmed .*own$' <(daemon_ctl clients)
ok "clients expire takes one away" daemon_ctl clients expire "$(own .number)"
is "it is gone" "$(own .number)" ""
fails() { ! "$@" 2>/dev/null; }
ok "there is no client 0" fails daemon_ctl clients expire 0
ok "clients takes no other word" fails daemon_ctl clients frobnicate 1
ok "and says which it takes" grep -q "expire N" <(daemon_ctl clients expire 2>&1)
mkdir "$TAP_TMP/second"
second() {
	timeout 20 "$NFSD_IO" serve -f /dev/null -o control.socket="$DAEMON_DIR/ctl" -o nfsd.port=0 -o nfsd.rpcbind=n \
		-o nfsd.state-directory-path="$TAP_TMP/second" -o log.target=stderr \
		--export "$EXPORT" 2>&1
}
ok "a second server is told that its control socket is taken" grep -q "another server answers there" <(second)
is "no grace without records of before" "$(daemon_ctl grace)" "no grace"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
