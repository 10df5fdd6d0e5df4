// SPDX-License-Identifier: GPL-2.0 OR MIT
//! Queues: requests, memory that they own, errors, and their end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use syscript::{Backend, Options, Owned, Queue, Request};

const LONG: Duration = Duration::from_secs(30);

fn queue(source: &str, threads: u32) -> Queue {
    let options = Options::new().backend(Backend::User).time_limit(Duration::from_secs(2));
    // SAFETY: the scripts of this file stay within their buffers.
    unsafe { options.queue(source, threads) }.unwrap()
}

struct Nothing;

impl Wake for Nothing {
    fn wake(self: Arc<Self>) {}
}

/// An executor: waits for the queue while the request is not complete.
fn block_on(queue: &Queue, request: Request) -> (Result<i64, syscript::Error>, Vec<Owned>) {
    let waker = Waker::from(Arc::new(Nothing));
    let mut context = Context::from_waker(&waker);
    let mut request = pin!(request);
    loop {
        if let Poll::Ready(end) = request.as_mut().poll(&mut context) {
            return end;
        }
        queue.wait(LONG).unwrap();
    }
}

#[test]
fn requests() {
    let queue = queue("function run(a, b) return a - b end", 2);
    let all: Vec<_> =
        (0..200).map(|i: i64| queue.submit([(i * i).into(), 3.into()]).unwrap()).collect();
    for (i, request) in all.into_iter().enumerate() {
        assert_eq!(block_on(&queue, request).0.unwrap(), (i * i) as i64 - 3);
    }
    assert_eq!(queue.reap().unwrap(), 0);
}

#[test]
fn memory_comes_back() {
    let queue = queue("function run(at, n) util.fill(at, 7, n) return n end", 1);
    let request = queue.submit([vec![0u8; 8].into(), 4usize.into()]).unwrap();
    let (result, mut args) = block_on(&queue, request);
    assert_eq!(result.unwrap(), 4);
    assert!(matches!(args.remove(0), Owned::Bytes(bytes) if bytes[..] == [7, 7, 7, 7, 0, 0, 0, 0]));
    // The dropped request is not awaited, but its memory is kept until it completes.
    drop(queue.submit([vec![0u8; 1 << 20].into(), (1usize << 20).into()]).unwrap());
}

#[test]
fn errors_of_requests() {
    let queue = queue("function run(a) if a == 1 then error('one') end return a end", 1);
    let (result, _) = block_on(&queue, queue.submit([1.into()]).unwrap());
    let error = result.unwrap_err();
    assert!(error.errno == 71 && error.text.contains("one"));
    assert_eq!(block_on(&queue, queue.submit([2.into()]).unwrap()).0.unwrap(), 2);
    let none = unsafe { Options::new().queue("function run( end", 1) };
    assert!(none.err().unwrap().text.contains(":1:"));
}

#[test]
fn room_and_the_end() {
    let queue = queue("function run(ms) syscall.poll(0, 0, ms) return 5 end", 1);
    let begin = Instant::now();
    let mut requests = vec![queue.submit([200.into()]).unwrap()];
    let full = loop {
        match queue.submit([20_000.into()]) {
            Ok(request) => requests.push(request),
            Err(error) => break error,
        }
    };
    assert_eq!((full.errno, requests.len()), (11, 128));
    drop(queue);
    assert!(begin.elapsed() < Duration::from_secs(19));
    let waker = Waker::from(Arc::new(Nothing));
    let mut context = Context::from_waker(&waker);
    for request in requests {
        let Poll::Ready((result, _)) = pin!(request).poll(&mut context) else { panic!() };
        assert_eq!(result.unwrap_err().errno, 125);
    }
}
