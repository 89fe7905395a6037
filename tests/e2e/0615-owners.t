#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# NFSv4 owners as name@domain; and a name service that takes its time holds up nobody but who asked.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
owners() { "$BUILDDIR/tests/e2e/owners" "$DAEMON_HOST" "$DAEMON_PORT" "$@"; }

daemon_conf <<-END
	[nfsd]
	idmap = names
	domain = example.org
	threads = 1
END
daemon_minor_exports
for minor in 0 1; do tap_adopt "4.$minor" owners "$TAP_TMP/e$minor" $minor; done
ok_here "daemon drains and exits 0" daemon_stop

# The libc asks nscd first and waits for it; then it reads the files.
mkdir -p "$TAP_TMP/run/nscd"
{ cat /etc/passwd; echo late:x:4711:1:::; } >"$TAP_TMP/passwd"
DAEMON_PREFIX=(unshare -m sh -c 'mount --bind "$0/run" /run && mount --bind "$0/passwd" /etc/passwd && exec "$@"' "$TAP_TMP")
ok_here "daemon starts over a slow name service" daemon_start
tap_adopt "slow" owners "$TAP_TMP/e2" 0 "$TAP_TMP/run/nscd/socket"
ok_here "daemon drains and exits 0" daemon_stop
tap_done
