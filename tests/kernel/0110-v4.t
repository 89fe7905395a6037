#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A Linux kernel client of NFSv4.0, 4.1 and 4.2 with one and four connections, over ext4, xfs and btrfs, in one boot;
# then with the server killed, connections cut, another client after its locks, exports below exports.
# A selection in minutes; every combination with KERNEL_FULL=1.  KERNEL_FS, KERNEL_VERSIONS, KERNEL_NCONNECT and
# KERNEL_PARTS (matrix break tree) say which.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/kernel/uml.sh"
uml_need
need xfs_io setfattr perl
compgen -G '/usr/lib/uml/modules/*/kernel/fs/nfs/nfsv4.ko' >/dev/null || skip_all "UML has no NFSv4 module"
STAMPS=$(realpath "$BUILDDIR/tests/kernel/stamps")
RIVAL=$(realpath "$BUILDDIR/tests/kernel/rival")
uml_up
DAEMON_CLIENT=192.0.2.0/24
fs_in_memory 4

# The "VERSION,CONNECTIONS" a file system is mounted with.
mounts() { # FS
	local v n
	if [ -z "${KERNEL_FULL:-}${KERNEL_VERSIONS:-}${KERNEL_NCONNECT:-}" ]; then
		case $1 in
		xfs) echo 4.2,4 4.1,1 4.0,4;;
		btrfs) echo 4.2,4;;
		*) echo 4.2,1;;
		esac
		return
	fi
	for v in ${KERNEL_VERSIONS:-4.0 4.1 4.2}; do
		for n in ${KERNEL_NCONNECT:-1 4}; do echo -n "$v,$n "; done
	done
}

for fs in ${KERNEL_FS:-ext4 xfs btrfs}; do
	fs_mount "$fs" 1G || { tap_skip "$fs" "cannot be mounted here"; continue; }
	mkdir "$FS_DIR/e"
	daemon_export "$FS_DIR/e"
	printf '%s\t%s\t%s\t%s\n' "$fs" "$FS_DIR/e" "$(df -B1 --output=size "$FS_DIR" | tail -1)" "$(mounts "$fs")" \
		>>"$UML_WORK/exports"
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

# What the guest asks for in ./ask is done here.
restart() { daemon_kill; daemon_restart; }
cut() {
	local i
	for ((i = 0; i < $1; i++)); do
		wait_for 20 connected || { echo "no connection to cut after $i"; return 1; }
		"${DAEMON_PREFIX_NET[@]}" ss -K -Htn dst "$UML_GUEST" >/dev/null
		sleep 0.05
	done
}
connected() { "${DAEMON_PREFIX_NET[@]}" ss -Htn state established dst "$UML_GUEST" | grep -q .; }
rival() { "${DAEMON_PREFIX[@]}" "$RIVAL" "$DAEMON_HOST" "$DAEMON_PORT" "$@"; }
serve_asks() { # PID
	local what
	while kill -0 "$1" 2>/dev/null; do
		if [ -e "$UML_WORK/ask" ]; then
			read -ra what <"$UML_WORK/ask"
			rm -f "$UML_WORK/ask"
			"${what[@]}" >"$TAP_TMP/answer" 2>&1
			{ echo $?; cat "$TAP_TMP/answer"; } >"$UML_WORK/done.new"
			mv "$UML_WORK/done.new" "$UML_WORK/done"
		fi
		sleep 0.05
	done
}
boot_and_serve() {
	uml_run "${KERNEL_TIMEOUT:-1200}" "$(realpath "$srcdir/tests/kernel/guest-v4")" "$DAEMON_PORT" "$STAMPS" \
		"${KERNEL_CUTS:-$((${KERNEL_FULL:+40} + 10))}" "${KERNEL_VERSIONS:-4.0 4.2}" "${KERNEL_PARTS:-matrix break tree}" &
	local pid=$!
	serve_asks $pid
	wait $pid
}

ok_here "daemon starts" daemon_start -o nfsd.lease-time=10 -o nfsd.grace-time=10 || { tap_done; exit; }
ok_here "the guest boots and runs its script to the end" boot_and_serve
tap_adopt guest cat "$UML_WORK/tap"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
