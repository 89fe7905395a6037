#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# Writes the hand-made seeds of record, msg, nfs3args and compound below the directory given (default: seeds beside this file).
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

# compound: COMPOUND4args
SID = u32(1) + b"stateid-of12"
SESSION = b"session-of-16-by"
OWNER = u64(0x1122334455667788) + opaque(b"owner-1")
FH4 = opaque(bytes(range(40)))
BITS = u32(2, 0x0010011A, 0x00B0A23A)
FATTR = u32(2, 1 << 4, 1 << 1) + opaque(u64(4096) + u32(0o644))
LONGSET = u32(12) + u32(0x18, 0x2) + u32(*range(10))
SEC = u32(2, 0, 1) + u32(7) + opaque(b"host") + u32(0, 0, 2, 10, 20)
CHANNEL = u32(0, 1049620, 1049480, 3428, 8, 64, 0)
CHANNEL_RDMA = u32(0, 4096, 4096, 0, 2, 16, 1, 4)
OPS = {
    "access": u32(3, 0x1F),
    "close": u32(4, 1) + SID,
    "commit": u32(5) + u64(0) + u32(0),
    "create-dir": u32(6, 2) + opaque(b"dir") + FATTR,
    "create-link": u32(6, 5) + opaque(b"../target") + opaque(b"link") + FATTR,
    "create-node": u32(6, 3, 8, 1) + opaque(b"node") + FATTR,
    "delegpurge": u32(7) + u64(1),
    "delegreturn": u32(8) + SID,
    "getattr": u32(9) + BITS,
    "getattr-long": u32(9) + LONGSET,
    "getfh": u32(10),
    "link": u32(11) + opaque(b"name"),
    "lock-new": u32(12, 1, 0) + u64(0, 10) + u32(1, 1) + SID + u32(0) + OWNER,
    "lock-old": u32(12, 2, 0) + u64(5, 0xFFFFFFFFFFFFFFFF) + u32(0) + SID + u32(2),
    "lockt": u32(13, 2) + u64(0, 10) + OWNER,
    "locku": u32(14, 2, 3) + SID + u64(0, 10),
    "lookup": u32(15) + opaque(b"name"),
    "lookup-dots": u32(15) + opaque(b".."),
    "lookup-nul": u32(15) + opaque(b"a\0b"),
    "lookup-long": u32(15) + opaque(b"n" * 256),
    "lookup-utf8": u32(15) + opaque(b"\xc3\xa9\xed\xa0\x80"),
    "lookupp": u32(16),
    "nverify": u32(17) + FATTR,
    "openattr": u32(19, 1),
    "open-confirm": u32(20) + SID + u32(1),
    "open-downgrade": u32(21) + SID + u32(1, 1, 0),
    "putfh": u32(22) + FH4,
    "putpubfh": u32(23),
    "putrootfh": u32(24),
    "read": u32(25) + SID + u64(1 << 40) + u32(65536),
    "readdir": u32(26) + u64(0) + b"verifier" + u32(512, 8192) + BITS,
    "readlink": u32(27),
    "remove": u32(28) + opaque(b"name"),
    "rename": u32(29) + opaque(b"old") + opaque(b"new"),
    "renew": u32(30) + u64(1),
    "restorefh": u32(31),
    "savefh": u32(32),
    "secinfo": u32(33) + opaque(b"name"),
    "setattr": u32(34) + SID + FATTR,
    "setattr-owner": u32(34) + SID + u32(2, 0, 0x30) + opaque(opaque(b"1000") + opaque(b"nobody@example.org")),
    "setattr-times": u32(34) + SID + u32(2, 0, 0x00410000) + opaque(u32(0, 1) + u64(1 << 33) + u32(999999999)),
    "setattr-umask": u32(34) + SID + u32(3, 0, 0, 1 << 17) + opaque(u32(0o777, 0o22)),
    "setattr-size-cut": u32(34) + SID + u32(1, 1 << 4) + opaque(u32(1)),
    "setattr-nothing": u32(34) + SID + u32(0) + opaque(b""),
    "setattr-beyond": u32(34) + SID + u32(4, 0, 0, 0, 1) + opaque(b""),
    "setattr-far-beyond": u32(34) + SID + u32(9, *[0] * 8, 1) + opaque(b""),
    "setclientid": u32(35) + b"verifier" + opaque(b"client") + u32(0x40000000) + opaque(b"tcp")
    + opaque(b"127.0.0.1.8.1") + u32(1),
    "setclientid-confirm": u32(36) + u64(1) + b"verifier",
    "verify": u32(37) + FATTR,
    "write": u32(38) + SID + u64(1000) + u32(2) + opaque(b"hello"),
    "write-none": u32(38) + SID + u64(1000) + u32(2) + opaque(b""),
    "release-lockowner": u32(39) + OWNER,
    "backchannel-ctl": u32(40, 0x40000000) + SEC,
    "bind-conn": u32(41) + SESSION + u32(3, 0),
    "exchange-id": u32(42) + b"verifier" + opaque(b"client") + u32(0x103, 0, 1) + opaque(b"example.org")
    + opaque(b"Linux") + u64(0) + u32(0),
    "exchange-id-mach": u32(42) + b"verifier" + opaque(b"client") + u32(0x103, 1) + BITS + BITS + u32(0),
    "exchange-id-ssv": u32(42) + b"verifier" + opaque(b"client") + u32(0x103, 2) + BITS + BITS + u32(1)
    + opaque(b"oid") + u32(1) + opaque(b"oid") + u32(1, 1, 0),
    "create-session": u32(43) + u64(1) + u32(1, 3) + CHANNEL + CHANNEL_RDMA + u32(0x40000000) + SEC,
    "destroy-session": u32(44) + SESSION,
    "free-stateid": u32(45) + SID,
    "get-dir-delegation": u32(46, 0) + BITS + (u64(1) + u32(0)) * 2 + BITS + BITS,
    "getdeviceinfo": u32(47) + SESSION + u32(1, 4096) + BITS,
    "getdevicelist": u32(48, 1, 10) + u64(0) + b"verifier",
    "layoutcommit": u32(49) + u64(0, 10) + u32(0) + SID + u32(1) + u64(9) + u32(0, 1) + opaque(b"body"),
    "layoutget": u32(50, 0, 1, 2) + u64(0, 10, 10) + SID + u32(4096),
    "layoutreturn": u32(51, 0, 1, 2, 1) + u64(0, 10) + SID + opaque(b"body"),
    "secinfo-no-name": u32(52, 1),
    "sequence": u32(53) + SESSION + u32(1, 0, 63, 1),
    "set-ssv": u32(54) + opaque(b"ssv") + opaque(b"digest"),
    "test-stateid": u32(55, 2) + SID + SID,
    "want-delegation": u32(56, 0x100, 1, 1),
    "destroy-clientid": u32(57) + u64(1),
    "reclaim-complete": u32(58, 0),
    "allocate": u32(59) + SID + u64(0, 4096),
    "copy": u32(60) + SID + SID + u64(0, 0, 4096) + u32(1, 1, 0),
    "copy-from": u32(60) + SID + SID + u64(0, 0, 4096) + u32(1, 0, 1, 1) + opaque(b"server"),
    "copy-notify": u32(61) + SID + u32(1) + opaque(b"server"),
    "deallocate": u32(62) + SID + u64(0, 4096),
    "io-advise": u32(63) + SID + u64(0, 4096) + u32(1, 8),
    "offload-cancel": u32(66) + SID,
    "offload-status": u32(67) + SID,
    "read-plus": u32(68) + SID + u64(0) + u32(1048576),
    "seek": u32(69) + SID + u64(0) + u32(1),
    "write-same": u32(70) + SID + u32(2) + u64(0, 512, 8, 0) + u32(0) + u64(0) + opaque(b"pattern"),
    "clone": u32(71) + SID + SID + u64(0, 0, 4096),
    "getxattr": u32(72) + opaque(b"user.a"),
    "setxattr": u32(73, 1) + opaque(b"user.a") + opaque(b"value"),
    "listxattrs": u32(74) + u64(0) + u32(4096),
    "removexattr": u32(75) + opaque(b"user.a"),
    "illegal": u32(10044),
    "unknown": u32(99),
}
OPENHOW = {
    "nocreate": u32(0),
    "unchecked": u32(1, 0) + FATTR,
    "guarded": u32(1, 1) + FATTR,
    "exclusive": u32(1, 2) + b"verifier",
    "exclusive41": u32(1, 3) + b"verifier" + FATTR,
    "mode4": u32(1, 4),
    "type2": u32(2),
}
CLAIM = {
    "null": u32(0) + opaque(b"name"),
    "previous": u32(1, 0),
    "cur": u32(2) + SID + opaque(b"name"),
    "prev": u32(3) + opaque(b"name"),
    "fh": u32(4),
    "cur-fh": u32(5) + SID,
    "prev-fh": u32(6),
    "claim7": u32(7),
}


def open4(how, claim):
    return u32(18, 0, 3, 0) + OWNER + OPENHOW[how] + CLAIM[claim]


def compound(name, *ops, tag=b"", minor=2, n=None):
    body = b"".join(OPS[o] if isinstance(o, str) else o for o in ops)
    seed("compound", name, opaque(tag) + u32(minor, len(ops) if n is None else n) + body)


for name in OPS:
    compound(name, name, "write")
for how in OPENHOW:
    compound("open-" + how, open4(how, "null"), "write")
for claim in CLAIM:
    compound("open-claim-" + claim, open4("nocreate", claim), "write")
compound("reads", "sequence", "putfh", "read", "read-plus", "readdir", "getattr")
compound("write-then-read", "sequence", "putfh", "write-none", "write", "read", "getattr")
compound("creates", "putrootfh", "savefh", "lookup", open4("unchecked", "null"), "getfh", "write", minor=0, tag=b"make")
compound("write-claims-1m", "putfh", OPS["write"][:-12] + u32(1048576) + b"tiny")
compound("write-claims-4g", "putfh", OPS["write"][:-12] + u32(0xFFFFFFFF) + b"tiny")
compound("ops-4g", "putrootfh", n=0xFFFFFFFF)
compound("no-ops")
compound("minor-9", "putrootfh", minor=9)
compound("tag-1024", "write", tag=b"t" * 1024)
compound("tag-1025", "write", tag=b"t" * 1025)
seed("compound", "bitmap-claims-4g", u32(0, 0, 1, 9, 0xFFFFFFFF, 1, 2))
seed("compound", "stateids-claim-4096", u32(0, 1, 1, 55, 4096) + SID)
