#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A Linux kernel client of NFSv4.0, 4.1 and 4.2 whose server is killed and started again while it copies and while it
# holds a lock another client is after, and whose connections are cut in the middle of I/O (KERNEL_CUTS: 50 times);
# then the client dies with a file open and locked, and the server ends.  KERNEL_VERSIONS narrows it down.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/kernel/uml.sh"
uml_need
compgen -G '/usr/lib/uml/modules/*/kernel/fs/nfs/nfsv4.ko' >/dev/null || skip_all "UML has no NFSv4 module"
DRILL=$(realpath "$BUILDDIR/tests/kernel/drill")
RIVAL=$(realpath "$BUILDDIR/tests/kernel/rival")
uml_up
DAEMON_CLIENT=192.0.2.0/24
fs_in_memory 1
fs_mount ext4 1G || skip_all "ext4 cannot be mounted here"
daemon_export "$FS_DIR"

# What the guest asks for.
restart() { daemon_kill; daemon_restart; }
rival() { "${DAEMON_PREFIX[@]}" "$RIVAL" "$DAEMON_HOST" "$DAEMON_PORT" "$@"; }

# Cut TIMES connections of PORT that carried data both ways: in the middle of I/O.
cut_busy() { # PORT TIMES
	local peer peers done=0 end=$((SECONDS + 200))
	while [ $done -lt "$2" ]; do
		[ $SECONDS -lt $end ] || { echo "no more busy connections after $done"; return 1; }
		mapfile -t peers < <(ss -Hitn state established sport "$1" | awk '/^[0-9]/ { peer = $4 }
			match($0, /bytes_acked:[0-9]+/) { acked = substr($0, RSTART + 12, RLENGTH - 12)
				if (acked > 10000 && match($0, /bytes_received:[0-9]+/) &&
				    substr($0, RSTART + 15, RLENGTH - 15) > 50000) print peer }')
		[ ${#peers[@]} -gt 0 ] || { read -rt 0.02 <>"$NEVER"; continue; }
		for peer in "${peers[@]}"; do
			ss -K -Htn state established sport "$1" dst "$peer" | grep -q . && done=$((done + 1))
		done
	done
	echo "$done connections cut"
}
export -f cut_busy
export NEVER=$UML_NEVER
cut() { "${DAEMON_PREFIX_NET[@]}" bash -c 'cut_busy "$@"' cut "$DAEMON_PORT" "$1"; }

boot_and_serve() {
	uml_run_serving "${KERNEL_TIMEOUT:-900}" "$(realpath "$srcdir/tests/kernel/guest-restart")" "$DAEMON_PORT" \
		"$DRILL" "$FS_DIR" ext4 "${KERNEL_CUTS:-50}" ${KERNEL_VERSIONS:-4.1 4.2 4.0}
}

ok_here "daemon starts" daemon_start -o nfsd.lease-time=5 -o nfsd.grace-time=10 || { tap_done; exit; }
ok_here "the guest boots and runs its script to the end" boot_and_serve
tap_adopt guest cat "$UML_WORK/tap"
ok "it left a file open and locked" [ "$(daemon_stat '.state.opens > 0 and .state.locks > 0')" = true ]
ok_here "daemon drains and exits 0, whose client died with a file open and locked" daemon_stop
tap_done
