#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# RLIMIT_FSIZE and memory files
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     `ulimit -f` bounds files on disk; a memfd is memory, bounded by other limits.
# Behaviour: ftruncate() of a memfd beyond the limit raises SIGXFSZ, which kills.
# Seen:      sig 25
# Here:      the library keeps code and buffers in such files, so a small limit matters to it
#            (engine/confined/user/memory.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/memfd.py" <<'PY'
import os, resource, signal

if not os.fork():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.ftruncate(os.memfd_create("memory"), 4096)
    os._exit(0)
print("sig", os.WTERMSIG(os.wait()[1]))
PY
expect "ftruncate() of a memfd under ulimit -f 0" "sig 25" "$(python3 "$tmp/memfd.py")"
