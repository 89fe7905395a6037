#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Writes the hand-made seeds of record, msg and nfs3args below the directory given (default: seeds beside this file).
import os
import struct
import sys

top = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "seeds")


def seed(stem, name, data):
    os.makedirs(os.path.join(top, stem), exist_ok=True)
    with open(os.path.join(top, stem, name), "wb") as f:
        f.write(data)


def u32(*v):
    return b"".join(struct.pack(">I", x & 0xFFFFFFFF) for x in v)


def u64(*v):
    return b"".join(struct.pack(">Q", x) for x in v)


def opaque(b):
    return u32(len(b)) + b + b"\0" * (-len(b) % 4)


def frag(body, last=True):
    return u32(len(body) | (0x80000000 if last else 0)) + body


# record: limit and cutting seed in the machine's order (little endian), then the stream
def record(name, stream, limit=4096, cuts=7):
    seed("record", name, struct.pack("<II", limit, cuts) + stream)


record("one", frag(b"0123456789"))
record("two-records", frag(b"abcd") + frag(b"efgh"), cuts=99)
record("fragments", frag(b"ab", False) + frag(b"cde", False) + frag(b"f"))
record("one-byte-fragments", b"".join(frag(b"%c" % c, False) for c in b"abcdefgh") + frag(b"i"))
record("empty-last", frag(b"abc", False) + frag(b""))
record("empty-many", frag(b"", False) * 64 + frag(b"x"))
record("empty-too-many", frag(b"", False) * 65 + frag(b"x"))
record("claim-2g", b"\xff\xff\xff\xffabc")
record("http", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
record("limit", frag(b"x" * 16), limit=16)
record("over-limit", frag(b"x" * 10, False) + frag(b"y" * 7), limit=16)

AUTH_NONE = u32(0, 0)
SYS = u32(1) + opaque(u32(7) + opaque(b"client.example") + u32(1000, 100, 3, 10, 20, 30))


def call(prog=100003, vers=3, proc=1, cred=SYS, verf=AUTH_NONE, rpcvers=2, mtype=0, args=b""):
    return u32(0x12345678, mtype, rpcvers, prog, vers, proc) + cred + verf + args


FH = opaque(bytes(range(28)))
seed("msg", "null", call(proc=0, cred=AUTH_NONE))
seed("msg", "sys", call(args=FH))
seed("msg", "reply", call(mtype=1))
seed("msg", "rpcvers", call(rpcvers=3))
seed("msg", "prog", call(prog=100227))
seed("msg", "vers", call(vers=2))
seed("msg", "mount-vers", call(prog=100005, vers=2))
seed("msg", "proc", call(proc=22))
seed("msg", "gss", call(cred=u32(6) + opaque(u32(1, 1, 0, 1, 0))))
seed("msg", "short-verf", call()[:-3])
seed("msg", "bad-verf", call(verf=u32(1) + opaque(b"abcd")))
seed("msg", "cred-401", call(cred=u32(1, 401) + b"x" * 404))
seed("msg", "gids-17", call(cred=u32(1) + opaque(u32(7) + opaque(b"h") + u32(0, 0, 17) + u32(*range(17)))))
seed("msg", "machine-256", call(cred=u32(1) + opaque(u32(7) + opaque(b"m" * 256) + u32(0, 0, 0))))

SATTR = u32(1, 0o644, 1, 1000, 1, 100, 1) + u64(4096) + u32(2, 1, 2, 1)
NOATTR = u32(0, 0, 0, 0, 0, 0)
WHERE = FH + opaque(b"name")
ARGS = [
    ("getattr", FH),
    ("setattr", FH + SATTR + u32(1, 5, 6)),
    ("lookup", WHERE),
    ("access", FH + u32(0x3F)),
    ("readlink", FH),
    ("read", FH + u64(1 << 40) + u32(65536)),
    ("write", FH + u64(1000) + u32(5, 2) + opaque(b"hello")),
    ("create", WHERE + u32(1) + SATTR),
    ("mkdir", WHERE + NOATTR),
    ("symlink", WHERE + NOATTR + opaque(b"../target")),
    ("mknod", WHERE + u32(4) + NOATTR + u32(8, 1)),
    ("remove", WHERE),
    ("rmdir", WHERE),
    ("rename", WHERE + FH + opaque(b"new")),
    ("link", FH + WHERE),
    ("readdir", FH + u64(3) + b"verifier" + u32(4096)),
    ("readdirplus", FH + u64(0) + b"\0" * 8 + u32(512, 4096)),
    ("fsstat", FH),
    ("fsinfo", FH),
    ("pathconf", FH),
    ("commit", FH + u64(0) + u32(0)),
    ("dirpath", opaque(b"/export/data")),
]
for n, (name, args) in enumerate(ARGS):
    seed("nfs3args", name, bytes([n]) + args)
seed("nfs3args", "create-exclusive", bytes([7]) + WHERE + u32(2) + b"12345678")
seed("nfs3args", "mknod-fifo", bytes([10]) + WHERE + u32(7) + NOATTR)
seed("nfs3args", "fh-65", bytes([0]) + opaque(b"x" * 65))
seed("nfs3args", "name-nul", bytes([2]) + FH + opaque(b"a\0b"))
seed("nfs3args", "data-claim-1m", bytes([6]) + FH + u64(0) + u32(1048576, 2, 1048576) + b"tiny")
