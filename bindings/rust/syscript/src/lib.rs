// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#![doc = include_str!("../../README.md")]

use std::ffi::{c_char, c_int, CStr, CString};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io, ptr};

use syscript_sys as sys;

mod buffer;
mod queue;

pub use buffer::Buffer;
pub use queue::{Owned, Queue, Request};

const ERROR_LEN: usize = 2048;
const TOO_LONG: i32 = 7; // E2BIG
const INVALID: i32 = 22; // EINVAL

/// A script does not compile, raised an error, or exceeded a limit; or the system refused to run
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which error, as `<linux/syscript.h>` lists them.
    pub errno: i32,
    /// The script's own message, with file:line and a traceback, or the errno's.
    pub text: String,
}

impl Error {
    fn from_errno(err: c_int) -> Self {
        // SAFETY: a constant string.
        let text = unsafe { CStr::from_ptr(sys::syscript_strerror(err)) };
        Self { errno: err.abs(), text: text.to_string_lossy().into_owned() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(Self::from_raw_os_error(error.errno).kind(), error)
    }
}

/// Where a script runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// In the kernel if possible, otherwise in the process.
    #[default]
    Auto,
    Kernel,
    User,
}

impl Backend {
    fn raw(self) -> c_int {
        match self {
            Self::Auto => sys::SYSCRIPT_BACKEND_AUTO,
            Self::Kernel => sys::SYSCRIPT_BACKEND_KERNEL,
            Self::User => sys::SYSCRIPT_BACKEND_USER,
        }
    }
}

/// How a script is registered.
#[derive(Clone, Debug, Default)]
pub struct Options {
    name: String,
    backend: Backend,
    flags: u32,
    memory_limit: u64,
    time_limit: Duration,
    wall_limit: Duration,
    grace: Duration,
    only: Option<String>,
    modules: Option<PathBuf>,
}

/// Options' texts, as C has them.
struct Texts {
    name: CString,
    only: Option<CString>,
    modules: Option<CString>,
}

impl Options {
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows in error texts and lists; fewer than 32 bytes.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// Bytes of memory that the script may hold.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Time limit of script code per call.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Time limit per call, excluding waiting.
    pub fn wall_limit(mut self, limit: Duration) -> Self {
        self.wall_limit = limit;
        self
    }

    /// How long a call may continue while a signal is pending, before it fails with EINTR: 100 ms
    /// at most, and by default.
    pub fn grace(mut self, time: Duration) -> Self {
        self.grace = time;
        self
    }

    /// The only system calls that the script may make, and the libraries among "util", "fs" and
    /// "net" that it may use, separated by commas.
    pub fn only(mut self, names: &str) -> Self {
        self.only = Some(names.into());
        self
    }

    /// A folder whose Lua files the script may `require()`.
    pub fn modules(mut self, folder: impl Into<PathBuf>) -> Self {
        self.modules = Some(folder.into());
        self
    }

    /// Interpret, never compile.
    pub fn no_jit(mut self) -> Self {
        self.flags |= sys::SYSCRIPT_NOJIT;
        self
    }

    fn texts(&self) -> Result<Texts, Error> {
        let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Error::from_errno(INVALID));
        let folder = self.modules.as_ref().map(|path| path.as_os_str().as_bytes());
        Ok(Texts {
            name: text(self.name.as_bytes())?,
            only: self.only.as_ref().map(|names| text(names.as_bytes())).transpose()?,
            modules: folder.map(text).transpose()?,
        })
    }

    fn raw(&self, texts: &Texts) -> sys::syscript_options {
        sys::syscript_options {
            size: std::mem::size_of::<sys::syscript_options>(),
            name: texts.name.as_ptr(),
            flags: self.flags | sys::SYSCRIPT_TRACEBACK,
            backend: self.backend.raw(),
            memory_limit: self.memory_limit,
            time_limit_ns: nanoseconds(self.time_limit),
            wall_limit_ns: nanoseconds(self.wall_limit),
            grace_ns: nanoseconds(self.grace),
            engine: 0,
            format: 0,
            shared: ptr::null_mut(),
            shared_len: 0,
            base: 0,
            only: texts.only.as_ref().map_or(ptr::null(), |text| text.as_ptr()),
            modules: texts.modules.as_ref().map_or(ptr::null(), |text| text.as_ptr()),
        }
    }

    /// Registers a script.
    ///
    /// # Safety
    ///
    /// The script can read and write all of the process's memory, as C could. It must stay within
    /// the buffers that its calls pass to it, and their lengths.
    pub unsafe fn register(&self, source: &str) -> Result<Script, Error> {
        let texts = self.texts()?;
        let options = self.raw(&texts);
        let mut error = [0 as c_char; ERROR_LEN];
        // SAFETY: all of these live until it returns.
        let fd = unsafe {
            sys::syscript_register(
                source.as_ptr().cast(),
                source.len(),
                &options,
                error.as_mut_ptr(),
                error.len(),
            )
        };
        if fd >= 0 {
            return Ok(Script { fd });
        }
        Err(Error { errno: -fd, text: text_of(&error) })
    }
}

fn nanoseconds(limit: Duration) -> u64 {
    limit.as_nanos().try_into().unwrap_or(u64::MAX)
}

fn text_of(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|&c| c as u8).take_while(|&b| b != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An argument of a call: an integer, or the address of something borrowed for the call.
pub struct Arg<'a> {
    value: i64,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl Arg<'_> {
    fn new(value: i64) -> Self {
        Self { value, borrowed: PhantomData }
    }
}

impl From<i64> for Arg<'_> {
    fn from(value: i64) -> Self {
        Self::new(value)
    }
}

impl From<i32> for Arg<'_> {
    fn from(value: i32) -> Self {
        Self::new(value.into())
    }
}

impl From<u32> for Arg<'_> {
    fn from(value: u32) -> Self {
        Self::new(value.into())
    }
}

/// A length. The call refuses one that a script cannot represent.
impl From<usize> for Arg<'_> {
    fn from(value: usize) -> Self {
        Self::new(value.try_into().unwrap_or(i64::MAX))
    }
}

/// A string that ends with a NUL, as paths of system calls do.
impl<'a> From<&'a CStr> for Arg<'a> {
    fn from(text: &'a CStr) -> Self {
        Self::new(text.as_ptr() as i64)
    }
}

/// Memory to read.
impl<'a, T: Copy> From<&'a [T]> for Arg<'a> {
    fn from(memory: &'a [T]) -> Self {
        Self::new(memory.as_ptr() as i64)
    }
}

/// Writable memory of integers, for which every bit pattern must be valid.
impl<'a, T: Plain> From<&'a mut [T]> for Arg<'a> {
    fn from(memory: &'a mut [T]) -> Self {
        Self::new(memory.as_mut_ptr() as i64)
    }
}

impl<'a> From<&'a mut Buffer> for Arg<'a> {
    fn from(buffer: &'a mut Buffer) -> Self {
        buffer[..].as_mut().into()
    }
}

impl<'a> From<BorrowedFd<'a>> for Arg<'a> {
    fn from(fd: BorrowedFd<'a>) -> Self {
        Self::new(fd.as_raw_fd().into())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Types for which every bit pattern is valid.
pub trait Plain: Copy + sealed::Sealed {}

macro_rules! plain {
    ($($t:ty)*) => { $(impl sealed::Sealed for $t {} impl Plain for $t {})* };
}
plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// A script's limits and counters: sizes in bytes, times in ns.
#[derive(Clone, Debug)]
pub struct Info {
    pub id: u64,
    pub name: String,
    pub engine: String,
    pub memory: u64,
    pub memory_peak: u64,
    pub memory_limit: u64,
    pub time_limit: u64,
    pub calls: u64,
    pub errors: u64,
    pub kills: u64,
    pub run_time: u64,
    pub syscalls: u64,
    /// The engine's own.
    pub counters: Vec<(String, u64)>,
}

/// A registered script.  Threads that call it take turns.
#[derive(Debug)]
pub struct Script {
    fd: c_int,
}

impl Script {
    /// Registers a script with the default options.
    ///
    /// # Safety
    ///
    /// See [`Options::register`].
    pub unsafe fn new(source: &str) -> Result<Self, Error> {
        // SAFETY: the caller ensures it.
        unsafe { Options::new().register(source) }
    }

    /// Calls `run()` and returns all of its results, eight at most.
    pub fn call_all<const N: usize>(&self, args: [Arg<'_>; N]) -> Result<Vec<i64>, Error> {
        if N > sys::SYSCRIPT_ARGS_MAX {
            return Err(Error::from_errno(TOO_LONG));
        }
        let values = args.map(|arg| arg.value);
        let mut results = [0; sys::SYSCRIPT_RESULTS_MAX];
        // SAFETY: the memory of the arguments is borrowed until this call ends.
        let n = unsafe {
            sys::syscript_call(
                self.fd,
                N as u32,
                values.as_ptr(),
                results.len() as u32,
                results.as_mut_ptr(),
            )
        };
        if n < 0 {
            return Err(self.error(n));
        }
        Ok(results[..n as usize].to_vec())
    }

    /// Calls `run()` and returns its first result, 0 if there is none.
    pub fn call<const N: usize>(&self, args: [Arg<'_>; N]) -> Result<i64, Error> {
        Ok(self.call_all(args)?.first().copied().unwrap_or(0))
    }

    /// Like `call`, for scripts that return -errno, as system calls do.
    pub fn checked<const N: usize>(&self, args: [Arg<'_>; N]) -> io::Result<i64> {
        let result = self.call(args)?;
        if (-4095..0).contains(&result) {
            return Err(io::Error::from_raw_os_error(-result as i32));
        }
        Ok(result)
    }

    fn error(&self, err: c_int) -> Error {
        let mut text = [0 as c_char; ERROR_LEN];
        // SAFETY: a buffer and its length.
        let n = unsafe { sys::syscript_error(self.fd, text.as_mut_ptr(), text.len()) };
        if n > 0 {
            return Error { errno: -err, text: text_of(&text) };
        }
        Error::from_errno(err)
    }

    /// Returns and clears the output of `print()`.
    pub fn output(&self) -> Result<String, Error> {
        let mut all = Vec::new();
        let mut part = [0u8; 4096];
        loop {
            // SAFETY: a buffer and its length.
            let n = unsafe { sys::syscript_output(self.fd, part.as_mut_ptr().cast(), part.len()) };
            match n {
                0 => return Ok(String::from_utf8_lossy(&all).into_owned()),
                1.. => all.extend_from_slice(&part[..n as usize]),
                _ => return Err(Error::from_errno(n)),
            }
        }
    }

    /// Where it runs.
    pub fn backend(&self) -> Result<Backend, Error> {
        // SAFETY: takes a descriptor only.
        match unsafe { sys::syscript_backend(self.fd) } {
            sys::SYSCRIPT_BACKEND_KERNEL => Ok(Backend::Kernel),
            sys::SYSCRIPT_BACKEND_USER => Ok(Backend::User),
            err => Err(Error::from_errno(err)),
        }
    }

    pub fn info(&self) -> Result<Info, Error> {
        // SAFETY: all zeros is valid for integers.
        let mut raw: sys::syscript_info = unsafe { std::mem::zeroed() };
        // SAFETY: a structure of the size that the library expects.
        let err = unsafe { sys::syscript_info(self.fd, &mut raw) };
        if err < 0 {
            return Err(Error::from_errno(err));
        }
        Ok(Info {
            id: raw.id,
            name: text_of(&raw.name),
            engine: text_of(&raw.engine_name),
            memory: raw.memory,
            memory_peak: raw.memory_peak,
            memory_limit: raw.memory_limit,
            time_limit: raw.time_limit,
            calls: raw.calls,
            errors: raw.errors,
            kills: raw.kills,
            run_time: raw.run_time,
            syscalls: raw.syscalls,
            counters: raw
                .counters
                .iter()
                .filter(|counter| counter.name[0] != 0)
                .map(|counter| (text_of(&counter.name), counter.value))
                .collect(),
        })
    }
}

impl AsRawFd for Script {
    fn as_raw_fd(&self) -> c_int {
        self.fd
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // SAFETY: no other owner of the descriptor.
        unsafe { sys::syscript_close(self.fd) };
    }
}

/// Mistakes found without running a script, as "name:line: text".
pub fn lint(source: &str) -> Result<Vec<String>, Error> {
    let mut text = vec![0 as c_char; 1 << 16];
    // SAFETY: buffers and their lengths; runs nothing.
    let n = unsafe {
        sys::syscript_lint(
            source.as_ptr().cast(),
            source.len(),
            ptr::null(),
            text.as_mut_ptr(),
            text.len(),
        )
    };
    if n < 0 {
        return Err(Error { errno: -n, text: text_of(&text) });
    }
    Ok(text_of(&text).lines().map(String::from).collect())
}

/// Whether this thread can use a backend now, and otherwise the reason.
pub fn probe(backend: Backend) -> Result<(), Error> {
    // SAFETY: takes a number only.
    match unsafe { sys::syscript_probe(backend.raw()) } {
        0 => Ok(()),
        err => Err(Error::from_errno(err)),
    }
}

/// The library's version.
pub fn version() -> &'static str {
    // SAFETY: a constant string.
    unsafe { CStr::from_ptr(sys::syscript_version()) }.to_str().unwrap_or("")
}
