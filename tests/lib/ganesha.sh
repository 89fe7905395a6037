# SPDX-License-Identifier: LGPL-2.1-or-later
# nfs-ganesha in namespaces of its own.  Sourced; tools/bench uses ganesha_conf, ganesha_export and ganesha_inside alone,
# tests source it after tests/lib/daemon.sh:
#
#	ganesha_need; ganesha_add 1 DIR "$(ganesha_nfsdio direct direct page)"; ganesha_start
#	ganesha_run CLIENT 127.0.0.1 2049 DIR; ganesha_stat '.exports[0].write.payload'; ganesha_stop
#
# GANESHA_PREFIX enters the network namespace it is to run in; ganesha_run gets there.
GANESHA_PREFIX=(unshare -n)
GANESHA_ENV=()
GANESHA_PID=

# --- what the benchmark shares ---------------------------------------------------------------
# No files or sockets of the host, no addresses but those that are in the namespace.
ganesha_conf() { # DIR [ENGINE]
	cat <<-END
		NFS_CORE_PARAM { Protocols = 3, 4; NFS_Port = 2049; MNT_Port = 20048; Plugins_Dir = "$1/plugins";
			Enable_UDP = false; Enable_NLM = false; Enable_RQUOTA = false; }
		NFSv4 { Graceless = true; Only_Numeric_Owners = true; Minor_Versions = 0, 1, 2; }
		NFS_KRB5 { Active_krb5 = false; }
		NFSDIO { Control_Socket = "$1/nfsdio.sock"; ${2:+Engine = $2;} }
	END
}

ganesha_export() { # ID DIR FSAL-BLOCK
	cat <<-END
		EXPORT { Export_Id = $1; Path = "$2"; Pseudo = "$2"; Access_Type = RW; Squash = No_Root_Squash;
			SecType = sys; Protocols = 3, 4; Transports = TCP; $3 }
	END
}

ganesha_vfs() { echo 'FSAL { Name = VFS; }'; }
ganesha_nfsdio() { # READ-MODE WRITE-MODE RULE
	echo "FSAL { Name = NFSDIO; Read_Mode = $1; Write_Mode = $2; Rule = $3; FSAL { Name = VFS; } }"
}

# The plugin as it was built, beside those that ganesha brings.
ganesha_plugins() { # DIR
	local theirs
	theirs=$(compgen -G '/usr/lib/*/ganesha/libfsalvfs.so') || theirs=/usr/lib/ganesha/libfsalvfs.so
	mkdir -p "$1/plugins" && ln -sf "$theirs" "$1/plugins/" || return 1
	[ ! -e "$BUILDDIR/.libs/libfsalnfsdio.so" ] ||
		ln -sf "$(realpath "$BUILDDIR/.libs/libfsalnfsdio.so")" "$1/plugins/"
}

# NFSv3 is fatal to it without an rpcbind, and both keep state in fixed places: a mount namespace hides those.
# For bash -c, in the namespaces, with DIR and what is to run ganesha (valgrind, say).
ganesha_inside='
	ip link set lo up
	mount -t tmpfs none /run && mkdir -p /run/rpcbind /run/ganesha /run/sendsigs.omit.d
	mount -t tmpfs none /var/lib/nfs && mkdir -p /var/lib/nfs/ganesha
	rpcbind -f -w & echo $! >"$1/rpcbind.pid"
	for i in $(seq 100); do [ -S /run/rpcbind.sock ] && break; sleep 0.05; done
	dir=$1; shift
	exec "$@" ganesha.nfsd -F -L "$dir/log" -f "$dir/conf" -p /run/ganesha.pid'

# --- for tests --------------------------------------------------------------------------------
ganesha_need() {
	need_root
	need ganesha.nfsd rpcbind unshare nsenter ss python3 jq
	[ -e "$BUILDDIR/.libs/libfsalnfsdio.so" ] ||
		skip_all "the plugin is not built: configure --with-ganesha-src=DIR (the tree of nfs-ganesha 4.x)"
	unshare -n -m true || skip_all "namespaces are not permitted"
	GANESHA_DIR=$TAP_TMP/ganesha
	mkdir -p "$GANESHA_DIR" /var/lib/nfs
	ganesha_plugins "$GANESHA_DIR" || skip_all "no libfsalvfs.so: nfs-ganesha-vfs is not installed"
	ganesha_conf "$GANESHA_DIR" >"$GANESHA_DIR/conf"
	export V3C_MOUNT_PORT=20048 MODEL_GANESHA=1
	trap 'ganesha_kill; cleanup' EXIT
}

ganesha_add() { ganesha_export "$@" >>"$GANESHA_DIR/conf"; }

# Follows a process by its open port: a pid of its own namespaces is what ganesha_run enters.
ganesha_ready() { ! kill -0 "$GANESHA_PID" 2>/dev/null || ganesha_listens; }
ganesha_listens() { nsenter -t "$GANESHA_PID" -n ss -Hltn 'sport = :2049' | grep -q .; }

ganesha_start() { # [WRAPPER...]
	"${GANESHA_PREFIX[@]}" unshare -m --propagation slave env "${GANESHA_ENV[@]}" \
		bash -c "$ganesha_inside" - "$GANESHA_DIR" "$@" >>"$GANESHA_DIR/out" 2>&1 </dev/null &
	GANESHA_PID=$!
	wait_for "${GANESHA_PATIENCE:-30}" ganesha_ready
	ganesha_listens && return 0
	tail -20 "$GANESHA_DIR/log" "$GANESHA_DIR/out"
	ganesha_kill
	return 1
}

ganesha_run() { nsenter -t "$GANESHA_PID" -n "$@"; }

ganesha_fds() { ls "/proc/$GANESHA_PID/fd" | wc -l; }

# A number of the counters: ganesha_stat '.exports[0].write.payload'
ganesha_stat() {
	python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect(sys.argv[1])
while d := s.recv(65536): sys.stdout.buffer.write(d)' "$GANESHA_DIR/nfsdio.sock" | jq -r "$1"
}

ganesha_gone() { ! kill -0 "$1" 2>/dev/null; }

ganesha_stop() {
	local pid=$GANESHA_PID rc
	[ -n "$pid" ] || { echo "no ganesha"; return 1; }
	kill -TERM "$pid"
	wait_for "${GANESHA_PATIENCE:-30}" ganesha_gone "$pid" || { echo "ganesha did not stop on SIGTERM"; kill -9 "$pid"; }
	wait "$pid" 2>/dev/null
	rc=$?
	ganesha_kill
	[ $rc -eq 0 ] || { echo "exit status $rc"; tail -20 "$GANESHA_DIR/log"; return 1; }
}

ganesha_kill() {
	[ -z "$GANESHA_PID" ] || { kill -9 "$GANESHA_PID"; wait "$GANESHA_PID"; } 2>/dev/null
	[ ! -e "$GANESHA_DIR/rpcbind.pid" ] || kill -9 "$(cat "$GANESHA_DIR/rpcbind.pid")" 2>/dev/null
	rm -f "$GANESHA_DIR/rpcbind.pid"
	GANESHA_PID=
}
