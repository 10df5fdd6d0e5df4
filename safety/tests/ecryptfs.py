# SPDX-License-Identifier: GPL-2.0
"""Mount an eCryptfs without its user-space tools: a key in the keyring, then a mount."""

from __future__ import annotations

import ctypes
import hashlib
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ADD_KEY = 248
USER_SESSION_KEYRING = -5
PASSWORD, KEY_BYTES, PERSISTENT_KEY_SET = 0, 16, 0x03


def auth_tok(secret: bytes, signature: str) -> bytes:
    """struct ecryptfs_auth_tok of include/linux/ecryptfs.h, with a password."""
    version, token_type, flags = 0x0004, PASSWORD, 0
    session_key = struct.pack("<III512s64s", 0, 0, 0, b"", b"")
    password = struct.pack(
        "<IiIII64s17s8s", 0, 0, 0, KEY_BYTES, PERSISTENT_KEY_SET, secret, signature.encode(), b""
    )
    return struct.pack("<HHI", version, token_type, flags) + session_key + bytes(32) + password


def add_key(passphrase: str) -> str:
    """Add the passphrase's key to the keyring; returns its signature for mount options."""
    secret = hashlib.sha512(passphrase.encode()).digest()
    signature = hashlib.sha512(secret).hexdigest()[:16]
    payload = auth_tok(secret, signature)
    libc = ctypes.CDLL(None, use_errno=True)
    key = libc.syscall(
        ADD_KEY, b"user", signature.encode(), payload, len(payload), USER_SESSION_KEYRING
    )
    if key < 0:
        raise OSError(ctypes.get_errno(), "add_key")
    return signature


@contextmanager
def mounted(lower: Path, upper: Path) -> Iterator[Path]:
    """Files written to upper are stored encrypted in lower."""
    signature = add_key("a secret of the tests")
    options = f"ecryptfs_sig={signature},ecryptfs_cipher=aes,ecryptfs_key_bytes={KEY_BYTES}"
    for directory in (lower, upper):
        directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["mount", "-i", "-t", "ecryptfs", "-o", options, str(lower), str(upper)], check=True
    )
    try:
        yield upper
    finally:
        subprocess.run(["umount", str(upper)], check=True)
