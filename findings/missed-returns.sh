#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What probes of functions' returns (kretprobes, uretprobes) see
#
# Versions:  Linux 6.1.0-57 of Debian, on two CPUs
# Guess:     each return of what they have seen begin.
# Behaviour: a kretprobe has a fixed number of slots, 10, or two for each CPU if that is more:
#            of calls that are under way at once, as of functions that wait, only so many returns
#            are seen.  A uretprobe sees 64 returns of nested calls.  Only
#            /sys/kernel/tracing/kprobe_profile, or the kernel's log, says that some were missed.
# Seen:      of 40 waiting calls 40 entries, 10 returns; of 200 nested calls 200, 64
# Here:      the safety kit's events at returns have 256 slots, and their file says how many were
#            missed (safety/evmon/kprobe_events.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
tracing=/sys/kernel/tracing
if [ "$(id -u)" != 0 ] || ! [ -e $tracing/kprobe_events ]; then
	echo "this wants root, and a kernel with kprobes: $tracing/kprobe_events" >&2
	exit 2
fi
cat >"$tmp/nest.c" <<'C'
__attribute__((noinline)) int nest(int levels)
{
	return levels > 1 ? nest(levels - 1) + 1 : 1;
}

int main(void)
{
	return nest(200) != 200;
}
C
# -O0: each level is a call
gcc -O0 -o "$tmp/nest" "$tmp/nest.c"
cat >"$tmp/probe.py" <<'PY'
import ctypes, os, subprocess, sys, time

tracing, program = sys.argv[1:]
libc = ctypes.CDLL(None)
TASKS = 40


def put(file, text):
    """Without removing what is there."""
    out = os.open(os.path.join(tracing, file), os.O_WRONLY)
    os.write(out, text.encode())
    os.close(out)


def waits(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")")[1].split()[0] == "S"


def wait_all():
    counters = [libc.eventfd(0, 0) for _ in range(TASKS)]
    children = []
    for counter in counters:
        if not (pid := os.fork()):
            os.read(counter, 8)
            os._exit(0)
        children.append(pid)
    while not all(map(waits, children)):
        time.sleep(0.1)
    for counter in counters:
        os.write(counter, (1).to_bytes(8, "little"))
    for pid in children:
        os.waitpid(pid, 0)


def seen(kind, where, happens):
    """By a probe at the entry, and by one at the return."""
    events, group = f"{kind}_events", f"found{os.getpid()}"
    put(events, f"p:{group}/begin {where}\n")
    put(events, f"r:{group}/end {where}\n")
    instance = os.path.join("instances", group)
    os.mkdir(os.path.join(tracing, instance))
    put(f"{instance}/events/{group}/enable", "1")
    happens()
    put(f"{instance}/events/{group}/enable", "0")
    with open(os.path.join(tracing, instance, "trace")) as file:
        text = file.read()
    os.rmdir(os.path.join(tracing, instance))
    put(events, f"-:{group}/begin\n")
    put(events, f"-:{group}/end\n")
    return text.count(" begin: "), text.count(" end: ")


with open("/sys/devices/system/cpu/possible") as file:
    cpus = int(file.read().split("-")[-1]) + 1
begun, ended = seen("kprobe", "eventfd_read", wait_all)
print(begun, "all slots" if ended == max(10, 2 * cpus) else ended, end=" ")
symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
(offset,) = (line.split()[0] for line in symbols.splitlines() if line.endswith(" nest"))
where = f"{program}:0x{offset}"
print(*seen("uprobe", where, lambda: subprocess.run([program], check=True)))
PY
expect "calls that wait: begun, ended; nested calls: begun, ended" "40 all slots 200 64" \
	"$(python3 "$tmp/probe.py" $tracing "$tmp/nest")"
