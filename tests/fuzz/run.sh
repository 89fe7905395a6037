#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/fuzz/run.sh SECONDS [STEM...]: build the fuzz targets with clang, libFuzzer, ASan and UBSan, and run each (or
# those named) for SECONDS, from its seeds and what earlier runs found.  TAP; exit 77 without clang.  A crash is left in
# the build directory (FUZZ_BUILD, default build-fuzz beside the sources) and named: make it a seed.
set -u
seconds=${1:?usage: run.sh SECONDS [STEM...]}
shift
src=$(cd "$(dirname "$0")/../.." && pwd)
build=${FUZZ_BUILD:-$src/build-fuzz}
for CC in clang clang-19 clang-16 clang-14 none; do
	command -v "$CC" >/dev/null && break
done
[ "$CC" != none ] || { echo "1..0 # SKIP clang is not installed"; exit 77; }

[ -x "$src/configure" ] || (cd "$src" && autoreconf -fi) >&2 || exit 1
mkdir -p "$build" && cd "$build" || exit 1
if [ ! -e Makefile ]; then
	"$src/configure" -q CC="$CC" CFLAGS="-g -O1" --enable-fuzz --enable-sanitize=address,undefined >&2 || exit 1
fi
make -s -j2 fuzzers >&2 || exit 1
[ $# -gt 0 ] || set -- $(make -s print-fuzzers)

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
echo "1..$#"
n=0 failed=0
for stem; do
	n=$((n + 1))
	mkdir -p "corpus/$stem"
	if "tests/fuzz/$stem" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=64 \
		-max_len=16384 -print_final_stats=1 -artifact_prefix="$build/crash-$stem-" \
		"corpus/$stem" "$src/tests/fuzz/seeds/$stem" >"$stem.log" 2>&1; then
		echo "ok $n - $stem: $(awk '/stat::number_of_executed_units/ { print $2 }' "$stem.log") runs in $seconds s"
	else
		echo "not ok $n - $stem"
		tail -40 "$stem.log" | sed 's/^/# /'
		failed=1
	fi
done
exit $failed
