// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
//! Memory with an end.

use std::ffi::{c_int, c_long, c_void};
use std::ops::{Deref, DerefMut};
use std::{fmt, io, ptr, slice};

const PAGE: usize = 4096; // of x86-64, for which the library is
const PROT_NONE: c_int = 0;
const PROT_READ_WRITE: c_int = 3;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x22;

extern "C" {
    fn mmap(
        at: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn mprotect(at: *mut c_void, len: usize, prot: c_int) -> c_int;
    fn munmap(at: *mut c_void, len: usize) -> c_int;
}

/// Bytes for a script to write, followed by inaccessible memory: a script that is given too large a
/// size gets EFAULT there, where it would overwrite memory after an ordinary buffer.
pub struct Buffer {
    mapping: *mut u8,
    room: usize,
    len: usize,
}

// SAFETY: it owns its memory.
unsafe impl Send for Buffer {}
// SAFETY: changed through a mutable reference only.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zeroed bytes; an error for a length of zero, or without memory.
    pub fn new(len: usize) -> io::Result<Self> {
        if len == 0 || len > isize::MAX as usize / 2 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let room = (len + PAGE - 1) / PAGE * PAGE;
        // SAFETY: a new mapping at any address.
        let mapping = unsafe {
            mmap(ptr::null_mut(), room + PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)
        };
        if mapping as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        let buffer = Self { mapping: mapping.cast(), room, len };
        // SAFETY: its last page, to which there is no reference.
        if unsafe { mprotect(mapping.add(room), PAGE, PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(buffer)
    }

    // Aligned for any type.
    fn start(&self) -> *mut u8 {
        // SAFETY: within the mapping.
        unsafe { self.mapping.add((self.room - self.len) & !15) }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: mapped until it is dropped.
        unsafe { slice::from_raw_parts(self.start(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: mapped until it is dropped.
        unsafe { slice::from_raw_parts_mut(self.start(), self.len) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the mapping made by new().
        unsafe { munmap(self.mapping.cast(), self.room + PAGE) };
    }
}
