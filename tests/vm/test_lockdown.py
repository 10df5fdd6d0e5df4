# SPDX-License-Identifier: GPL-2.0
"""A kernel under integrity lockdown refuses scripts, unless configured otherwise.

Our modules are unsigned, so they are loaded first; lockdown cannot be undone, so the test has a
guest of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

KERNEL = os.environ.get("KREL", "6.1")
LOCKDOWN = "/sys/kernel/security/lockdown"
PARAMETER = "/sys/module/syscript/parameters/despite_lockdown"
# The status and backend of each run, in a line.
COMMANDS = f"""
once() {{
	text=$(build/syscript run --info --time-limit 10s --backend "$1" scripts/hello.lua 20 22 2>&1)
	echo "$2 $1: $? $(echo "$text" | tr '\\n' ' ')"
}}
[ -e {LOCKDOWN} ] || mount -t securityfs none /sys/kernel/security
once kernel before
echo integrity >{LOCKDOWN} || exit 77
once kernel locked
once auto locked
echo Y >{PARAMETER}
once kernel despite
"""


@pytest.mark.boot
@pytest.mark.long  # a guest for one test
def test_integrity(guest: Callable[..., CompletedProcess[str]]) -> None:
    done = guest("-k", KERNEL, "-m", "--", "sh", "-c", COMMANDS)
    if done.returncode == 77:
        pytest.skip("this kernel cannot be locked down")
    assert done.returncode == 0, done.stdout + done.stderr
    seen = dict(re.findall(r"^(\w+ \w+): (.*)$", done.stdout, re.MULTILINE))
    assert re.search(r"^0 .*backend kernel", seen["before kernel"])
    assert re.search(r"^[12] .*security policy", seen["locked kernel"])
    assert re.search(r"^0 .*backend user", seen["locked auto"])
    assert re.search(r"^0 .*backend kernel", seen["despite kernel"])
