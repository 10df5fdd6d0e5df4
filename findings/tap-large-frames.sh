#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Frames longer than a tap device's MTU
#
# Versions:  Linux 6.18, Python 3.11.2
# Guess:     a frame that is written to a tap device is as long as one on its wire may be: a longer
#            one is EINVAL or EMSGSIZE, or is dropped, as a card drops giants.
# Behaviour: the MTU is for what the machine sends. A frame of any length comes in, and its datagram,
#            which no fragment was made of, is delivered.
# Seen:      MTU 1,500: 60,042 bytes by a packet socket, 60,000 by UDP
# Here:      a batch of net.frames() must have room for more than the device's MTU, or leave
#            such frames out: it looks at each frame's length (kernel/net/frames_receive.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
if [ ! -w /dev/net/tun ]; then
	echo "no /dev/net/tun for this user" >&2
	exit 2
fi
cat >"$tmp/tap.py" <<'PY'
import fcntl
import os
import socket
import struct

TAP = 2 | 0x1000  # IFF_TAP | IFF_NO_PI
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH", b"tap9", TAP))  # TUNSETIFF
control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def device(request, value):
    return fcntl.ioctl(control, request, struct.pack("16s24s", b"tap9", value))[16:]


mac = device(0x8927, b"")[2:8]  # SIOCGIFHWADDR
device(0x8922, struct.pack("i", 1500))  # SIOCSIFMTU
device(0x8916, struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton("10.9.0.1")))  # SIOCSIFADDR
device(0x891C, struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton("255.255.255.0")))
device(0x8914, struct.pack("H", 1 | 64))  # SIOCSIFFLAGS: up, running
frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
frames.bind(("tap9", 0))
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(("10.9.0.1", 53))


def ip(payload):
    ends = socket.inet_aton("10.9.0.2") + socket.inet_aton("10.9.0.1")
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 1, 0, 64, 17, 0) + ends
    total = sum(struct.unpack(">10H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return head[:10] + struct.pack(">H", ~total & 0xFFFF) + head[12:] + payload


def received(n):
    udp = struct.pack(">HHHH", 1000, 53, 8 + n, 0) + bytes(n)
    os.write(tap, mac + b"\2\0\0\0\0\1\x08\0" + ip(udp))
    lengths = []
    for end in frames, datagrams:
        end.settimeout(2)
        try:
            lengths.append(len(end.recv(1 << 16)))
        except TimeoutError:
            lengths.append(0)
    return lengths


print(*received(1000), *received(60000))
PY
expect "1,000 and 60,000 bytes: frame and datagram" "1042 1000 60042 60000" \
	"$(unshare -Urn python3 "$tmp/tap.py")"
