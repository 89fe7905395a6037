# SPDX-License-Identifier: LGPL-2.1-or-later
# A real Linux NFS client for tests: Debian's user-mode-linux kernel in a network namespace of its own.  Sourced
# after tests/lib/daemon.sh.
#
#	uml_up				namespace and tap; the daemon harness is told to run the daemon inside
#	uml_run SECONDS SCRIPT ARG...	boot, run SCRIPT as root in the guest, return its status (124: time-out)
#	uml_run_serving ...		the same; what the guest writes to ./ask is called here, its status and what it
#					printed are in ./done
#	uml_down
#
# The guest has the host's file tree read-only as its root, a tmpfs on /mnt, and UML_WORK writable at /mnt/work.
# Server 192.0.2.1, guest 192.0.2.2 (TEST-NET-1, inside the namespace only).
UML_NS=nfsdio-$$
UML_SERVER=192.0.2.1
UML_GUEST=192.0.2.2
UML_WORK=$TAP_TMP/uml
UML_UP=
UML_NEVER=$TAP_TMP/never # nobody writes to it: to read it is to wait without a process

# Where a kernel client cannot run the whole script is a skip that says what is missing.
uml_need() {
	need_root
	need linux.uml ip ss mount.nfs git
	[ -c /dev/net/tun ] || skip_all "no /dev/net/tun: the guest has no network"
	compgen -G '/usr/lib/uml/modules/*/kernel/fs/nfs/nfsv3.ko' >/dev/null || skip_all "UML has no NFS modules"
}

uml_up() {
	ip netns add "$UML_NS" || skip_all "network namespaces are not permitted"
	UML_UP=1
	trap 'uml_down; cleanup' EXIT
	ip -n "$UML_NS" link set lo up &&
		ip netns exec "$UML_NS" ip tuntap add tap0 mode tap vnet_hdr &&
		ip -n "$UML_NS" addr add "$UML_SERVER/24" dev tap0 &&
		ip -n "$UML_NS" link set tap0 mtu 9000 up || skip_all "tap devices are not permitted"
	mkdir -p "$UML_WORK"
	mkfifo "$UML_NEVER"
	DAEMON_PREFIX=(ip netns exec "$UML_NS")
	DAEMON_PREFIX_NET=("${DAEMON_PREFIX[@]}")
	DAEMON_HOST=$UML_SERVER
	DAEMON_CLIENT=$UML_GUEST
}

uml_run() {
	local limit=$1 here
	shift
	here=$(realpath "$srcdir/tests/kernel")
	rm -f "$UML_WORK/status"
	{
		printf '#!/bin/bash\nUML_WORK=%q UML_GUEST=%q UML_SERVER=%q exec bash %q/guest-init' \
			"$UML_WORK" "$UML_GUEST" "$UML_SERVER" "$here"
		printf ' %q' "$@"
		echo
	} >"$UML_WORK/init"
	chmod +x "$UML_WORK/init"
	timeout -k 5 "$limit" ip netns exec "$UML_NS" linux.uml root=/dev/root rootfstype=hostfs rootflags=/ ro \
		mem="${UML_MEM:-1G}" con=null con0=fd:0,fd:1 quiet init="$UML_WORK/init" \
		vec0:transport=tap,ifname=tap0,depth=128,gro=1,mtu=9000 </dev/null >"$UML_WORK/console" 2>&1 &
	wait $! # in the background, so that a signal to us is taken at once
	[ -s "$UML_WORK/status" ] && return "$(cat "$UML_WORK/status")"
	tail -20 "$UML_WORK/console"
	return 124
}

uml_run_serving() {
	local what pid
	uml_run "$@" &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		if [ -e "$UML_WORK/ask" ]; then
			read -ra what <"$UML_WORK/ask"
			rm -f "$UML_WORK/ask"
			"${what[@]}" >"$TAP_TMP/answer" 2>&1
			{ echo $?; cat "$TAP_TMP/answer"; } >"$UML_WORK/done.new"
			mv "$UML_WORK/done.new" "$UML_WORK/done"
		fi
		read -rt 0.02 <>"$UML_NEVER"
	done
	wait $pid
}

uml_down() {
	[ -n "$UML_UP" ] || return 0
	[ -z "$DAEMON_PID" ] || daemon_kill
	ip netns pids "$UML_NS" 2>/dev/null | xargs -r kill -9
	ip netns del "$UML_NS"
	UML_UP=
}
