#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# process_vm_readv() of memory whose second part is missing
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18, manual pages 6.03
# Guess:     what process_vm_readv(2) says: partial transfers apply at the granularity of
#            iovec elements, so an element of which a page is missing is EFAULT.
# Behaviour: it is read up to the missing page.
# Seen:      8,000 bytes from 100 bytes into a page, the next page missing: 3,996
# Here:      scripts may call it; its result, not the absence of an error, says what was read.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/parts.py" <<'PY'
import ctypes, mmap, os

libc = ctypes.CDLL(None, use_errno=True)
pages = mmap.mmap(-1, 8192)
at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
assert libc.munmap(ctypes.c_void_p(at + 4096), 4096) == 0
buffer = ctypes.create_string_buffer(8192)
element = ctypes.c_size_t * 2
into, of = element(ctypes.addressof(buffer), 8192), element(at + 100, 8000)
print(libc.process_vm_readv(os.getpid(), into, 1, of, 1, 0))
os._exit(0)
PY
expect "bytes read of an element" 3996 "$(python3 -u "$tmp/parts.py")"
