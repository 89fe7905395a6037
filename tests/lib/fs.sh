# SPDX-License-Identifier: LGPL-2.1-or-later
# Temporary file systems for tests.  Sourced.  fs_mount TYPE [SIZE] sets FS_DIR to a fresh mount under TAP_TMP;
# everything is unmounted by fs_cleanup, which the harness runs at exit.  Images lie beside the mounts, or in memory
# after fs_in_memory, where syncing them costs nothing.
FS_DIRS=()
FS_IMAGES=

fs_in_memory() { # GIB: where memory allows that much
	[ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -ge $(($1 + 3)) ] &&
		[ "$(df --output=avail -BG /dev/shm | tail -1 | tr -dc 0-9)" -ge "$1" ] &&
		FS_IMAGES=$(mktemp -d /dev/shm/nfsd-io-test.XXXXXX)
}

fs_image() { echo "${FS_IMAGES:-$(dirname "$1")}/$(basename "$1").img"; }

fs_have() { # TYPE: can this kernel mount it and is its mkfs here?
	case $1 in
	tmpfs|dir) return 0;;
	*) command -v "mkfs.$1" >/dev/null && { grep -qw "$1" /proc/filesystems || modprobe -q "$1"; };;
	esac
}

fs_mkfs() { # TYPE IMAGE
	case $1 in
	ext4) mkfs.ext4 -q -F -E lazy_itable_init=1,lazy_journal_init=1 ${FS_NO_UUID:+-U clear} "$2";;
	xfs) mkfs.xfs -q -f "$2";;
	btrfs) mkfs.btrfs -q -f "$2";;
	esac
}

fs_mount() { # TYPE [SIZE] [MOUNT OPTIONS]
	local type=$1 size=${2:-1G} opts=${3:-}
	fs_have "$type" || return 77
	FS_DIR=$(mktemp -d "$TAP_TMP/$type.XXXXXX") || return 1
	chmod 755 "$FS_DIR"
	case $type in
	dir) return 0;;
	tmpfs) mount -t tmpfs -o "size=$size${opts:+,$opts}" none "$FS_DIR" || return 1;;
	*)
		FS_IMAGE=$(fs_image "$FS_DIR")
		truncate -s "$size" "$FS_IMAGE" && fs_mkfs "$type" "$FS_IMAGE" >/dev/null || return 1
		mount -t "$type" -o "loop${opts:+,$opts}" "$FS_IMAGE" "$FS_DIR" || return 1;;
	esac
	FS_DIRS+=("$FS_DIR")
	chmod 755 "$FS_DIR"
}

# An ext4 of 300 MiB whose image lies on the file system mounted last, FS_UNDER.  Skips the test.
fs_mount_upon() { # DIR
	FS_UNDER=$FS_DIR
	mkdir "$1"
	truncate -s 300M "$FS_UNDER/image"
	mkfs.ext4 -q -F -O ^has_journal "$FS_UNDER/image" && mount -o loop "$FS_UNDER/image" "$1" ||
		skip_all "ext4 cannot be mounted here"
	FS_DIRS=("$1" "${FS_DIRS[@]}")
}

# One that promises more than there is: below it is a tmpfs of 100 MiB.  Skips the test.
fs_mount_hollow() { # DIR
	fs_mount tmpfs 100M || skip_all "tmpfs cannot be mounted here"
	fs_mount_upon "$1"
}

# One below which is another ext4 that can be shut down: it fails with EIO then.  Skips the test.
fs_mount_doomed() { # DIR
	fs_mount ext4 400M || skip_all "ext4 cannot be mounted here"
	fs_mount_upon "$1"
}

fs_umount() { # DIR
	umount "$1" 2>/dev/null || wait_for 10 umount "$1" || umount -l "$1"
	rm -f "$(fs_image "$1")"
}

fs_cleanup() {
	local d
	for d in "${FS_DIRS[@]}"; do
		mountpoint -q "$d" && fs_umount "$d"
	done
	FS_DIRS=()
	[ -z "$FS_IMAGES" ] || rm -rf "$FS_IMAGES"
}
