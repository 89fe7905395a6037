# SPDX-License-Identifier: LGPL-2.1-or-later
# The servers of the benchmark.  Sourced by tools/bench/run.  Each is started on first use, in a network namespace and a
# memory cgroup of its own, and stays until the end; one that is not asked sleeps.
#
#	direct buffered dontcache	nfsd-io with that io-mode, everything else by default
#	seed mainline dontcache-ends	nfsd-io, direct, that rule
#	async				nfsd-io, direct, an export with async: nothing is made stable before a reply
#	MODE+STRATEGY			that server (direct, buffered), by an export of it whose replies are sent by sendmsg, splice or
#					zerocopy only, or by auto, and whose cached data may be spliced: one process, so that how
#					its threads came to lie is the same for all
#	MODE+v4				that server (direct, buffered) by NFSv4.2: the same process and export
#	ganesha				nfs-ganesha, FSAL VFS
#	ganesha+RULE[+ENGINE]		nfs-ganesha with our plugin, direct, that rule (page, dontcache-ends) and engine (mixed)
#	SERVER@BYTES			that server in a memory cgroup of this size
declare -A SRV_PID SRV_CGROUP SRV_PORT SRV_MOUNT SRV_ADDR
SRV_WAYS="auto sendmsg splice zerocopy"
SRV_N=0
CLIENT_NS=

srv_fail() { echo "bench: $*" >&2; return 1; }

# The process behind a server's name.
srv_process() { # NAME
	case $1 in ganesha*) echo "$1";; *) echo "${1%+*}";; esac
}

# The options of nfsd-io for a server's name, one a line; fails where the name says nothing.
srv_options() { # NAME
	local name=${1%@*} mode
	mode=${name%+*}
	case $mode in
	direct|async) ;;
	buffered|dontcache) printf '%s\n' -o "io.read-mode=$mode" -o "io.write-mode=$mode";;
	seed|mainline|dontcache-ends) printf '%s\n' -o "io.rule=$mode";;
	*) return 1;;
	esac
	[ "$name" = "$mode" ] || [[ " $SRV_WAYS v4 " = *" ${name#*+} "* ]]
}

srv_known() { # NAME
	case ${1%@*} in
	ganesha) command -v ganesha.nfsd >/dev/null && command -v rpcbind >/dev/null;;
	ganesha+*) srv_known ganesha && [ -e "$BUILDDIR/.libs/libfsalnfsdio.so" ];;
	*) srv_options "$1" >/dev/null;;
	esac
}

# --- memory cgroups: version 2 where the controller is there, else version 1 -----------------
cgroup_init() {
	local v2
	v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	CG_STAT=cache CG_LIMIT=memory.limit_in_bytes CG_ROOT=
	if [ -n "$v2" ] && grep -qw memory "$v2/cgroup.subtree_control" 2>/dev/null; then
		CG_STAT=file CG_LIMIT=memory.max CG_ROOT=$v2
	else
		CG_ROOT=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	fi
	[ -n "$CG_ROOT" ] || srv_fail "no memory cgroups: no figures of page cache, no lines with a limit"
}

cgroup_make() { # NAME [BYTES]: CGROUP
	CGROUP=
	[ -n "$CG_ROOT" ] || return 0
	CGROUP=$CG_ROOT/nfsd-io-bench.$$.$1
	mkdir "$CGROUP" || return 1
	[ -z "${2-}" ] || echo "$2" >"$CGROUP/$CG_LIMIT"
}

srv_cache_kb() { # NAME: page cache charged to the server
	[ -n "${SRV_CGROUP[$1]}" ] || { echo 0; return; }
	awk -v k="$CG_STAT" '$1 == k { print int($2 / 1024) }' "${SRV_CGROUP[$1]}/memory.stat"
}

# A cgroup of version 1 bounds memory but not what of it is dirty; the kernel of a machine with that much memory does, at a
# tenth and a fifth, and so does version 2.  Hence the whole machine, for as long as such a line runs.
DIRTY=
dirty_limit() { # BYTES
	[ -n "$CG_ROOT" ] && [ "$CG_STAT" = cache ] && [ -z "$DIRTY" ] || return 0
	DIRTY=$(sysctl -n vm.dirty_background_ratio vm.dirty_ratio) || return 0
	[ "$(sysctl -n vm.dirty_bytes)" = 0 ] || { DIRTY=; return 0; }
	sysctl -q vm.dirty_background_bytes=$(($1 / 10)) vm.dirty_bytes=$(($1 / 5))
}
dirty_unlimit() {
	[ -n "$DIRTY" ] || return 0
	set -- $DIRTY
	sysctl -q vm.dirty_background_ratio="$1" vm.dirty_ratio="$2"
	DIRTY=
}

srv_rss_kb() { awk '/^VmRSS/ { print $2 }' "/proc/${SRV_PID[$1]}/status"; }

# Times a thread of its own went to sleep and was woken: nfsd-io's workers, which have names, or all of another server's.
# The kernel keeps one io-wq thread a ring that has used any, and looks at it every five seconds: not the server's doing.
srv_wakeups() { # NAME
	local workers='.' task=/proc/${SRV_PID[$1]}/task
	! grep -qE '^nfsd-io/w[0-9]' "$task"/*/comm || workers='^nfsd-io/w[0-9]'
	awk -v workers="$workers" '/^Name:/ { own = $2 ~ workers && $2 !~ /^iou-wrk-/ }
		/^voluntary_ctxt/ && own { n += $2 } END { print n + 0 }' "$task"/*/status
}

# --- starting ----------------------------------------------------------------------------
# In the new namespaces: join the cgroup, lo up, TCP as wanted, then CMD takes this process's place, so that its pid is known.
srv_inside='[ -z "$1" ] || echo $$ >"$1/cgroup.procs"; ip link set lo up
	[ -z "$CONGESTION" ] || echo "$CONGESTION" >/proc/sys/net/ipv4/tcp_congestion_control
	shift; exec "$@"'

# What a server serves: the directory, or the same one mounted a second time, exported with another way to reply.
srv_path() { # NAME
	case $1 in ganesha*|*@*|*+v4) echo "$FS";; *+*) echo "$TMP/way/${1#*+}";; *) echo "$FS";; esac
}

srv_way() { # WAY NUMBER STATE-DIR
	mountpoint -q "$TMP/way/$1" || { mkdir -p "$TMP/way/$1" && mount --bind "$FS" "$TMP/way/$1"; } || return 1
	echo "\"$TMP/way/$1\" *(rw,insecure,no_root_squash,no_subtree_check,fsid=$2)" >>"$3/exports"
	printf '[export "%s"]\nreply = %s\nsplice-buffered = y\n' "$TMP/way/$1" "$1" >>"$3/conf"
}

srv_ways_gone() {
	local way
	for way in $SRV_WAYS; do
		mountpoint -q "$TMP/way/$way" && wait_for 10 umount "$TMP/way/$way"
	done
}

srv_nfsd_io() { # NAME STATE-DIR
	local opts sync=sync way n=100
	[ "$1" != async ] || sync=async
	mapfile -t opts < <(srv_options "$1")
	mkdir -p "$2/state" "$2/exports.d"
	: >"$2/conf"
	echo "\"$FS\" *(rw,$sync,insecure,no_root_squash,no_subtree_check)" >"$2/exports"
	case $1 in
	direct|buffered) for way in $SRV_WAYS; do srv_way "$way" $((n += 1)) "$2" || return 1; done;;
	esac
	unshare -n bash -c "$srv_inside" - "$CGROUP" "$NFSD_IO" serve -f "$2/conf" -o nfsd.rpcbind=n \
		-o "nfsd.state-directory-path=$2/state" -o "exports.file=$2/exports" -o "exports.directory=$2/exports.d" \
		-o "control.socket=$2/ctl" -o log.target=stderr "${opts[@]}" >"$2/log" 2>&1 </dev/null &
	SRV_PID[$1]=$! SRV_PORT[$1]=2049 SRV_MOUNT[$1]=2049
}

srv_ganesha() { # NAME STATE-DIR
	local fsal rule=${1%@*} engine=
	fsal=$(ganesha_vfs)
	rule=${rule#ganesha}
	rule=${rule#+}
	case $rule in *+*) engine=${rule#*+} rule=${rule%%+*};; esac
	[ -z "$rule" ] || fsal=$(ganesha_nfsdio direct direct "$rule")
	ganesha_plugins "$2" || return 1
	{
		ganesha_conf "$2" "$engine"
		ganesha_export 1 "$FS" "$fsal"
		echo 'LOG { Default_Log_Level = WARN; }'
	} >"$2/conf"
	mkdir -p /var/lib/nfs
	unshare -n -m --propagation slave bash -c "$srv_inside" - "$CGROUP" bash -c "$ganesha_inside" - "$2" \
		>"$2/out" 2>&1 </dev/null &
	SRV_PID[$1]=$! SRV_PORT[$1]=2049 SRV_MOUNT[$1]=20048
}

# A pair of interfaces between the server's namespace and the client's.
srv_veth() { # NAME NUMBER
	[ -n "$CLIENT_NS" ] || { unshare -n bash -c "$srv_inside" - "" sleep infinity & CLIENT_NS=$!; wait_for 5 ns_left "$CLIENT_NS"; }
	ip link add "veth$2" netns "$CLIENT_NS" type veth peer name eth0 netns "${SRV_PID[$1]}" &&
		nsenter -t "$CLIENT_NS" -n ip addr add "10.99.$2.1/24" dev "veth$2" &&
		nsenter -t "$CLIENT_NS" -n ip link set "veth$2" up &&
		nsenter -t "${SRV_PID[$1]}" -n ip addr add "10.99.$2.2/24" dev eth0 &&
		nsenter -t "${SRV_PID[$1]}" -n ip link set eth0 up
}
ns_left() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }

srv_start() { # NAME
	local dir="$TMP/servers/$1" limit= process
	[ -z "${SRV_PID[$1]-}" ] || return 0
	process=$(srv_process "$1")
	if [ "$process" != "$1" ]; then
		srv_start "$process" || return 1
		SRV_PID[$1]=${SRV_PID[$process]} SRV_CGROUP[$1]=${SRV_CGROUP[$process]} SRV_ADDR[$1]=${SRV_ADDR[$process]}
		SRV_PORT[$1]=${SRV_PORT[$process]} SRV_MOUNT[$1]=${SRV_MOUNT[$process]}
		return
	fi
	case $1 in *@*) limit=${1#*@};; esac
	mkdir -p "$dir"
	SRV_N=$((SRV_N + 1))
	cgroup_make "$SRV_N" "$limit" || return 1
	SRV_CGROUP[$1]=$CGROUP
	case $1 in
	ganesha*) srv_ganesha "$1" "$dir";;
	*) srv_nfsd_io "$1" "$dir";;
	esac
	wait_for 10 ns_left "${SRV_PID[$1]}" || return 1
	SRV_ADDR[$1]=10.99.$SRV_N.2
	case $NETS in *veth*) srv_veth "$1" "$SRV_N" || return 1;; esac
	wait_for 30 srv_load "$1" lo -w null -N 1 && return 0
	tail -5 "$dir"/log "$dir"/out 2>/dev/null >&2
	srv_fail "$1 does not answer"
}

# The load generator, where NET says, against a server.
srv_load() { # NAME NET OPTION...
	local name=$1 net=$2 ns=${SRV_PID[$1]} addr=127.0.0.1
	shift 2
	[[ $name != *+v4 ]] || set -- -V 4 "$@"
	[ "$net" = lo ] || { ns=$CLIENT_NS addr=${SRV_ADDR[$name]}; }
	nsenter -t "$ns" -n timeout 180 "$NFSLOAD" -M "${SRV_MOUNT[$name]}" -p "${SRV_PID[$name]}" "$@" "$addr" "${SRV_PORT[$name]}" \
		"$(srv_path "$name")"
}

srv_stop() { # NAME
	local pid=${SRV_PID[$1]-}
	[ -n "$pid" ] && [ "$(srv_process "$1")" = "$1" ] || return 0
	[ ! -e "$TMP/servers/$1/rpcbind.pid" ] || kill -9 "$(cat "$TMP/servers/$1/rpcbind.pid")" 2>/dev/null
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	unset "SRV_PID[$1]"
	[ -z "${SRV_CGROUP[$1]}" ] || wait_for 10 rmdir "${SRV_CGROUP[$1]}"
}

srv_stop_all() {
	local s
	for s in "${!SRV_PID[@]}"; do srv_stop "$s"; done
	srv_ways_gone
	[ -z "$CLIENT_NS" ] || { kill "$CLIENT_NS"; wait "$CLIENT_NS"; } 2>/dev/null
	CLIENT_NS=
}
