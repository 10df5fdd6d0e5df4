#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How many erroneous queries NSD answers
#
# Versions:  nsd 4.6.1 (to 4.12.0, by its source: ERROR_RATELIMIT)
# Guess:     with rrl-ratelimit: 0 no query is discarded for its rate.
# Behaviour: of queries that are answered by FORMERR or NOTIMP it answers 101 in a second of the
#            clock and discards the others; no option changes that, no counter tells.
# Seen:      101 replies to 200 broken queries, 200 to good ones
# Here:      the comparison of NSD's replies (tests/apps/test_nsd.py) asks fewer a second: a reply
#            that was missed once on an idle machine had no other cause.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian nsd 4.6.1-1
debian libevent-2.1-7 2.1.12-stable-8+deb12u1
debian libfstrm0 0.6.1-1
debian libprotobuf-c1 1.4.1-1+b1
export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu
cat >"$tmp/conf" <<CONF
server:
  ip-address: 127.0.0.1@5399
  username: ""
  chroot: ""
  database: ""
  pidfile: ""
  xfrdfile: ""
  zonesdir: "$tmp"
  xfrdir: "$tmp"
  zonelistfile: "$tmp/zones"
  logfile: "$tmp/log"
  rrl-ratelimit: 0
remote-control:
  control-enable: no
CONF
"$tmp/root/usr/sbin/nsd" -d -c "$tmp/conf" & nsd=$!
trap 'kill $nsd; wait $nsd; rm -rf "$tmp"' EXIT
cat >"$tmp/ask.py" <<'PY'
import socket, sys, time

good = bytes([0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1]) + b"x" + bytes([0, 0, 1, 0, 1])
query = good if sys.argv[1] == "good" else good[:-3]
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.connect(("127.0.0.1", 5399))
sock.settimeout(0.2)
answered = False
while not answered:
    try:
        sock.send(good)
        answered = bool(sock.recv(512))
    except OSError:
        time.sleep(0.1)
# All in one second.
time.sleep(1.01 - time.time() % 1)
count = 0
for _ in range(200):
    sock.send(query)
try:
    while True:
        count += len(sock.recv(512)) > 0
except TimeoutError:
    print(count)
PY
expect "replies to 200 good queries" 200 "$(python3 "$tmp/ask.py" good)"
expect "replies to 200 broken ones in a second" 101 "$(python3 "$tmp/ask.py" broken)"
