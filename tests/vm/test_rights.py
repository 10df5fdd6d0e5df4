# SPDX-License-Identifier: GPL-2.0
"""Scripts with fewer rights, in the kernel; tests/unit/test_rights.py tests names and messages."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from confined.kernel import lib
from unit.test_rights import (  # noqa: F401
    test_a_base_may_have_no_more_than_what_extends_it,
    test_a_base_with_all_rights_makes_no_call_by_itself,
    test_batches_are_of_libraries,
    test_constant_calls_of_an_image_are_refused_when_it_is_loaded,
    test_other_calls_of_an_image_fail,
)

SOURCE = b"""
function run(allowed)
  local n = 0
  for i = 1, 200 do
    n = n + (allowed == 1 and syscall.getpid() or syscall.getuid())
  end
  return n
end
"""


@pytest.fixture(params=["luajit", "confined"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSCRIPT_ENGINE", request.param)


@pytest.mark.parametrize("only", [b"getpid", b"getpid,util,fs,net"])
def test_a_call_that_is_not_named(only: bytes, engine: None) -> None:
    fd, text = lib.register(SOURCE, only=only)
    assert fd >= 0, text
    # A script that has made one call, compiled, cannot make another instead.
    for _ in range(3):
        assert lib.call(fd, 1) == (1, 200 * os.getpid())
        assert lib.call(fd, 0)[0] == -errno.EPROTO
        assert "this script may not call 'getuid'" in lib.error(fd)
    os.close(fd)


@pytest.mark.parametrize("library", ["util", "fs", "net"])
def test_a_library_that_is_not_named(library: str, engine: None) -> None:
    others = ",".join({"util", "fs", "net"} - {library})
    source = f"local used = {library}.anything function run() return 1 end"
    fd, text = lib.register(source.encode(), only=others.encode())
    assert fd == -errno.ENOEXEC
    assert f"this script may not use '{library}'" in text
