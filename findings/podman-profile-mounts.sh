#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# System calls for root that Podman's default filter allows
#
# Versions:  containers-common 0.50.1, Docker 20.10.24
# Guess:     Podman's default profile, which is Docker's by descent, allows mount, unshare and
#            pivot_root only to containers with CAP_SYS_ADMIN.
# Behaviour: Docker's does; Podman's allows them to all, and leaves it to the kernel.  What it
#            does not know is ENOSYS, by Docker's EPERM.
# Seen:      mount, umount2, unshare, pivot_root, fsopen, reboot: allowed without a condition
#            by Podman's, with a capability or not at all by Docker's
# Here:      scripts in a rootless container may make these calls, as its programs may
#            (tests/vm/test_filters.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian golang-github-containers-common 0.50.1+ds1-4
debian golang-github-docker-docker-dev 20.10.24+dfsg1-1+deb12u1
cat >"$tmp/allowed.py" <<'PY'
import json, sys

with open(sys.argv[1]) as file:
    profile = json.load(file)
NAMES = "mount umount2 unshare pivot_root fsopen reboot".split()


def is_free(rule):
    return rule["action"] == "SCMP_ACT_ALLOW" and not (rule.get("includes") or rule.get("args"))


free = {name for rule in profile["syscalls"] if is_free(rule) for name in rule["names"]}
print(profile.get("defaultErrnoRet"), *(name for name in NAMES if name in free))
PY
at=$tmp/root/usr/share
expect "Podman: errno, free" "38 mount umount2 unshare pivot_root fsopen reboot" \
	"$(python3 "$tmp/allowed.py" "$at/containers/seccomp.json")"
expect "Docker: errno, free" "None" "$(python3 "$tmp/allowed.py" \
	"$at/gocode/src/github.com/docker/docker/profiles/seccomp/default.json")"
