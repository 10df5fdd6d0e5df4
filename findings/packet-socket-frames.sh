#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Frames of a veth pair, as a packet socket reads them
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     frames as on a wire: at most the device's MTU and a header, with right checksums.
# Behaviour: what a sender leaves to the device is not done, as there is none: a sender's
#            segments come as one frame, and checksums cover the pseudo header only.
# Seen:      30,000 bytes in segments of 1,000, MTU 1,500: one frame of 30,042 bytes, whose
#            UDP checksum is wrong
# Here:      net.frames() cuts such frames, within SO_RCVBUF, and completes checksums
#            (tests/vm/test_frames_segments.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/frames.py" <<'PY'
import socket, struct, subprocess

SETUP = """
ip link add one type veth peer name two
ip address add 192.0.2.1/24 dev one
ip link set one up
ip link set two up
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev one
"""
UDP_SEGMENT = 103


def is_right(frame):
    """Whether the checksum over addresses, protocol, length and datagram is zero."""
    datagram = frame[34:]
    summed = frame[26:34] + struct.pack("!HH", socket.IPPROTO_UDP, len(datagram)) + datagram
    words = sum(struct.unpack(f"!{len(summed) // 2}H", summed))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return words == 0xFFFF


subprocess.run(["sh", "-ec", SETUP], check=True)
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
packets.bind(("two", 0x0800))
packets.settimeout(10)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_UDP if hasattr(socket, "SOL_UDP") else 17, UDP_SEGMENT, 1000)
udp.sendto(b"xy" * 15000, ("192.0.2.2", 9))
frame = packets.recv(1 << 16)
print(len(frame), "right" if is_right(frame) else "wrong")
PY
expect "length of a frame, its checksum" "30042 wrong" \
	"$(unshare --map-root-user --net python3 "$tmp/frames.py")"
