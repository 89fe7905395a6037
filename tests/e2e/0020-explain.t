#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# nfsd-io explain: arguments, real files, exit status.
. "${srcdir:-.}/tests/lib/daemon.sh"

explain() { "$NFSD_IO" explain "$@"; }
has() { explain "${@:2}" | grep -F -- "$1"; }
status() { "$@" >/dev/null 2>&1; echo $?; }

for rule in seed page mainline dontcache-ends; do
	ok "without --rule, $rule is shown" has "rule $rule: SPLIT" write 1000 1048576 --align 512,512,512
done
ok "the default cut is a page" has "[1000,4096) buffered | [4096,1048576) direct | [1048576,1049576) buffered" \
	write 1000 1M --rule page
is "one rule is one answer" "$(explain write 1000 1M --rule seed | grep -c '^rule')" 1
ok "sizes take K and M" has "[4096,1052672) direct" read 4K 1M --rule page
ok "mode by number" has "rule page: MODE" read 0 4K --mode 0 --rule page
ok "no alignment, no direct I/O" has "rule page: NO_ALIGN" write 0 1M --align 0,0,0 --rule page
ok "no DONTCACHE" has "[0,100) buffered" write 0 100 --no-dontcache --rule page
is "json is one object a rule" "$(explain read 0 1M --json | jq -r .disposition | sort -u)" ALIGNED

for args in "" "read" "read 1" "read 1 2 3" "list 1 2" "read x 1" "read 1 8G" "read -- -1 1" "write 1 1 --align 1,2" \
	"write 1 1 --mode fast" "write 1 1 --rule best" "write 1 1 --file x --align 1,1,1" "read 9223372036854775808 1" \
	"write 1 1 --align 3,3,3" "write 1 1 --align 512,0,512" "write 9223372036854775807 1"; do
	is "usage error: '$args'" "$(status explain $args)" 2
done
ok "the last byte a file can have" has "rule page: TOO_SMALL" write 9223372036854775806 1
is "usage names the verb" "$(explain --usage | head -1 | cut -c1-22)" "Usage: nfsd-io explain"
is "a missing file is an error" "$(status explain read 0 1 --file "$TAP_TMP/none")" 1
is "a directory is an error" "$(status explain read 0 1 --file "$TAP_TMP")" 1
is "a full device is an error" "$(explain read 0 1 >/dev/full 2>&1; echo $?)" 1

if [ "$(id -u)" -eq 0 ] && fs_mount ext4 64M; then
	truncate -s 1M "$FS_DIR/f"
	ok "ext4 tells its alignment" has "alignment: memory 512, offset 512" write 0 1M --file "$FS_DIR/f"
	ok "... and is direct" has "rule page: ALIGNED" write 0 1M --file "$FS_DIR/f"
	fs_mount tmpfs
	truncate -s 1M "$FS_DIR/f"
	ok "tmpfs has no direct I/O" has "rule page: NO_ALIGN" write 0 1M --file "$FS_DIR/f"
else
	tap_skip "alignment of ext4 and tmpfs" "needs root and ext4"
fi
tap_done
