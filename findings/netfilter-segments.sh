#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What netfilter counts of a send that is cut into datagrams (UDP_SEGMENT)
#
# Versions:  nftables 1.0.6, Linux 6.18
# Guess:     a packet for each datagram, which is what the peer gets.
# Behaviour: one packet, of the sum of all bodies and one header: what cuts it comes after
#            netfilter, on the way out, and, over lo, on the way in, too. Counters, limits of
#            packets and lengths are those of the whole.
# Seen:      60 datagrams of 100 bytes, all received: 1 packet of 6,028 bytes at output and at input
# Here:      a row of docs/surprises.md: a program of ours that netfilter calls is run once
#            (tests/vm/test_programs.py), and its header says so of the length; net.frames()
#            cuts frames before a script gets them.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
nftables
cat >"$tmp/count.py" <<'PY'
import re, socket, subprocess, sys

UDP_SEGMENT, COUNT, SIZE = 103, 60, 100
TABLE = "flush ruleset\ntable ip t {{\nchain c {{\ntype filter hook {} priority 0\n{}\n}}\n}}\n"


def nft(*arguments, rules=None):
    done = subprocess.run(
        [sys.argv[1], *arguments], input=rules, text=True, check=True, capture_output=True
    )
    return done.stdout


subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
for hook in ("output", "input"):
    nft("-f", "-", rules=TABLE.format(hook, "udp dport 9 counter"))
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 9))
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
    client.sendto(b"x" * SIZE * COUNT, ("127.0.0.1", 9))
    received = 0
    try:
        while len(server.recv(1 << 16, socket.MSG_DONTWAIT)) == SIZE:
            received += 1
    except BlockingIOError:
        pass
    server.close()
    counted = re.search(r"packets (\d+) bytes (\d+)", nft("list", "ruleset"))
    print(hook, received, *counted.groups(), end=" ")
PY
expect "hook, datagrams received, packets counted, their bytes" \
	"output 60 1 6028 input 60 1 6028 " \
	"$(unshare -Urn python3 "$tmp/count.py" "$nft")"
