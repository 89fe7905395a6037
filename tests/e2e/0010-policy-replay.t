#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# policy-replay: recorded requests in, plans and totals out.
srcdir=${srcdir:-.}
REPLAY=${BUILDDIR:-.}/tools/policy-replay
. "$srcdir/tests/lib/tap.sh"
[ -x "$REPLAY" ] || skip_all "$REPLAY is not built"
TAP_TMP=$(mktemp -d "${TMPDIR:-/tmp}/nfsd-io-test.XXXXXX") || exit 1
trap 'rm -rf "$TAP_TMP"' EXIT

first() { "$REPLAY" "$@" | head -1; }
column() { awk -v a="$1" -v b="$2" -v c="$3" '$1 == a && $2 == b { print $c }'; }
status() { "$@" >/dev/null 2>&1; echo $?; }
stream() { seq 0 47008 $((47008 * 99)) | sed 's/.*/write,&,47008,0,512,512,512/'; }

is "a split WRITE is printed with its segments" \
	"$(first <<<write,1000,1048576,0,512,512,512)" \
	"write 1000 1048576: SPLIT [1000,4096) buffered | [4096,1048576) direct | [1048576,1049576) buffered"
is "a widened READ shows the wider range" \
	"$(first -r mainline <<<read,100,50,4096,512,512,512)" "read 100 50: EXPANDED [0,512) direct"
is "the mode decides before the rule" \
	"$(first -m dontcache <<<read,100,50,4096,512,512,512)" "read 100 50: MODE [100,150) dontcache"
is "without DONTCACHE a fallback is plain buffered" \
	"$(first --no-dontcache <<<write,0,100,0,512,512,512)" "write 0 100: TOO_SMALL [0,100) buffered"
is "a payload out of phase cannot go direct" \
	"$(first --phase 4 <<<write,0,4096,0,512,512,512)" "write 0 4096: MEM_MISALIGNED [0,4096) dontcache"
is "header, comments, blanks, CR and spaces are taken" \
	"$(printf 'OP,offset,length,size,mem_align,offset_align,read_align\r\n# c\n\n  write , 0, 4096, 0,512,512,0 # x\r\n' |
		first)" "write 0 4096: ALIGNED [0,4096) direct"

stream | "$REPLAY" -q >"$TAP_TMP/page"
is "an IOR-hard stream is split" "$(column SPLIT requests 3 <"$TAP_TMP/page")" 100
is "kinds add up to the bytes written" \
	"$(awk '$2 == "bytes" { n += $3 } END { print n }' "$TAP_TMP/page")" $((47008 * 100))
stream | "$REPLAY" --all-rules >"$TAP_TMP/all"
is "every rule has its column" "$(column SPLIT requests 6 <"$TAP_TMP/all")" 100
is "the page column is what the rule alone gives" \
	"$(column direct bytes 4 <"$TAP_TMP/all")" "$(column direct bytes 3 <"$TAP_TMP/page")"
is "only mainline and dontcache-ends drop the ends from the cache" \
	"$(awk '$1 == "dontcache" && $2 == "bytes" { print ($3 == 0), ($4 == 0), ($5 > 0), ($6 > 0) }' "$TAP_TMP/all")" \
	"1 1 1 1"

printf 'write,0,4096,0,512,512,512\nwrite,0\nwrote,0,1,0,0,0,0\nread,-1,1,0,0,0,0\nread,0,4294967296,0,0,0,0\n' \
	>"$TAP_TMP/bad.csv"
"$REPLAY" "$TAP_TMP/bad.csv" >"$TAP_TMP/out" 2>"$TAP_TMP/err"
is "a bad file is an error" $? 1
is "every bad line is named" "$(cut -d: -f2,3 "$TAP_TMP/err")" "2: op,offset,length,size,mem_align,offset_align,read_align was expected
3: wrote
4: -1
5: 4294967296"
is "good lines are still replayed" "$(column ALIGNED requests 3 <"$TAP_TMP/out")" 1
is "garbage is told a bounded number of times" "$(yes | head -1000 | "$REPLAY" 2>&1 >/dev/null | wc -l)" 20
is "a missing file is an error" "$(status "$REPLAY" "$TAP_TMP/none")" 1
is "an unknown rule is a usage error" "$(status "$REPLAY" -r best /dev/null)" 2
is "a full device is an error" "$("$REPLAY" /dev/null >/dev/full 2>/dev/null; echo $?)" 1
tap_done
