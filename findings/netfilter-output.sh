#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a sender sees of netfilter's verdict on its own packets
#
# Versions:  nftables 1.0.6, Linux 6.18
# Guess:     a datagram that a rule drops is lost in silence, as on the way; one that a rule
#            rejects is refused, as by a peer: ECONNREFUSED.
# Behaviour: at output and postrouting sendto() fails with EPERM, for both.  TCP's connect()
#            is as guessed: it waits, or is refused.  At input the datagram is sent.
# Seen:      UDP: EPERM of output's drop and reject, and of postrouting's drop; 5 of input's drop;
#            TCP: timed out, ECONNREFUSED
# Here:      the same for programs of ours that netfilter calls: a row of docs/surprises.md
#            (tests/vm/test_programs.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
nftables
cat >"$tmp/send.py" <<'PY'
import errno, socket, subprocess, sys

TABLE = "table ip t {{\nchain c {{\ntype filter hook {} priority 0;\n{} dport 9 {}\n}}\n}}"


def under(hook, protocol, verdict, call):
    rules = "flush ruleset\n" + TABLE.format(hook, protocol, verdict)
    subprocess.run([sys.argv[1], "-f", "-"], input=rules, text=True, check=True)
    try:
        return call()
    except TimeoutError:
        return "waits"
    except OSError as error:
        return errno.errorcode[error.errno]


def send():
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return udp.sendto(b"hello", ("127.0.0.1", 9))


def connect():
    tcp = socket.socket()
    tcp.settimeout(0.5)
    return tcp.connect(("127.0.0.1", 9))


subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
udp = [("output", "drop"), ("output", "reject"), ("postrouting", "drop"), ("input", "drop")]
print(*(under(hook, "udp", verdict, send) for hook, verdict in udp), end=", ")
print(*(under("output", "tcp", verdict, connect) for verdict in ("drop", "reject")))
PY
expect "UDP: output drop, reject, postrouting drop, input drop; TCP: output drop, reject" \
	"EPERM EPERM EPERM 5, waits ECONNREFUSED" \
	"$(unshare -Urn python3 "$tmp/send.py" "$nft")"
