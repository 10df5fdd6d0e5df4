#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which frames a packet socket of one protocol sees
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     a packet socket for ETH_P_IP sees what one for ETH_P_ALL sees, of that protocol.
# Behaviour: it sees only frames that come in; those that the machine sends are for ETH_P_ALL.
# Seen:      one datagram sent: none, and one of PACKET_OUTGOING
# Here:      net.frames() takes frames where the device receives them, so it sees none either.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/watch.py" <<'PY'
import select, socket

ETH_P_IP, ETH_P_ALL, PACKET_OUTGOING = 0x0800, 3, 4


def listener(protocol):
    watcher = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    watcher.bind(("v0", protocol))
    return watcher


def seen(watcher):
    outgoing = 0
    while select.select([watcher], [], [], 0.5)[0]:
        frame, address = watcher.recvfrom(2000)
        outgoing += b"hello" in frame and address[2] == PACKET_OUTGOING
    return outgoing


watchers = [listener(ETH_P_IP), listener(ETH_P_ALL)]
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("10.0.0.2", 9))
print(*map(seen, watchers))
PY
cat >"$tmp/watch" <<'SH'
ip link add v0 type veth peer name v1
ip address add 10.0.0.1/24 dev v0
ip link set v0 up
ip link set v1 up
ip neighbour add 10.0.0.2 lladdr 02:00:00:00:00:01 dev v0
python3 "$(dirname "$0")/watch.py"
SH
expect "frames sent, by ETH_P_IP and ETH_P_ALL" "0 1" "$(unshare -Urn sh -e "$tmp/watch")"
