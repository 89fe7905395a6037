# SPDX-License-Identifier: LGPL-2.1-or-later
# Harness for tests that run the real daemon.  Sourced by tests/e2e and tests/kernel scripts:
#
#	. "${srcdir:-.}/tests/lib/daemon.sh"
#	fs_mount ext4; daemon_export "$FS_DIR"; daemon_start -o io.write-mode=direct; ...; daemon_stop; tap_done
#
# Every daemon lives in its own directory DAEMON_DIR (config, exports, state, control socket, log) and listens on an
# ephemeral loopback port, DAEMON_PORT, found among the sockets of its pid.  A restart keeps port and state.
# DAEMON_PREFIX (array) runs it in a namespace or as another user; BUILDDIR (default: .) is where the binaries are.
srcdir=${srcdir:-.}
BUILDDIR=${BUILDDIR:-.}
NFSD_IO=${NFSD_IO:-$BUILDDIR/nfsd-io/server/nfsd-io}
TAP_TMP=$(mktemp -d "${TMPDIR:-/tmp}/nfsd-io-test.XXXXXX") || exit 1
chmod 755 "$TAP_TMP"
. "$srcdir/tests/lib/tap.sh"
. "$srcdir/tests/lib/fs.sh"
[ "${NFSD_IO_E2E:-}" != no ] || skip_all "NFSD_IO_E2E=no"
[ -x "$NFSD_IO" ] || skip_all "$NFSD_IO is not built"

DAEMON_DIR=$TAP_TMP/daemon
DAEMON_PREFIX=()
DAEMON_HOST=127.0.0.1
DAEMON_LIMIT=
DAEMON_PID=
DAEMON_PORT=0
mkdir -p "$DAEMON_DIR/state" "$DAEMON_DIR/exports.d"
: >"$DAEMON_DIR/exports"
: >"$DAEMON_DIR/conf"

cleanup() {
	[ -z "$DAEMON_PID" ] || { kill -9 "$DAEMON_PID"; wait "$DAEMON_PID"; } 2>/dev/null
	fs_cleanup
	if [ -n "${KEEP:-}" ]; then echo "# kept: $TAP_TMP"; else rm -rf "$TAP_TMP"; fi
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# One line of exports(5): DIR to the loopback, root unsquashed unless OPTIONS say otherwise.
daemon_export() { # DIR [OPTIONS]
	echo "\"$1\" ${DAEMON_CLIENT:-127.0.0.1}(${2:-rw,no_root_squash,insecure,no_subtree_check})" >>"$DAEMON_DIR/exports"
}

# Config lines from standard input, in nfs.conf(5) grammar.
daemon_conf() { cat >>"$DAEMON_DIR/conf"; }

# "socket:[N]" of the daemon's listening socket: independent of anything the daemon prints.
daemon_listening() {
	"${DAEMON_PREFIX_NET[@]}" ss -Hltnp 2>/dev/null | grep -F "pid=$DAEMON_PID," | head -1 |
		awk '{ n = split($4, a, ":"); print a[n] }' | grep .
}
DAEMON_PREFIX_NET=()

daemon_alive() { [ -n "$DAEMON_PID" ] && kill -0 "$DAEMON_PID" 2>/dev/null; }
daemon_gone() { ! kill -0 "$1" 2>/dev/null; }
daemon_ready() { ! daemon_alive || DAEMON_SEEN=$(daemon_listening); }

# Start with further `serve` options; ready when its port is open.  0, or the daemon's exit status.
daemon_start() {
	DAEMON_ARGS=("$@")
	(
		[ -z "$DAEMON_LIMIT" ] || ulimit -n "$DAEMON_LIMIT"
		export ASAN_OPTIONS="log_path=$DAEMON_DIR/sanitizer:exitcode=99:handle_abort=1:${ASAN_OPTIONS:-}"
		export UBSAN_OPTIONS="log_path=$DAEMON_DIR/sanitizer:print_stacktrace=1:${UBSAN_OPTIONS:-}"
		export TSAN_OPTIONS="log_path=$DAEMON_DIR/sanitizer:${TSAN_OPTIONS:-}"
		exec "${DAEMON_PREFIX[@]}" "$NFSD_IO" serve -f "$DAEMON_DIR/conf" \
			-o "nfsd.host=$DAEMON_HOST" -o "nfsd.port=$DAEMON_PORT" -o nfsd.rpcbind=n \
			-o "nfsd.state-directory-path=$DAEMON_DIR/state" \
			-o "exports.file=$DAEMON_DIR/exports" -o "exports.directory=$DAEMON_DIR/exports.d" \
			-o "control.socket=$DAEMON_DIR/ctl" -o log.target=stderr "$@"
	) >>"$DAEMON_DIR/log" 2>&1 </dev/null &
	DAEMON_PID=$!
	wait_for 30 daemon_ready
	daemon_alive || { daemon_reap; return "$DAEMON_STATUS"; }
	DAEMON_PORT=$(daemon_listening) || return 1
}

# The exit status of a daemon that ended by itself or was signalled.
daemon_reap() {
	wait "$DAEMON_PID"
	DAEMON_STATUS=$?
	DAEMON_PID=
	tail -20 "$DAEMON_DIR/log" | sed 's/^/# log: /'
}

# SIGTERM must drain and exit 0 within the bound; a sanitizer's report is a failure.
daemon_stop() {
	[ -n "$DAEMON_PID" ] || { echo "no daemon"; return 1; }
	kill -TERM "$DAEMON_PID"
	if ! wait_for 30 daemon_gone "$DAEMON_PID"; then
		echo "daemon did not stop on SIGTERM"
		kill -ABRT "$DAEMON_PID"
	fi
	wait "$DAEMON_PID" 2>/dev/null
	DAEMON_STATUS=$?
	DAEMON_PID=
	daemon_sane && [ "$DAEMON_STATUS" -eq 0 ] || { echo "exit status $DAEMON_STATUS"; tail -20 "$DAEMON_DIR/log"; return 1; }
}

daemon_sane() {
	local f bad=0
	for f in "$DAEMON_DIR"/sanitizer.*; do
		[ -e "$f" ] || continue
		head -60 "$f"
		bad=1
	done
	return $bad
}

daemon_kill() {
	kill -9 "$DAEMON_PID"
	wait "$DAEMON_PID" 2>/dev/null
	DAEMON_PID=
}

daemon_restart() { daemon_start "${DAEMON_ARGS[@]}"; }

# A verb over the control socket: daemon_ctl stats --json
daemon_ctl() { "$NFSD_IO" "$@" -S "$DAEMON_DIR/ctl"; }

# One number from `stats --json`: daemon_stat '.some.jq.path'
daemon_stat() { daemon_ctl stats --json | jq -r "$1"; }

daemon_rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$DAEMON_PID/status"; }
daemon_fds() { ls "/proc/$DAEMON_PID/fd" | wc -l; }

# libnfs URL of an exported path
daemon_url() { echo "nfs://$DAEMON_HOST$1?nfsport=$DAEMON_PORT&mountport=$DAEMON_PORT&version=3"; }

# The least a test of NFSv4 needs: one export, $EXPORT, and the daemon up.
EXPORT=$TAP_TMP/export
daemon_one_export() { # [daemon_start ARGUMENT...]
	need_root
	need ss
	mkdir -p "$EXPORT"
	daemon_export "$EXPORT"
	ok_here "daemon starts" daemon_start "$@" || { tap_done; exit; }
}

# An export for each minor version, $TAP_TMP/e0 and so on, and the daemon up.
daemon_minor_exports() {
	local minor
	need_root
	need ss
	for minor in 0 1 2; do
		mkdir -p "$TAP_TMP/e$minor"
		daemon_export "$TAP_TMP/e$minor"
	done
	ok_here "daemon starts" daemon_start || { tap_done; exit; }
}
