#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A Linux kernel client on every pair of io-modes over ext4 and xfs: one daemon, 18 exports, one boot.
# Real programs run on each mode beside itself, the drill everywhere.  KERNEL_FS and KERNEL_MODES narrow it down: KERNEL_FS=xfs KERNEL_MODES=direct tests/kernel/0100-matrix.t
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/kernel/uml.sh"
uml_need
DRILL=$(realpath "$BUILDDIR/tests/kernel/drill")
MODES=${KERNEL_MODES:-buffered dontcache direct}
uml_up
fs_in_memory 5

for fs in ${KERNEL_FS:-ext4 xfs}; do
	fs_mount "$fs" 2G || { tap_skip "$fs" "cannot be mounted here"; continue; }
	bytes=$(df -B1 --output=size "$FS_DIR" | tail -1)
	for r in $MODES; do
		for w in $MODES; do
			d=$FS_DIR/$r-$w
			mkdir "$d"
			daemon_export "$d"
			daemon_conf <<-END
				[export "$d"]
				read-mode = $r
				write-mode = $w
			END
			printf '%s\t%s\t%s\t%s\n' "$fs read=$r write=$w" "$d" "$fs" "$bytes" >>"$UML_WORK/exports"
			[ "$r" != "$w" ] || printf '%s\t%s\n' "$fs read=$r write=$w" "$d" >>"$UML_WORK/programs"
		done
	done
	big=$FS_DIR/many
done
[ -s "$UML_WORK/exports" ] || skip_all "no file system to export"
mkdir "$big"
(cd "$big" && seq -f f%g 100000 | xargs touch)
daemon_export "$big"
echo "$big 100000" >"$UML_WORK/big-directory"

ok_here "daemon starts with an export for each pair of modes" daemon_start || { tap_done; exit; }
ok_here "the guest boots and runs its script to the end" \
	uml_run "${KERNEL_TIMEOUT:-1800}" "$(realpath "$srcdir/tests/kernel/guest-matrix")" \
	"$DAEMON_PORT" "$DAEMON_PORT" "$DRILL"
tap_adopt guest cat "$UML_WORK/tap"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
