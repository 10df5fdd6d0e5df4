#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# F_DUPFD at the limit of descriptors
#
# Versions:  Linux 2.6 to 7.2 (seen on 6.18)
# Guess:     where RLIMIT_NOFILE leaves no number from the minimum on, fcntl() says EMFILE,
#            as dup() does.
# Behaviour: EINVAL if the minimum itself is not below the limit; EMFILE only if it is and
#            all numbers from there on are in use.
# Seen:      min 10 of 10: EINVAL; min 9, all in use: EMFILE
# Here:      the library's descriptors are 3 and above; both errors mean that none is left.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/dup.py" <<'PY'
import contextlib, errno, fcntl, os, resource

def said(minimum):
    try:
        return fcntl.fcntl(0, fcntl.F_DUPFD, minimum)
    except OSError as error:
        return errno.errorcode[error.errno]

resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))
above = said(10)
with contextlib.suppress(OSError):
    while True:
        os.dup(0)
print(above, said(9))
PY
expect "from the limit on, and where all are in use" "EINVAL EMFILE" \
	"$(python3 "$tmp/dup.py")"
