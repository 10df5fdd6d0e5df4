// SPDX-License-Identifier: GPL-2.0 OR MIT
//! Arguments, results, errors.

use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::time::Duration;

use syscript::{Backend, Buffer, Options, Script};

fn script(source: &str) -> Script {
    // SAFETY: the scripts of this file stay within their buffers.
    unsafe { Options::new().name("test").backend(Backend::User).register(source) }.unwrap()
}

#[test]
fn results() {
    let both = script("function run(a, b) return a + b, a - b, a end");
    assert_eq!(both.call([1.into(), 2.into()]).unwrap(), 3);
    assert_eq!(both.call_all([(1i64 << 40).into(), 2u32.into()]).unwrap().len(), 3);
    assert_eq!(script("function run() end").call([]).unwrap(), 0);
    assert_eq!(both.backend().unwrap(), Backend::User);
}

#[test]
fn memory() {
    let copy = script(
        "function run(to, from, n)
           for i = 0, n - 1 do util.poke(to + i, 'u1', util.peek(from + i, 'u1')) end
           return n
         end",
    );
    let mut to = [0u8; 8];
    let n = copy.call([to[..].as_mut().into(), b"abcdefgh"[..].into(), 5usize.into()]);
    assert_eq!((n.unwrap(), &to[..6]), (5, &b"abcde\0"[..]));
    let length = script(
        "function run(text)
           local n = 0
           while util.peek(text + n, 'u1') ~= 0 do n = n + 1 end
           return n
         end",
    );
    let text = CString::new("four").unwrap();
    assert_eq!(length.call([text.as_c_str().into()]).unwrap(), 4);
    let mut numbers = [1i64, 2, 3];
    script("function run(at) util.poke(at + 8, 'i8', -7) end")
        .call([numbers[..].as_mut().into()])
        .unwrap();
    assert_eq!(numbers, [1, -7, 3]);
}

#[test]
fn buffers_have_an_end() {
    let fill = script("function run(to, n) for i = 0, n - 1 do util.poke(to + i, 'u1', 1) end end");
    for size in [16, 4096, 5008] {
        let mut buffer = Buffer::new(size).unwrap();
        assert_eq!(buffer.len(), size);
        fill.call([(&mut buffer).into(), size.into()]).unwrap();
        assert!(buffer.iter().all(|&byte| byte == 1));
        assert!(fill.call([(&mut buffer).into(), (size + 1).into()]).is_err());
    }
    assert!(Buffer::new(0).is_err());
}

#[test]
fn descriptors_and_errno() {
    let sync = script("function run(fd) return syscall.fsync(fd) end");
    let mut file = File::create(std::env::temp_dir().join("syscript-rust-test")).unwrap();
    file.write_all(b"x").unwrap();
    assert_eq!(sync.checked([file.as_fd().into()]).unwrap(), 0);
    assert_eq!(sync.checked([(-1).into()]).unwrap_err().raw_os_error(), Some(9));
    std::fs::remove_file(std::env::temp_dir().join("syscript-rust-test")).unwrap();
}

#[test]
fn errors() {
    let raised = script("function run(n)\n  error('no luck ' .. n)\nend");
    let error = raised.call([7.into()]).unwrap_err();
    assert!(error.text.starts_with("test:2: no luck 7"), "{error}");
    assert_eq!(std::io::Error::from(error.clone()).to_string(), error.text);
    // SAFETY: it never runs.
    assert!(unsafe { Script::new("function run(") }.is_err());
    // SAFETY: it touches nothing.
    let name = unsafe { Options::new().name("a\0b").register("function run() end") };
    assert_eq!(name.unwrap_err().errno, 22);
    let nine = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(syscript::Arg::from);
    assert_eq!(raised.call(nine).unwrap_err().errno, 7);
}

#[test]
fn limits_and_counters() {
    let options = Options::new().backend(Backend::User).time_limit(Duration::from_millis(20));
    // SAFETY: it touches nothing.
    let endless = unsafe { options.register("function run() while true do end end") }.unwrap();
    assert_eq!(endless.call([]).unwrap_err().errno, 62);
    let info = endless.info().unwrap();
    assert_eq!((info.calls, info.kills, info.time_limit), (1, 1, 20_000_000));
    assert!(info.counters.iter().any(|(name, _)| name == "traces"));
}

#[test]
fn output_and_lint() {
    let prints = script("function run() print('hello', 1) end");
    prints.call([]).unwrap();
    assert_eq!(prints.output().unwrap(), "hello\t1\n");
    assert_eq!(prints.output().unwrap(), "");
    assert!(syscript::lint("function run() return undefined end").unwrap()[0].contains("undefined"));
    assert!(syscript::probe(Backend::User).is_ok());
}

#[test]
fn threads_take_turns() {
    let counter = script("local n = 0 function run() n = n + 1 return n end");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| assert!(counter.call([]).unwrap() > 0)));
        }
    });
    assert_eq!(counter.call([]).unwrap(), 401);
}

/// C's sizes, as found by tests/unit/test_rust.py.
#[test]
fn grace() {
    let options = Options::new().backend(Backend::User);
    let source = "function run() end";
    // SAFETY: it touches no memory.
    assert!(unsafe { options.clone().grace(Duration::from_millis(1)).register(source) }.is_ok());
    // SAFETY: it is not run.
    let error = unsafe { options.grace(Duration::from_secs(1)).register(source) }.unwrap_err();
    assert!(error.text.contains("grace time 1000 ms is too high"), "{error}");
}

#[test]
fn layout() {
    use std::mem::size_of;
    let ours = format!(
        "{} {} {} {} {}",
        size_of::<syscript_sys::syscript_options>(),
        size_of::<syscript_sys::syscript_info>(),
        core::mem::offset_of!(syscript_sys::syscript_options, shared),
        core::mem::offset_of!(syscript_sys::syscript_info, memory_limit),
        core::mem::offset_of!(syscript_sys::syscript_info, counters),
    );
    if let Ok(theirs) = std::env::var("SYSCRIPT_LAYOUT") {
        assert_eq!(ours, theirs);
    }
}
