# SPDX-License-Identifier: GPL-2.0
"""Makes frames for test_net_scripts.py, with the system's Python, which has scapy.

Runs before the guest starts. For each of four scripts of scripts/net/ it prints the script's name
and 200 frames in hexadecimal, 199 of them malformed.

usage: malformed.py SEED
"""

from __future__ import annotations

import random
import sys

from scapy.all import ARP, DNS, DNSQR, ICMP, IP, UDP, Ether, Packet, Raw, fuzz, raw

ETHER = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
HOSTS = {"src": "10.9.0.1", "dst": "10.9.0.2"}
GET = b"\0\1\0\0\0\1\0\0get key\r\n"


def good(name: str) -> Packet:
    """A packet that the script replies to, or recognises as another host's."""
    if name == "arp_icmp":
        return IP(**HOSTS) / ICMP(type=8) / Raw(b"ping")
    if name == "dns":
        return IP(**HOSTS) / UDP(sport=1234, dport=53) / DNS(rd=1, qd=DNSQR(qname="a.example.org"))
    if name == "memcached_get":
        return IP(**HOSTS) / UDP(sport=1234, dport=11211) / Raw(GET)
    return IP(**HOSTS) / UDP(sport=1234, dport=7) / Raw(b"echo")


def wrong(name: str) -> Packet:
    """Random values in fields of one layer or of all; checksums are right half of the time."""
    if name == "arp_icmp" and random.random() < 0.4:
        return fuzz(ARP(op=1, pdst=HOSTS["dst"]))
    packet = good(name)
    which = random.randrange(3)
    if which == 0:
        return fuzz(packet)
    layer = packet[IP] if which == 1 else packet[IP].payload
    other = layer.copy()
    other.remove_payload()
    body = fuzz(layer.payload.copy()) if which == 2 else fuzz(other) / layer.payload
    return (other / body) if which == 1 else IP(**HOSTS) / (other / body)


def spoil(frame: bytes) -> bytes:
    """Truncated, or with a few bytes changed."""
    how = random.randrange(4)
    if how == 0:
        return frame[: random.randrange(14, len(frame) + 1)]
    if how == 1:
        changed = bytearray(frame)
        for _ in range(3):
            changed[random.randrange(14, len(frame))] = random.randrange(256)
        return bytes(changed)
    return frame


def main() -> None:
    random.seed(int(sys.argv[1]))
    for name in ("arp_icmp", "dns", "memcached_get", "udp_echo"):
        for _ in range(199):
            print(name, spoil(raw(ETHER / wrong(name)))[:1500].hex())
        print(name, raw(ETHER / good(name)).hex())


main()
