# SPDX-License-Identifier: LGPL-2.1-or-later
# TAP for shell tests.  Sourced.  ok NAME CMD... runs CMD and reports it; the plan is printed by tap_done.
TAP_N=0
TAP_FAILED=0

tap_result() { # STATUS NAME
	TAP_N=$((TAP_N + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $TAP_N - $2"
	else
		echo "not ok $TAP_N - $2"
		TAP_FAILED=$((TAP_FAILED + 1))
	fi
}

# What CMD prints goes out as TAP comments, so that a log tells why it failed.
ok() {
	local name=$1 out rc
	shift
	out=$("$@" 2>&1)
	rc=$?
	tap_result $rc "$name"
	[ -z "$out" ] || sed 's/^/# /' <<<"$out"
	return $rc
}

# The same in this shell (no subshell): for functions that set variables.
ok_here() {
	local name=$1 rc
	shift
	"$@" >"$TAP_TMP/out" 2>&1
	rc=$?
	tap_result $rc "$name"
	sed 's/^/# /' "$TAP_TMP/out"
	return $rc
}

is() { # NAME GOT WANTED
	tap_result "$([ "$2" = "$3" ]; echo $?)" "$1"
	[ "$2" = "$3" ] || { sed 's/^/# got: /' <<<"$2"; sed 's/^/# wanted: /' <<<"$3"; return 1; }
}

# Pass on the numbered results of a program that speaks TAP itself, under our own numbers.
tap_adopt() { # PREFIX CMD...
	local prefix=$1 line rc name
	shift
	"$@" >"$TAP_TMP/tap" 2>"$TAP_TMP/tap.err"
	rc=$?
	while IFS= read -r line; do
		name=${line#* - }
		case $line in
		'ok '*) tap_result 0 "$prefix: $name";;
		'not ok '*) tap_result 1 "$prefix: $name";;
		1..*) ;;
		*) echo "# $line";;
		esac
	done <"$TAP_TMP/tap"
	tail -20 "$TAP_TMP/tap.err" | sed 's/^/# /'
	grep -q '^not ok' "$TAP_TMP/tap" || [ $rc -eq 0 ] || tap_result 1 "$prefix: exit status $rc"
	grep -qE '^(not )?ok' "$TAP_TMP/tap" || tap_result 1 "$prefix: no result (exit status $rc)"
	return $rc
}

tap_skip() { # NAME REASON: one test that cannot run here
	TAP_N=$((TAP_N + 1))
	echo "ok $TAP_N - $1 # SKIP $2"
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# Poll CMD until it succeeds; fails after SECONDS.
wait_for() {
	local end=$(($(date +%s%N) + $1 * 1000000000))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s%N)" -lt "$end" ] || return 1
		sleep 0.05
	done
}

need_root() { [ "$(id -u)" -eq 0 ] || skip_all "needs root"; }
need() { # COMMAND...
	local c
	for c; do command -v "$c" >/dev/null || skip_all "$c is not installed"; done
}

tap_done() {
	echo "1..$TAP_N"
	[ "$TAP_FAILED" -eq 0 ]
}
