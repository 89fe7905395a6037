#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A Linux kernel client of NFSv4.0, 4.1 and 4.2 with one and four connections, over ext4, xfs and btrfs: the drill on
# every combination, real programs on some, exports below exports, a large directory; one boot.
# KERNEL_FS, KERNEL_VERSIONS, KERNEL_NCONNECT and KERNEL_PARTS (matrix programs tree) narrow it down.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/kernel/uml.sh"
uml_need
need xfs_io setfattr
compgen -G '/usr/lib/uml/modules/*/kernel/fs/nfs/nfsv4.ko' >/dev/null || skip_all "UML has no NFSv4 module"
DRILL=$(realpath "$BUILDDIR/tests/kernel/drill")
uml_up
fs_in_memory 4

# The "VERSION,CONNECTIONS" a file system is mounted with: by the drill, by programs.
mounts() {
	local v n
	for v in ${KERNEL_VERSIONS:-4.0 4.1 4.2}; do
		for n in ${KERNEL_NCONNECT:-1 4}; do echo -n "$v,$n "; done
	done
}
program_mounts() { # FS
	case $1 in
	ext4) echo 4.0,4 4.2,1;;
	xfs) echo 4.2,4;;
	*) echo 4.1,4 4.2,1;;
	esac
}

for fs in ${KERNEL_FS:-ext4 xfs btrfs}; do
	fs_mount "$fs" 1G || { tap_skip "$fs" "cannot be mounted here"; continue; }
	mkdir "$FS_DIR/e"
	daemon_export "$FS_DIR/e"
	printf '%s\t%s\t%s\t%s\n' "$fs" "$FS_DIR/e" "$(df -B1 --output=size "$FS_DIR" | tail -1)" "$(mounts)" \
		>>"$UML_WORK/exports"
	for m in $(program_mounts "$fs"); do
		printf '%s\t%s\t%s\n' "$fs" "$FS_DIR/e" "$m" >>"$UML_WORK/programs"
	done
	# An export below another: a directory that is a mount of its own on the server, too.
	mkdir -p "$TAP_TMP/outer/$fs" "$FS_DIR/inner"
	mount --bind "$FS_DIR/inner" "$TAP_TMP/outer/$fs" && FS_DIRS+=("$TAP_TMP/outer/$fs")
	echo inside >"$FS_DIR/inner/inside"
	daemon_export "$TAP_TMP/outer/$fs"
	echo "${TAP_TMP#/}/outer/$fs" >>"$UML_WORK/inner"
	[ "$fs" != btrfs ] || { btrfs -q subvolume create "$FS_DIR/inner/sub" && echo inside >"$FS_DIR/inner/sub/inside" &&
		echo "${TAP_TMP#/}/outer/$fs/sub" >>"$UML_WORK/inner"; }
done
[ -s "$UML_WORK/exports" ] || skip_all "no file system to export"
daemon_export "$TAP_TMP/outer"
mkdir "$FS_DIR/many"
(cd "$FS_DIR/many" && seq -f f%g 20000 | xargs touch)
daemon_export "$FS_DIR/many"
echo "$FS_DIR/many 20000" >"$UML_WORK/big-directory"

ok_here "daemon starts" daemon_start || { tap_done; exit; }
ok_here "the guest boots and runs its script to the end" \
	uml_run "${KERNEL_TIMEOUT:-1200}" "$(realpath "$srcdir/tests/kernel/guest-v4")" "$DAEMON_PORT" "$DRILL" \
	"${KERNEL_PARTS:-matrix programs tree}"
tap_adopt guest cat "$UML_WORK/tap"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
