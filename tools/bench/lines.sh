# SPDX-License-Identifier: LGPL-2.1-or-later
# The lines of the benchmark, sourced by tools/bench/run, in the order they run:
#
#	line NAME STATE "SERVER..." OPTION...
#
# STATE is how the file is before each run: cached or cold (the file all servers read), new (written to a file that is
# not there), over (to one that is, all of it), own (the server's own file, cold), dir (a directory of 100,000 names), fresh (no
# directory yet), names (one with names), idle (nothing is asked).
# OPTIONs are nfsload's.  A quick run takes only those marked with `quick` before them.
both="buffered ganesha"
all="direct buffered ganesha"
replies="buffered+auto buffered+sendmsg buffered+splice buffered+zerocopy"
dreplies="direct+sendmsg direct+splice direct+zerocopy"
rules="direct seed mainline dontcache-ends"

# Reads out of the page cache.
quick line read-1m-cached cached "$both $replies" -w read -s 1M -T $T
line read-1m-cached-qd1 cached "$both" -w read -s 1M -d 1 -T $T
line read-1m-cached-4x4 cached "$both" -w read -s 1M -c 4 -d 4 -T $T
line read-1m-cached-16x1 cached "$both" -w read -s 1M -c 16 -d 1 -T $T
quick line read-64k-cached cached "$both $replies" -w read -s 64K -T $T
line read-64k-cached-qd1 cached "$both" -w read -s 64K -d 1 -T $T
line read-47008-cached cached "$both $replies" -w read -s 47008 -T $T
quick line randread-4k-cached cached "$both $replies" -w read -s 4K -R 1 -d 32 -T $T
line randread-4k-cached-qd1 cached "$both" -w read -s 4K -R 1 -d 1 -T $T
line randread-4k-cached-4x32 cached "$both" -w read -s 4K -R 1 -c 4 -d 32 -T $T
line randread-4k-cached-16x32 cached "$both" -w read -s 4K -R 1 -c 16 -d 32 -T $T

# Reads from the disk: past the page cache, or through one that has nothing of the file.
quick line read-1m-cold cold "$all $dreplies" -w read -s 1M
quick line read-1m-cold-qd1 cold "direct $dreplies" -w read -s 1M -d 1
quick line read-64k-cold cold "$all $dreplies" -w read -s 64K
line read-47008-cold cold "$all $dreplies" -w read -s 47008
line randread-4k-cold cold "$all $dreplies" -w read -s 4K -R 1 -d 32 -T $T

# Writes, UNSTABLE, and a COMMIT at the end that counts.
quick line write-1m-new new "direct dontcache buffered ganesha" -s 1M
line write-1m-over over "$all" -s 1M
line write-1m-new-qd1 new "$all" -s 1M -d 1
line write-1m-new-4x4 new "direct ganesha" -s 1M -c 4 -d 4
line write-1m-new-16x1 new "direct ganesha" -s 1M -c 16 -d 1
line write-1m-sync over "$all" -s 1M -y
line write-64k-new new "$all" -s 64K
quick line iorhard-new new "$rules buffered ganesha" -s 47008 -t $SMALL
line iorhard-over over "$rules buffered ganesha" -s 47008 -t $SMALL
quick line randwrite-4k over "$all" -s 4K -R 1 -d 32 -T $T -t $SMALL
line mix-4k-70-30 over "$both" -w mix -m 70 -s 4K -R 1 -d 32 -T $T -t $SMALL

# A file six times the memory the server has.
quick line big-write new "direct@$LIMIT buffered@$LIMIT ganesha@$LIMIT" -s 1M -t $((6 * LIMIT))
line big-write-qd1 new "direct@$LIMIT buffered@$LIMIT" -s 1M -d 1 -t $((6 * LIMIT))
quick line big-read own "direct@$LIMIT buffered@$LIMIT ganesha@$LIMIT" -w read -s 1M -t $((6 * LIMIT))

# Names.  RFC 1813 wants them on stable storage before the reply; ganesha's VFS leaves that to the file system, as `async` does.
quick line create fresh "$both async" -w create -N $NAMES
line lookup names "$both" -w lookup -N $NAMES
quick line getattr names "$both" -w getattr -N $NAMES -T $T
line readdir dir "$both" -w readdir -N 4 -d 4
quick line readdirplus dir "$both" -w readdirplus -N 4 -d 4
line remove names "$both async" -w remove -N $NAMES

# NFSv4.2 against NFSv3: one process, in turn.
quick line v4-read-1m-cached cached "buffered buffered+v4" -w read -s 1M -T $T
quick line v4-read-1m-cold cold "direct direct+v4" -w read -s 1M
line v4-randread-4k-cached cached "buffered buffered+v4" -w read -s 4K -R 1 -d 32 -T $T
line v4-write-1m-new new "direct direct+v4" -s 1M
quick line v4-write-1m-over over "direct direct+v4" -s 1M
line v4-iorhard-over over "direct direct+v4" -s 47008 -t $SMALL

# nfs-ganesha through libnfsdio: against VFS, and the rule against the one it replaced.
fsal="ganesha ganesha+page ganesha+page+inline ganesha+page+io_uring"
line fsal-write-1m new "$fsal" -s 1M
line fsal-write-1m-over over "$fsal" -s 1M
line fsal-read-1m-cold cold "$fsal" -w read -s 1M
line fsal-iorhard over "$fsal ganesha+dontcache-ends ganesha+dontcache-ends+io_uring" -s 47008 -t $SMALL

quick line idle idle "direct ganesha" -w idle -c 64
