// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
//! `<syscript.h>` and `<linux/syscript.h>` as they are in C, where they are explained.
//! The crate `syscript` is what programs use.

#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};

pub const SYSCRIPT_ARGS_MAX: usize = 8;
pub const SYSCRIPT_RESULTS_MAX: usize = 8;
pub const SYSCRIPT_NAME_LEN: usize = 32;
pub const SYSCRIPT_COUNTERS_MAX: usize = 6;

pub const SYSCRIPT_NO_LIMIT: u64 = !0;

pub const SYSCRIPT_NOJIT: u32 = 1 << 0;
pub const SYSCRIPT_KILL: u32 = 1 << 1;
pub const SYSCRIPT_CHECK: u32 = 1 << 2;
pub const SYSCRIPT_TRACEBACK: u32 = 1 << 3;
pub const SYSCRIPT_BASE: u32 = 1 << 4;
pub const SYSCRIPT_EXTENDS: u32 = 1 << 5;
pub const SYSCRIPT_ONLY: u32 = 1 << 6;

pub const SYSCRIPT_BACKEND_AUTO: c_int = 0;
pub const SYSCRIPT_BACKEND_KERNEL: c_int = 1;
pub const SYSCRIPT_BACKEND_USER: c_int = 2;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct syscript_options {
    pub size: usize,
    pub name: *const c_char,
    pub flags: u32,
    pub backend: c_int,
    pub memory_limit: u64,
    pub time_limit_ns: u64,
    pub wall_limit_ns: u64,
    pub grace_ns: u64,
    pub engine: u32,
    pub format: u32,
    pub shared: *mut c_void,
    pub shared_len: usize,
    pub base: u64,
    pub only: *const c_char,
    pub modules: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct syscript_counter {
    pub name: [c_char; 24],
    pub value: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct syscript_info {
    pub id: u64,
    pub pid: i32,
    pub uid: u32,
    pub flags: u32,
    pub state: u32,
    pub name: [c_char; SYSCRIPT_NAME_LEN],
    pub engine: u32,
    pub format: u32,
    pub engine_name: [c_char; 16],
    pub memory_limit: u64,
    pub time_limit: u64,
    pub wall_limit: u64,
    pub grace: u64,
    pub memory: u64,
    pub memory_peak: u64,
    pub calls: u64,
    pub errors: u64,
    pub kills: u64,
    pub run_time: u64,
    pub syscalls: u64,
    pub preempt_max: u64,
    pub counters: [syscript_counter; SYSCRIPT_COUNTERS_MAX],
    pub reserved: [u64; 4],
}

/// Requests that each thread of a queue has room for.
pub const SYSCRIPT_QUEUE_ENTRIES: usize = 128;

/// A queue, opaque except to the library.
#[repr(C)]
pub struct syscript_queue {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct syscript_request {
    pub user_data: u64,
    pub nargs: u32,
    pub reserved: u32,
    pub args: [i64; SYSCRIPT_ARGS_MAX],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct syscript_completion {
    pub user_data: u64,
    pub result: i64,
    pub error: i32,
    pub reserved: u32,
}

extern "C" {
    pub fn syscript_register(
        image: *const c_void,
        len: usize,
        options: *const syscript_options,
        error: *mut c_char,
        error_len: usize,
    ) -> c_int;
    pub fn syscript_lint(
        source: *const c_char,
        len: usize,
        options: *const syscript_options,
        text: *mut c_char,
        text_len: usize,
    ) -> c_int;
    pub fn syscript_call(
        fd: c_int,
        nargs: c_uint,
        args: *const i64,
        nresults_max: c_uint,
        results: *mut i64,
    ) -> c_int;
    pub fn syscript_error(fd: c_int, buf: *mut c_char, len: usize) -> c_int;
    pub fn syscript_output(fd: c_int, buf: *mut c_char, len: usize) -> c_int;
    pub fn syscript_info(fd: c_int, info: *mut syscript_info) -> c_int;
    pub fn syscript_next(info: *mut syscript_info) -> c_int;
    pub fn syscript_backend(fd: c_int) -> c_int;
    pub fn syscript_probe(backend: c_int) -> c_int;
    pub fn syscript_close(fd: c_int) -> c_int;
    pub fn syscript_strerror(err: c_int) -> *const c_char;
    pub fn syscript_version() -> *const c_char;
    pub fn syscript_queue_open(
        queue: *mut *mut syscript_queue,
        source: *const c_char,
        len: usize,
        options: *const syscript_options,
        threads: c_uint,
        error: *mut c_char,
        error_len: usize,
    ) -> c_int;
    pub fn syscript_queue_submit(
        queue: *mut syscript_queue,
        requests: *const syscript_request,
        n: c_uint,
    ) -> c_int;
    pub fn syscript_queue_reap(
        queue: *mut syscript_queue,
        completions: *mut syscript_completion,
        n: c_uint,
    ) -> c_int;
    pub fn syscript_queue_wait(
        queue: *mut syscript_queue,
        completions: *mut syscript_completion,
        at_least: c_uint,
        n: c_uint,
        timeout_ms: c_int,
    ) -> c_int;
    pub fn syscript_queue_fd(queue: *const syscript_queue) -> c_int;
    pub fn syscript_queue_error(queue: *mut syscript_queue, buf: *mut c_char, len: usize) -> c_int;
    pub fn syscript_queue_close(queue: *mut syscript_queue);
}
