#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A Linux kernel client's backchannel: it answers what it is called with, binds connections anew when they were cut, and
# lets go at once at umount.  Then it mounts while others come without end, each of them new: MOUNT_SECONDS (2) at most.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/kernel/uml.sh"
uml_need
need jq
[ -x "$BUILDDIR/tests/e2e/flood4" ] || skip_all "tests/e2e/flood4 is not built"
compgen -G '/usr/lib/uml/modules/*/kernel/fs/nfs/nfsv4.ko' >/dev/null || skip_all "UML has no NFSv4 module"
uml_up
DAEMON_CLIENT=192.0.2.0/24
mkdir "$TAP_TMP/e"
daemon_export "$TAP_TMP/e"

# What the guest asks for in ./ask is done here.
cut() { "${DAEMON_PREFIX_NET[@]}" ss -K -Htn dst "$UML_GUEST" >/dev/null; }
up() { daemon_ctl clients states | tee "$TAP_TMP/states" | grep -qx 'callback state: UP'; }
flood() { # owners never heard of, by EXCHANGE_ID and SETCLIENTID
	"${DAEMON_PREFIX[@]}" timeout 200 "$BUILDDIR/tests/e2e/flood4" "$DAEMON_HOST" "$DAEMON_PORT" 100000000 1 >/dev/null 2>&1 &
	FLOOD=$!
	wait_for 20 flooded
}
flooded() { [ "$(daemon_stat .state.unconfirmed)" -ge 5000 ]; }
# It went on until now, and no more records are kept of it than may be.
ebb() {
	kill "$FLOOD" && flooded && [ "$(daemon_stat '.state.clients + .state.unconfirmed')" -le 10000 ]
}
called() { wait_for 20 up || { cat "$TAP_TMP/states"; daemon_ctl stats --json | jq .connections; return 1; }; }
boot_and_serve() {
	uml_run_serving "${KERNEL_TIMEOUT:-300}" "$(realpath "$srcdir/tests/kernel/guest-back")" "$DAEMON_PORT" "$TAP_TMP/e" \
		"${MOUNT_SECONDS:-2}"
}

ok_here "daemon starts" daemon_start || { tap_done; exit; }
ok_here "the guest boots and runs its script to the end" boot_and_serve
tap_adopt guest cat "$UML_WORK/tap"
daemon_ctl stats --json | jq -c .connections | sed 's/^/# /'
ok "calls were made" [ "$(daemon_stat .connections.clients_called)" -ge 4 ]
is "no reply came unasked" "$(daemon_stat .connections.unasked_replies)" 0
ok_here "daemon drains and exits 0" daemon_stop
tap_done
