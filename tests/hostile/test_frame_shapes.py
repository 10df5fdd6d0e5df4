# SPDX-License-Identifier: GPL-2.0
"""net.frames: frames of all shapes, for a chosen time."""

from __future__ import annotations

import os

import frame_shapes
import pytest


def test_frame_shapes(request: pytest.FixtureRequest) -> None:
    frames, seconds = (request.config.getoption(name) for name in ("--frames", "--attack-time"))
    seed = request.config.getoption("--seed") or int.from_bytes(os.urandom(4), "big")
    print("seed", seed)
    with frame_shapes.shapes(seed) as made:
        made.run(frames, seconds)
        print(sorted(made.kinds))
        print(dict(made.counts))
        assert made.counts["frames"] >= max(frames, 1)
