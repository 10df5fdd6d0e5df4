#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The order of an event's records in what ausearch prints
#
# Versions:  audit 3.0.9
# Guess:     ausearch prints the records of an event as they stand in the log: SYSCALL, CWD,
#            PATH, PROCTITLE.
# Behaviour: without --raw it prints them from the last to the first, with -i as well; the
#            record that says which call it was comes last.
# Seen:      PROCTITLE PATH CWD SYSCALL; with --raw SYSCALL CWD PATH PROCTITLE
# Here:      `consolidate` collects an event's records by number before it looks at them
#            (consolidate/trace/audit.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian auditd 1:3.0.9-1
debian libauparse0 1:3.0.9-1
debian libaudit1 1:3.0.9-1
cat >"$tmp/log" <<'LOG'
type=SYSCALL msg=audit(1700000000.123:7): arch=c000003e syscall=257 success=yes exit=3 a0=ffffff9c a1=7ffd a2=0 a3=0 items=1 ppid=1 pid=2 auid=1000 uid=1000 gid=1000 euid=1000 suid=1000 fsuid=1000 egid=1000 sgid=1000 fsgid=1000 tty=pts0 ses=1 comm="cat" exe="/usr/bin/cat" key=(null)
type=CWD msg=audit(1700000000.123:7): cwd="/"
type=PATH msg=audit(1700000000.123:7): item=0 name="a" inode=1 dev=00:1 mode=0100644 ouid=0 ogid=0 rdev=00:00 nametype=NORMAL
type=PROCTITLE msg=audit(1700000000.123:7): proctitle=6361740061
LOG
export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu:$tmp/root/lib/x86_64-linux-gnu

# records OPTION...: the types of the records, in the order printed.
records() {
	"$tmp/root/sbin/ausearch" -if "$tmp/log" "$@" 2>"$tmp/said" |
		sed -n 's/^type=\([A-Z]*\) .*/\1/p' | xargs
}
expect "records of ausearch" "PROCTITLE PATH CWD SYSCALL" "$(records)"
expect "records of ausearch -i" "PROCTITLE PATH CWD SYSCALL" "$(records -i)"
expect "records of ausearch --raw" "SYSCALL CWD PATH PROCTITLE" "$(records --raw)"
