# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced after daemon.sh: one export for each file system, pair of io-modes and rule, listed in TAP_TMP/list as
# "NAME<tab>PATH".  MATRIX_FS, MATRIX_MODES and MATRIX_RULES narrow it down.
matrix_export() { # NAME DIR READ_MODE WRITE_MODE RULE
	mkdir "$2"
	daemon_export "$2"
	daemon_conf <<-END
		[export "$2"]
		read-mode = $3
		write-mode = $4
		rule = $5
	END
	printf '%s\t%s\n' "$1" "$2" >>"$TAP_TMP/list"
}

matrix_exports() {
	local fs r w rule
	for fs in ${MATRIX_FS:-ext4 xfs btrfs tmpfs}; do
		fs_mount "$fs" || { tap_skip "$fs" "cannot be mounted here"; continue; }
		for r in ${MATRIX_MODES:-buffered dontcache direct}; do
			for w in ${MATRIX_MODES:-buffered dontcache direct}; do
				matrix_export "$fs read=$r write=$w" "$FS_DIR/$r-$w" "$r" "$w" page
			done
		done
		for rule in ${MATRIX_RULES-seed mainline dontcache-ends}; do
			matrix_export "$fs direct by $rule" "$FS_DIR/$rule" direct direct "$rule"
		done
	done
}
