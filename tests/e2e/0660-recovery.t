#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The server is killed: who held something gets it back, nobody else meanwhile, and nobody waits for nothing.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq python3
mkdir -p "$TAP_TMP/export"
daemon_export "$TAP_TMP/export"
steps() { "$BUILDDIR/tests/e2e/recovery" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/export" "$@"; }
grace() { daemon_ctl grace --json | jq -r "$1"; }
no_grace() { [ "$(grace .grace)" = false ]; }

# Who is recorded, as nfsdclddb(8) reads it: by its own program where that is installed.
records() {
	if command -v nfsdclddb >/dev/null; then
		nfsdclddb -p "$DAEMON_DIR/state/main.sqlite" print | sed -n '/current epoch:/,/recovery epoch:/s/^id = \([^,]*\),.*/\1/p'
	else
		python3 - "$DAEMON_DIR/state/main.sqlite" <<-'END'
			import sqlite3, sys
			con = sqlite3.connect(sys.argv[1])
			version, = con.execute('select value from parameters where key = "version"').fetchone()
			assert int(version) == 4
			current, recovery = con.execute('select current, recovery from grace').fetchone()
			for id, princhash in con.execute('select id, princhash from "rec-%016x"' % current):
			    print(id.decode())
		END
	fi | sort | paste -sd' '
}

ok_here "daemon starts" daemon_start || { tap_done; exit; }
is "nothing to wait for at a first start" "$(grace .grace)" false
tap_adopt first steps hold
is "the client is recorded" "$(records)" holder

daemon_kill
ok_here "killed, it starts again" daemon_restart
is "it waits for its one client" "$(grace '"\(.grace) \(.clients) \(.reclaimed)"')" "true 1 0"
is "and has none yet" "$(records)" ""
tap_adopt second steps other-waits reclaim other-opens
is "nobody is waited for any more" "$(grace .grace)" false
is "both are recorded" "$(records)" "holder other"

daemon_kill
ok_here "killed again, it starts again" daemon_restart
is "it waits for two" "$(grace .clients)" 2
tap_adopt third steps other-waits
daemon_kill
ok_here "killed while it waited, it starts again" daemon_restart
is "it waits for the same two" "$(grace .clients)" 2
ok "grace end stops it" daemon_ctl grace end
tap_adopt fourth steps other-opens late

daemon_kill
ok_here "with a grace of one second it starts again" daemon_start -o nfsd.grace-time=1
ok "grace ends by itself" wait_for 10 no_grace
tap_adopt fifth steps other-opens
ok_here "daemon drains and exits 0" daemon_stop
is "an orderly end keeps the records" "$(records)" other
tap_done
