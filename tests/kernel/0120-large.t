#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A large file over NFSv4.2 and NFSv3, four connections, direct mode: written in misaligned pieces by four processes,
# compared on the server, by misaligned O_DIRECT reads and through the client's cache; what the policy decided must be
# the same for both versions.  Figures are printed (the first version to use the guest's memory pays for that).
# SIZE_MB (128): SIZE_MB=2048 takes a minute.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/kernel/uml.sh"
uml_need
need jq
mb=${SIZE_MB:-128}
[ "$mb" -lt 512 ] || UML_MEM=${UML_MEM:-2G}
DRILL=$(realpath "$BUILDDIR/tests/kernel/drill")
uml_up
fs_in_memory $((mb / 1024 + 3))
fs_mount "${KERNEL_FS:-xfs}" $((mb + 1024))M || skip_all "${KERNEL_FS:-xfs} cannot be mounted here"
daemon_export "$FS_DIR"
printf '[export "%s"]\nread-mode = direct\nwrite-mode = direct\n' "$FS_DIR" | daemon_conf
"$DRILL" source $((mb << 20)) >"$TAP_TMP/source"

cpu() { # s, of the daemon
	awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$DAEMON_PID/stat"
}
counters() { # cpu, then each disposition of the export
	daemon_ctl stats --json | jq -c --arg p "$FS_DIR" --arg cpu "$(cpu)" '.exports[] | select(.path == $p) |
		[("read", "write") as $op | .[$op].dispositions | to_entries[] | { ("\($op) \(.key)"): .value }] |
		add + { cpu: ($cpu | tonumber) }'
}
# What the guest asks for: the figures of what it did since it asked the last time.
figures() { # NAME STEP SECONDS
	counters >"$TAP_TMP/now"
	jq -rn --slurpfile a "$TAP_TMP/last" --slurpfile b "$TAP_TMP/now" --arg name "$1 $2" --argjson mib "$mb" --argjson s "$3" '
		[$b[0] | to_entries[] | .value -= ($a[0][.key] // 0) | select(.value > 0)] | from_entries |
		"\($name): \(.cpu // 0 | . * 1024 / $mib * 1000 | round / 1000) s of CPU per GiB, \($mib / $s | round) MiB/s; " +
		([to_entries[] | select(.key != "cpu") | "\(.key) \(.value)"] | join(", "))' | tee -a "$TAP_TMP/figures"
	mv "$TAP_TMP/now" "$TAP_TMP/last"
}
same_here() { cmp "$TAP_TMP/source" "$FS_DIR/large"; }
boot_and_serve() {
	counters >"$TAP_TMP/last"
	uml_run_serving "${KERNEL_TIMEOUT:-1500}" "$(realpath "$srcdir/tests/kernel/guest-large")" "$DAEMON_PORT" "$DRILL" "$FS_DIR" \
		$((mb << 20)) ${KERNEL_VERSIONS:-4.2 3}
}
decisions() { # VERSION
	sed -nE "s/^$1 (write|pieces): .*; /\1: /p" "$TAP_TMP/figures"
}

ok_here "daemon starts" daemon_start || { tap_done; exit; }
ok_here "the guest boots and runs its script to the end" boot_and_serve
tap_adopt guest cat "$UML_WORK/tap"
sed 's/^/# /' "$TAP_TMP/figures"
[ -n "${KERNEL_VERSIONS:-}" ] ||
	is "the policy decides alike for 4.2 and 3" "$(decisions vers=4.2)" "$(decisions vers=3)"
ok "misaligned WRITEs have direct middles" grep -qE '^vers=4.2 write: .*write SPLIT' "$TAP_TMP/figures"
ok "misaligned READs are expanded" grep -qE '^vers=4.2 pieces: .*read EXPANDED' "$TAP_TMP/figures"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
