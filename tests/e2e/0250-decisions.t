#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What `stats` says of an IOR-hard stream (47,008-byte WRITEs one after the other): all but the smallest are SPLIT, the
# parts add up to the payload, and the payload to what was sent; likewise what was read.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq
fs_mount ext4 || skip_all "ext4 cannot be mounted here"
total=$((47008 * 1000))
for rule in page seed mainline dontcache-ends; do
	mkdir "$FS_DIR/$rule"
	daemon_export "$FS_DIR/$rule"
	printf '[export "%s"]\nrule = %s\n' "$FS_DIR/$rule" $rule | daemon_conf
done
ok_here "daemon starts" daemon_start || { tap_done; exit; }
export_stat() { daemon_stat ".exports[] | select(.path == \"$FS_DIR/$rule\") | $1"; }
load() { "$BUILDDIR/tools/nfsload" -s 47008 -t $total -v "$@" "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR/$rule"; }
for rule in page seed mainline dontcache-ends; do
	if ! export_stat .write.effective | grep -qw direct; then
		tap_skip "$rule" "no direct I/O on ext4 here"
		continue
	fi
	ok "$rule: the stream is written and read back" load
	# of 1000 records from 0 in steps of 47,008, a few start and end on a block
	split=$(export_stat .write.dispositions.SPLIT)
	aligned=$(export_stat .write.dispositions.ALIGNED)
	ok "$rule: $split WRITEs are SPLIT, $aligned ALIGNED" test "$((split + aligned))" -eq 1000 -a "$split" -gt 900
	is "$rule: head, middle and tail add up to the payload of the split WRITEs" \
		"$(export_stat '.write.split | .head + .middle + .tail')" "$(export_stat .write.split.payload)"
	is "$rule: bytes by kind add up to the payload" \
		"$(export_stat '[.write.bytes[]] | add')" "$(export_stat .write.payload)"
	is "$rule: and the payload is what was sent" "$(export_stat .write.payload)" $total
	is "$rule: the bytes read are what was asked for" "$(export_stat .read.payload)" $total
	is "$rule: nothing fell back" "$(export_stat '.fallbacks | .direct + .dontcache')" 0
done
is "payloads went where they were received: copied bytes are few" \
	"$(daemon_stat '.rpc | .payload_copied * 10 < .payload_in_place')" true
before=$(daemon_stat .rpc.payload_copied)
ok "64 WRITEs of 1 MiB" "$BUILDDIR/tools/nfsload" -s 1M -t 64M "$DAEMON_HOST" "$DAEMON_PORT" "$FS_DIR/page"
copied=$(($(daemon_stat .rpc.payload_copied) - before))
ok "less than one percent of them was copied: $copied bytes" test $((copied * 100)) -lt $((64 << 20))
ok "stats speaks to people too" daemon_ctl stats
ok "and so does status" daemon_ctl status
ok_here "daemon drains and exits 0" daemon_stop
tap_done
