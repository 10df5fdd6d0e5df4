# SPDX-License-Identifier: GPL-2.0
"""A ReiserFS in a file."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def mounted(image: Path, upper: Path) -> Iterator[Path]:
    """Mounts the file image at upper, through a loop device."""
    image.parent.mkdir(parents=True, exist_ok=True)
    with image.open("wb") as file:
        file.truncate(64 << 20)
    subprocess.run(["modprobe", "loop"], check=True)
    subprocess.run(["mkfs.reiserfs", "-q", "-f", image], check=True, capture_output=True)
    upper.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop,user_xattr,acl", image, upper], check=True)
    try:
        yield upper
    finally:
        subprocess.run(["umount", upper], check=True)
