#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# sendfile() and splice() from files of proc
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     proc's files can be sent as they can be read, or none of them can.
# Behaviour: that differs by file: those of the whole system can mostly be sent, those of a process
#            mostly cannot, and fail with EINVAL; there is no rule by name or size.
# Seen:      version, stat, uptime, meminfo, self/mountinfo: sent; self/status, self/stat,
#            self/maps, self/cmdline, self/limits, net/dev: EINVAL
# Here:      nothing: syscript_send_file() sends as much as stat(2) says, which for these is 0.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/send.py" <<'PY'
import errno, os, sys

out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
read, write = os.pipe()


def tried(call):
    try:
        return "sent" if call() > 0 else "nothing"
    except OSError as error:
        return errno.errorcode[error.errno]


for name in sys.argv[2:]:
    file = os.open("/proc/" + name, os.O_RDONLY)
    sent = tried(lambda: os.sendfile(out, file, 0, 10))
    spliced = tried(lambda: len(os.read(read, os.splice(file, write, 10))))
    print(sent if sent == spliced else f"{sent}, {spliced}", end=" ")
PY
expect "version, stat, uptime, meminfo, self/mountinfo" "sent sent sent sent sent " \
	"$(python3 "$tmp/send.py" "$tmp/out" version stat uptime meminfo self/mountinfo)"
expect "self/status, self/stat, self/maps, self/cmdline, self/limits, net/dev" \
	"EINVAL EINVAL EINVAL EINVAL EINVAL EINVAL " \
	"$(python3 "$tmp/send.py" "$tmp/out" self/{status,stat,maps,cmdline,limits} net/dev)"
