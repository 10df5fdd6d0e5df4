#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How much a pipe holds
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     64 KiB.
# Behaviour: all pipes of a user share a soft limit, fs.pipe-user-pages-soft, of 16,384 pages;
#            beyond it a new pipe has two pages, without an error.  Root is exempt.
# Seen:      the first 1,024 pipes have 65,536 bytes, the rest 8,192
# Here:      a script that fills a pipe in one call must expect less to fit, as programs must.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/pipes.py" <<'PY'
import fcntl, os, resource

F_GETPIPE_SZ, NOBODY = 1032, 65534
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
if os.getuid() == 0:
    os.setgid(NOBODY)
    os.setuid(NOBODY)
pipes = [os.pipe() for _ in range(1100)]
sizes = [fcntl.fcntl(end, F_GETPIPE_SZ) for end, _ in pipes]
print(sizes[0], sizes[-1], sizes.index(8192) <= 1024)
PY
chmod 755 "$tmp"
expect "bytes of the first, of the last, few enough" "65536 8192 True" "$(python3 "$tmp/pipes.py")"
