// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
//! Asynchronous calls: requests that threads of the library serve.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, CString};
use std::future::Future;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{mem, ptr};

use syscript_sys as sys;

use crate::{text_of, Buffer, Error, Options, ERROR_LEN, TOO_LONG};

const REAPED: usize = 64;

/// An argument of a request: an integer, or memory that the request owns until it is complete.
#[derive(Debug)]
pub enum Owned {
    Integer(i64),
    /// A text that ends with a NUL.
    Text(CString),
    /// Memory to read and write.
    Bytes(Box<[u8]>),
    Buffer(Buffer),
}

impl Owned {
    fn value(&mut self) -> i64 {
        match self {
            Self::Integer(value) => *value,
            Self::Text(text) => text.as_ptr() as i64,
            Self::Bytes(bytes) => bytes.as_mut_ptr() as i64,
            Self::Buffer(buffer) => buffer.as_mut_ptr() as i64,
        }
    }
}

macro_rules! owned {
    ($($t:ty => $to:expr),* $(,)?) => {
        $(impl From<$t> for Owned { fn from(value: $t) -> Self { $to(value) } })*
    };
}
owned! {
    i64 => Self::Integer,
    i32 => |value: i32| Self::Integer(value.into()),
    u32 => |value: u32| Self::Integer(value.into()),
    usize => |value: usize| Self::Integer(value.try_into().unwrap_or(i64::MAX)),
    CString => Self::Text,
    Vec<u8> => |bytes: Vec<u8>| Self::Bytes(bytes.into()),
    Buffer => Self::Buffer,
}

#[derive(Default)]
struct State {
    args: Vec<Owned>,
    end: Option<Result<i64, Error>>,
    waker: Option<Waker>,
}

type Shared = Arc<Mutex<State>>;

/// Locks even after a panic in another thread, because no data is left inconsistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request: resolves to `run()`'s first result, 0 if there is none, and the arguments. It need
/// not be awaited: its memory stays until it is complete in any case.
pub struct Request(Shared);

impl Future for Request {
    type Output = (Result<i64, Error>, Vec<Owned>);

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.0);
        match state.end.take() {
            Some(end) => Poll::Ready((end, mem::take(&mut state.args))),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Threads that serve requests of a script, each with its own globals.
///
/// Requests complete in [`Queue::reap`], called when the descriptor is readable (as a runtime's
/// reactor reports), or in [`Queue::wait`], called by a thread that only waits.
pub struct Queue {
    raw: *mut sys::syscript_queue,
    pending: Mutex<(u64, HashMap<u64, Shared>)>,
}

// SAFETY: any thread may use a queue of the library.
unsafe impl Send for Queue {}
// SAFETY: the same.
unsafe impl Sync for Queue {}

impl Options {
    /// Registers a script for each of the given number of threads, and starts them. The time limit
    /// applies to each request.
    ///
    /// # Safety
    ///
    /// See [`Options::register`].
    pub unsafe fn queue(&self, source: &str, threads: u32) -> Result<Queue, Error> {
        let texts = self.texts()?;
        let options = self.raw(&texts);
        let mut error = [0 as c_char; ERROR_LEN];
        let mut raw = ptr::null_mut();
        // SAFETY: all of these live until it returns.
        let err = unsafe {
            sys::syscript_queue_open(
                &mut raw,
                source.as_ptr().cast(),
                source.len(),
                &options,
                threads,
                error.as_mut_ptr(),
                error.len(),
            )
        };
        match (err, text_of(&error)) {
            (0, _) => Ok(Queue { raw, pending: Mutex::default() }),
            (_, text) if text.is_empty() => Err(Error::from_errno(err)),
            (_, text) => Err(Error { errno: -err, text }),
        }
    }
}

impl Queue {
    /// Submits a request. Fails with EAGAIN if the queue is full: requests must complete first.
    pub fn submit<const N: usize>(&self, args: [Owned; N]) -> Result<Request, Error> {
        if N > sys::SYSCRIPT_ARGS_MAX {
            return Err(Error::from_errno(TOO_LONG));
        }
        let mut args = Vec::from(args);
        let mut values = [0; sys::SYSCRIPT_ARGS_MAX];
        for (value, arg) in values.iter_mut().zip(&mut args) {
            *value = arg.value();
        }
        let state = Shared::new(Mutex::new(State { args, ..State::default() }));
        let mut pending = lock(&self.pending);
        pending.0 += 1;
        let key = pending.0;
        let raw =
            sys::syscript_request { user_data: key, nargs: N as u32, reserved: 0, args: values };
        // SAFETY: the values' memory is kept in pending until completion.
        match unsafe { sys::syscript_queue_submit(self.raw, &raw, 1) } {
            1 => {
                pending.1.insert(key, state.clone());
                Ok(Request(state))
            }
            err => Err(Error::from_errno(err)),
        }
    }

    fn complete(&self, completions: &[sys::syscript_completion]) {
        for one in completions {
            let Some(state) = lock(&self.pending).1.remove(&one.user_data) else { continue };
            let end = if one.error == 0 { Ok(one.result) } else { Err(self.error(one.error)) };
            let waker = {
                let mut state = lock(&state);
                state.end = Some(end);
                state.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    fn taken(&self, n: c_int, completions: &[sys::syscript_completion]) -> Result<usize, Error> {
        if n < 0 {
            return Err(Error::from_errno(n));
        }
        self.complete(&completions[..n as usize]);
        Ok(n as usize)
    }

    /// Completes finished requests, without waiting, and returns their number: 0 means that the
    /// descriptor becomes readable with the next one.
    pub fn reap(&self) -> Result<usize, Error> {
        let mut done = NONE;
        // SAFETY: a buffer and its length.
        let n = unsafe { sys::syscript_queue_reap(self.raw, done.as_mut_ptr(), REAPED as u32) };
        self.taken(n, &done)
    }

    /// Like `reap`, but waits for the first one; returns 0 on timeout.
    pub fn wait(&self, time: Duration) -> Result<usize, Error> {
        let mut done = NONE;
        let ms = time.as_millis().try_into().unwrap_or(c_int::MAX);
        // SAFETY: a buffer and its length.
        let n =
            unsafe { sys::syscript_queue_wait(self.raw, done.as_mut_ptr(), 1, REAPED as u32, ms) };
        self.taken(n, &done)
    }

    fn error(&self, err: c_int) -> Error {
        let mut text = [0 as c_char; ERROR_LEN];
        // SAFETY: a buffer and its length.
        let n = unsafe { sys::syscript_queue_error(self.raw, text.as_mut_ptr(), text.len()) };
        if n > 0 {
            return Error { errno: -err, text: text_of(&text) };
        }
        Error::from_errno(err)
    }
}

const NONE: [sys::syscript_completion; REAPED] =
    [sys::syscript_completion { user_data: 0, result: 0, error: 0, reserved: 0 }; REAPED];

/// For a reactor; do not read or close it.
impl AsRawFd for Queue {
    fn as_raw_fd(&self) -> RawFd {
        // SAFETY: takes the queue.
        unsafe { sys::syscript_queue_fd(self.raw) }
    }
}

/// Waits for requests in progress; the others fail with ECANCELED.
impl Drop for Queue {
    fn drop(&mut self) {
        const CANCELED: c_int = -125;
        // SAFETY: no other owner of the queue; the requests' memory outlives it.
        unsafe { sys::syscript_queue_close(self.raw) };
        for (_, state) in lock(&self.pending).1.drain() {
            let mut state = lock(&state);
            state.end = Some(Err(Error::from_errno(CANCELED)));
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }
}
