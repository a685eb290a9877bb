"""usage: connections.py DEVICE client|server COUNT SEED

Sends what one side of COUNT TCP connections sends first, a frame each: SYN, or the answer to it.  Clients are in 10.1.0.0/16,
servers in the four networks 10.2.N.0/24; one connection in fifty is to a port that nobody may use.  The same SEED has both sides
speak of the same connections.  Between a side and the switch is its router, whose address the frames bear.  There is a pause
after each ten, so that no queue overflows while first packets climb."""
import random
import socket
import struct
import sys
import time

SERVICES = (22, 80, 443, 5432, 8080)
FORBIDDEN = (21, 23, 445, 3389)


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def frame(me, src, dst, sport, dport, flags):
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0x4000, 64, 6, 0, src, dst)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    tcp = struct.pack("!HHIIBBHHH", sport, dport, 1, 1, 0x50, flags, 1024, 0, 0)
    tcp = tcp[:16] + struct.pack("!H", checksum(src + dst + struct.pack("!HH", 6, 20) + tcp)) + tcp[18:]
    return b"\x02\0\0\0\0\xfe" + bytes((2, 0, 0, 0, 0, me)) + b"\x08\0" + ip + tcp


def main():
    device, side, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    rng = random.Random(seed)
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((device, 0))
    for i in range(count):
        if i % 10 == 0:
            time.sleep(0.001)
        client = bytes((10, 1, rng.randrange(256), rng.randrange(1, 255)))
        server = bytes((10, 2, rng.randrange(4), rng.randrange(1, 255)))
        sport = rng.randrange(32768, 61000)
        dport = rng.choice(FORBIDDEN if rng.randrange(50) == 0 else SERVICES)
        if side == "client":
            out.send(frame(1, client, server, sport, dport, 0x02))
        elif dport in SERVICES:
            out.send(frame(2, server, client, dport, sport, 0x12))


main()
