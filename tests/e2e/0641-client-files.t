#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What NFSv4 clients are and hold: clients/N/info and states beside the control socket, in nfsd's form, and the verb.
srcdir=${srcdir:-$(dirname "$0")/../..}
. "$srcdir/tests/lib/daemon.sh"
need_root
need ss jq
mkdir -p "$TAP_TMP/export" "$DAEMON_DIR/clients/77" "$DAEMON_DIR/clients/mine"
touch "$DAEMON_DIR/clients/77/info"
daemon_export "$TAP_TMP/export"
ok_here "daemon starts" daemon_start || { tap_done; exit; }
ok "what a dead server left is gone" [ ! -e "$DAEMON_DIR/clients/77" ]
ok "what is none of its is left alone" [ -d "$DAEMON_DIR/clients/mine" ]
rmdir "$DAEMON_DIR/clients/mine"

coproc HOLDER { exec "$BUILDDIR/tests/e2e/holder" "$DAEMON_HOST" "$DAEMON_PORT" "$TAP_TMP/export" 'a "client"' file; }
read -r -t 20 said <&"${HOLDER[0]}"
is "a client holds an open and a lock" "$said" held
N=$(daemon_ctl clients --json | jq -r '.[] | select(.status == "confirmed") | .number')
there() { grep -q 'type: lock' "$DAEMON_DIR/clients/$N/states" 2>/dev/null; }
ok "its files come within seconds" wait_for 10 there
dir=$DAEMON_DIR/clients/$N
is "they are for the server's user alone" "$(stat -c %a "$dir" "$dir/info" "$dir/states" | xargs)" "700 600 600"
cp "$dir/info" "$TAP_TMP/info"
cp "$dir/states" "$TAP_TMP/states"
sed 's/^/# /' "$TAP_TMP/info" "$TAP_TMP/states"
for line in 'clientid: 0x[0-9a-f]+' 'address: "127\.0\.0\.1:[0-9]+"' 'status: confirmed' 'seconds from last renew: [0-9]+' \
	'name: "a \\x22client\\x22"' 'minor version: 1' 'callback state: UNKNOWN' 'callback address: "127\.0\.0\.1:[0-9]+"'; do
	ok "info: ${line%%:*}" grep -qxE "$line" "$TAP_TMP/info"
done
super=$(stat -c '%Hd %Ld %i' "$TAP_TMP/export/file" | { read -r a b c; printf '%02x:%02x:%d' "$a" "$b" "$c"; })
ok "states: the open" grep -qxE -e "- 0x[0-9a-f]{32}: \{ type: open, access: rw, deny: -w, superblock: \"$super\", filename: \"export/file\", owner: \"open id:opener\\\\x0a\" \}" "$TAP_TMP/states"
ok "states: the lock" grep -qxE -e "- 0x[0-9a-f]{32}: \{ type: lock, superblock: \"$super\", filename: \"export/file\", owner: \"lock id:locker\" \}" "$TAP_TMP/states"
is "and nothing else" "$(wc -l <"$TAP_TMP/states")" 2
if python3 -c 'import yaml' 2>/dev/null; then
	ok "both are YAML" python3 -c 'import sys, yaml
for f in sys.argv[1:]:
	yaml.safe_load(open(f))' "$TAP_TMP/info" "$TAP_TMP/states"
fi
daemon_ctl clients states "$N" >"$TAP_TMP/verb"
ok "clients states N says the same" grep -qxFf "$TAP_TMP/states" "$TAP_TMP/verb"
daemon_ctl clients states >"$TAP_TMP/verb"
ok "clients states says it of all" grep -qxFf "$TAP_TMP/states" "$TAP_TMP/verb"
daemon_ctl clients states 424242 >/dev/null 2>&1
is "a client that is not there is told by exit code 3" $? 3
ok_here "expire" daemon_ctl clients expire "$N"
gone() { [ ! -e "$dir" ]; }
ok "its files go with it" wait_for 10 gone
exec {HOLDER[1]}>&-
wait "$HOLDER_PID"
ok_here "daemon drains and exits 0" daemon_stop
ok "nothing is left behind" [ ! -e "$DAEMON_DIR/clients" ]
tap_done
