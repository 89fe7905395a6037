#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# nfs-ganesha with our FSAL plugin, by libnfs clients over NFSv3: data is right in each mode, callers write as
# themselves, SIGHUP changes modes, counters are told, descriptors are given back.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
. "$srcdir/tests/lib/ganesha.sh"
ganesha_need
fs_in_memory 3
client() { local name=$1; shift; ganesha_run "$BUILDDIR/tests/e2e/$name" 127.0.0.1 2049 "$@"; }

# The plugin needs what ganesha exports, and nothing of an RPC library.
undefined() {
	! nm -D --undefined-only "$BUILDDIR/.libs/libfsalnfsdio.so" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | sort -u |
		comm -23 - <(nm -D --defined-only /usr/lib/*/libganesha_nfsd.so /usr/lib/ganesha/libganesha_nfsd.so \
			"$BUILDDIR/.libs/libnfsdio.so" /lib/*/libc.so.6 /lib*/ld-linux*.so.2 2>/dev/null |
			awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u) | grep .
}
ok "every symbol the plugin needs is there" undefined
no_rpc() { ! readelf -d "$BUILDDIR/.libs/libfsalnfsdio.so" | grep NEEDED | grep -iE 'rpc|ganesha|fsalvfs'; }
ok "it links no RPC library, ganesha or VFS" no_rpc

id=0 base=
add() { # NAME DIR FSAL-BLOCK
	id=$((id + 1))
	mkdir -m 1777 "$2"
	ganesha_add $id "$2" "$3"
	printf '%s\t%s\n' "$1" "$2" >>"$TAP_TMP/list"
}
for fs in ${MATRIX_FS:-ext4 xfs tmpfs}; do
	fs_mount "$fs" || { tap_skip "$fs" "cannot be mounted here"; continue; }
	add "$fs direct" "$FS_DIR/direct" "$(ganesha_nfsdio direct direct page)"
	[ "$fs" != tmpfs ] || continue
	add "$fs dontcache" "$FS_DIR/dontcache" "$(ganesha_nfsdio dontcache dontcache page)"
	[ "$fs" = ext4 ] || continue
	base=$FS_DIR
	add "$fs read=buffered write=direct" "$FS_DIR/buffered-direct" "$(ganesha_nfsdio buffered direct page)"
	add "$fs dontcache-ends" "$FS_DIR/dontcache-ends" "$(ganesha_nfsdio direct direct dontcache-ends)"
done
[ -n "$base" ] || skip_all "ext4 cannot be mounted here"
mkdir "$base/vfs"
ganesha_add 90 "$base/vfs" "$(ganesha_vfs)"
for e in "91 rootsquash Root_Squash" "92 allsquash All_Squash" "93 readonly No_Root_Squash"; do
	read -r i name squash <<<"$e"
	mkdir -m 1777 "$base/$name"
	ganesha_export "$i" "$base/$name" "$(ganesha_nfsdio direct direct page)" |
		sed "s/No_Root_Squash/$squash; Anonymous_Uid = $([ "$i" = 92 ] && echo 4242 || echo 65534); Anonymous_Gid = $(
			[ "$i" = 92 ] && echo 4343 || echo 65534)/; $([ "$i" != 93 ] || echo s/RW/RO/)" >>"$GANESHA_DIR/conf"
done
echo x >"$base/readonly/file"
ok_here "ganesha starts with the plugin" ganesha_start || { tap_done; exit; }

seed=${MODEL_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
while IFS=$'\t' read -r name dir; do
	tap_adopt "$name" client model "$dir" "$seed" "${MODEL_OPS:-150}"
	tap_adopt "$name" client mixed "$dir" "$seed" 6000000
done <"$TAP_TMP/list"
tap_adopt "an export of VFS beside them" client model "$base/vfs" "$seed" 50

tap_adopt "identities" client perms "$(sed -n '1s/.*\t//p' "$TAP_TMP/list")" "$base/rootsquash" "$base/allsquash" "$base/readonly"

# What an OPEN denies, with the plugin and as VFS has it.
for d in "$(sed -n '1s/.*\t//p' "$TAP_TMP/list")" "$base/vfs"; do
	head -c 100000 /dev/zero >"$d/shared"
	tap_adopt "${d##*/}: what an OPEN denies" client shares "$d" shared
done

# --- counters -----------------------------------------------------------------------------
written() { ganesha_stat ".exports[] | select(.id == $1) | .write | $2"; }
direct=$(sed -n '1s/.*\t//p' "$TAP_TMP/list")
ok "aligned, split and small WRITEs are counted" \
	test "$(written 1 '[.dispositions.ALIGNED, .dispositions.SPLIT, .dispositions.TOO_SMALL] | all(. > 0)')" = true
ok "some WRITEs are handed to the library's thread, others not" \
	test "$(written 1 '.handed > 0 and .handed < (.dispositions | add)')" = true
is "the modes are told" "$(ganesha_stat '.exports[] | select(.id == 1) | "\(.read_mode) \(.write_mode) \(.rule)"')" "direct direct page"

# --- SIGHUP -------------------------------------------------------------------------------
mode_is() { [ "$(ganesha_stat '.exports[] | select(.id == 1) | "\(.read_mode) \(.write_mode)"')" = "$1" ]; }
sed -i '/Export_Id = 1;/,/}/ { s/Read_Mode = direct/Read_Mode = buffered/; s/Write_Mode = direct/Write_Mode = buffered/ }' "$GANESHA_DIR/conf"
kill -HUP "$GANESHA_PID"
ok "SIGHUP changes the modes" wait_for 20 mode_is "buffered buffered"
before=$(written 1 .direct)
tap_adopt "after SIGHUP" client model "$direct" 7 60
is "and nothing goes past the page cache any more" "$(written 1 .direct)" "$before"
ok "the counters are logged at a SIGHUP" grep -q 'NFSDIO: export 1 so far read [1-9]' "$GANESHA_DIR/log"

# An export goes while its files are written, and comes back.
known() { [ "$(ganesha_stat "[.exports[] | select(.id == 2)] | length")" = "$1" ]; }
second=$(sed -n '2s/.*\t//p' "$TAP_TMP/list")
cp "$GANESHA_DIR/conf" "$GANESHA_DIR/conf.all"
client mixed "$second" 9 60000000 >"$TAP_TMP/busy" 2>&1 &
busy=$!
wait_for 20 test -e "$second/mixed"
sed -i -z 's/EXPORT { Export_Id = 2;[^}]*}[^}]*}[^}]*}//' "$GANESHA_DIR/conf"
kill -HUP "$GANESHA_PID"
ok "an export is taken away while its files are written" wait_for 20 known 0
wait $busy
mv "$GANESHA_DIR/conf.all" "$GANESHA_DIR/conf"
kill -HUP "$GANESHA_PID"
ok "and comes back" wait_for 20 known 1
tap_adopt "an export that was away" client model "$second" "$seed" 50

# --- descriptors --------------------------------------------------------------------------
opened() { ganesha_stat .open_descriptors; }
before=$(opened)
few() { [ "$(opened)" -le "$before" ]; }
tap_adopt "many files" client many "$base/dontcache" 300
ok "descriptors go with the files: $(opened) open" wait_for 20 few
ok "none of a removed file is held" test "$(ls -l "/proc/$GANESHA_PID/fd" | grep -c '(deleted)')" -eq 0
ok_here "ganesha ends with status 0" ganesha_stop

# Fewer than the files there are: the least used are closed.
: >"$GANESHA_DIR/log"
sed -i 's/NFSDIO {/NFSDIO { Max_Files = 20; Engine = threads;/' "$GANESHA_DIR/conf"
ok_here "ganesha starts with 20 files and threads" ganesha_start || { tap_done; exit; }
tap_adopt "few descriptors" client many "$base/buffered-direct" 200
tap_adopt "few descriptors" client model "$base/buffered-direct" "$seed" 100
ok "no more than 20 files are open: $(ganesha_stat .open_files)" test "$(ganesha_stat .open_files)" -le 20
ok_here "ganesha ends with status 0" ganesha_stop

# The library's own thread, ganesha's own; and ganesha's memory as it is without us.
sed -i 's/Max_Files = 20; Engine = threads;/Engine = threads; Keep_Memory = 0;/' "$GANESHA_DIR/conf"
for engine in io_uring inline; do
	sed -i "s/Engine = [a-z_]*;/Engine = $engine;/" "$GANESHA_DIR/conf"
	ok_here "ganesha starts with $engine" ganesha_start || { tap_done; exit; }
	tap_adopt "$engine" client model "$direct" "$seed" 100
	tap_adopt "$engine" client mixed "$direct" "$seed" 6000000
	is "$engine: WRITEs are handed over" "$(written 1 '.handed > 0')" "$([ $engine = inline ] && echo false || echo true)"
	ok_here "ganesha ends with status 0" ganesha_stop
done
# (ganesha itself keeps one of each export it has updated.)
ok "no reference is left over" bash -c "! grep 'Extra references' '$GANESHA_DIR/log'"
tap_done
