// SPDX-License-Identifier: GPL-2.0 OR MIT

package syscript

import (
	"errors"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func script(t *testing.T, source string) *Script {
	t.Helper()
	script, err := New(source, Options{Name: "test", Backend: User})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { script.Close() })
	return script
}

func TestResults(t *testing.T) {
	both := script(t, "function run(a, b) return a + b, a - b, a end")
	all, err := both.CallAll(1<<40, int32(2))
	if err != nil || len(all) != 3 || all[1] != 1<<40-2 {
		t.Fatal(all, err)
	}
	if n, err := script(t, "function run() end").Call(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if where, err := both.Backend(); where != User || err != nil {
		t.Fatal(where, err)
	}
}

func TestMemory(t *testing.T) {
	fill := script(t, "function run(to, n) for i = 0, n - 1 do util.poke(to + i, 'u1', 65 + i) end end")
	buffer := make([]byte, 8)
	if _, err := fill.Call(buffer, 5); err != nil || string(buffer) != "ABCDE\x00\x00\x00" {
		t.Fatal(buffer, err)
	}
	fourth := script(t, "function run(s) return util.peek(s + 3, 'u1'), util.peek(s + 4, 'u1') end")
	if all, err := fourth.CallAll("four"); err != nil || all[0] != 'r' || all[1] != 0 {
		t.Fatal(all, err)
	}
}

func TestBuffer(t *testing.T) {
	read := script(t, "function run(fd, to, n) return syscall.read(fd, to, n) end")
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	for _, size := range []int{16, 4096, 5008} {
		buffer, err := Buffer(size)
		if err != nil || len(buffer) != size || cap(buffer) != size {
			t.Fatal(len(buffer), err)
		}
		buffer[0], buffer[size-1] = 1, 1
		if n, err := read.Checked(zero, buffer, size); n != int64(size) || err != nil || buffer[size-1] != 0 {
			t.Fatal(n, err)
		}
		poke := script(t, "function run(to, n) for i = 0, n - 1 do util.poke(to + i, 'u1', 1) end end")
		if _, err := poke.Call(buffer, size+1); err == nil {
			t.Fatal("wrote beyond the end")
		}
		if buffer[size-1] != 1 {
			t.Fatal("not up to the end")
		}
		if err := Free(buffer); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDescriptorsAndErrno(t *testing.T) {
	sync := script(t, "function run(fd) return syscall.fsync(fd) end")
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n, err := sync.Checked(file); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := sync.Checked(-1); !errors.Is(err, syscall.EBADF) {
		t.Fatal(err)
	}
}

func TestErrors(t *testing.T) {
	_, err := script(t, "function run(n)\n  error('no luck ' .. n)\nend").Call(7)
	if !errors.Is(err, syscall.EPROTO) || !strings.HasPrefix(err.Error(), "test:2: no luck 7") {
		t.Fatal(err)
	}
	if _, err := New("function run(", Options{}); !errors.Is(err, syscall.ENOEXEC) {
		t.Fatal(err)
	}
	nothing := script(t, "function run() end")
	if _, err := nothing.Call(1, 2, 3, 4, 5, 6, 7, 8, 9); !errors.Is(err, syscall.E2BIG) {
		t.Fatal(err)
	}
	if _, err := nothing.Call(1.5); err == nil || !strings.Contains(err.Error(), "float64") {
		t.Fatal(err)
	}
	nothing.Close()
	if _, err := nothing.Call(); err == nil {
		t.Fatal("a closed script was called")
	}
}

func TestLimitsAndCounters(t *testing.T) {
	endless, err := New("function run() while true do end end",
		Options{Backend: User, TimeLimit: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := endless.Call(); !errors.Is(err, syscall.ETIME) {
		t.Fatal(err)
	}
	info, err := endless.Info()
	if err != nil || info.Calls != 1 || info.Kills != 1 || info.TimeLimit != 20*time.Millisecond {
		t.Fatal(info, err)
	}
	if _, there := info.Counters["traces"]; !there {
		t.Fatal(info)
	}
}

func TestOutputAndLint(t *testing.T) {
	prints := script(t, "function run() print('hello', 1) end")
	prints.Call()
	if text, err := prints.Output(); text != "hello\t1\n" || err != nil {
		t.Fatal(text, err)
	}
	lines, err := Lint("function run() return undefined end")
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "undefined") {
		t.Fatal(lines, err)
	}
	if err := Probe(User); err != nil {
		t.Fatal(err)
	}
}

// Go does not know all threads of a program with cgo, as the binding is.
func TestNoCallInAllThreads(t *testing.T) {
	if _, _, err := syscall.AllThreadsSyscall(syscall.SYS_GETPID, 0, 0, 0); err != syscall.ENOTSUP {
		t.Error(err)
	}
}

func TestGoroutinesTakeTurns(t *testing.T) {
	counter := script(t, "local n = 0 function run() n = n + 1 return n end")
	var group sync.WaitGroup
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for k := 0; k < 100; k++ {
				counter.Call()
			}
		}()
	}
	group.Wait()
	if n, err := counter.Call(); n != 401 || err != nil {
		t.Fatal(n, err)
	}
}

// More scripts than a process may have, most of them garbage.
func TestGarbageIsCollected(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for i := 0; i < 300; i++ {
		if _, err := New("function run() end", Options{Backend: User}); err != nil {
			t.Fatal(i, err)
		}
	}
	var kept []*Script
	for {
		script, err := New("function run() end", Options{Backend: User})
		if errors.Is(err, syscall.EDQUOT) {
			break
		}
		if err != nil || len(kept) > 2000 {
			t.Fatal(len(kept), err)
		}
		kept = append(kept, script)
	}
	for _, script := range kept {
		script.Close()
	}
}

// In the kernel if possible: in the process, signal handlers do not end a call.
func TestProfiler(t *testing.T) {
	profile, err := os.Create(t.TempDir() + "/profile")
	if err != nil {
		t.Fatal(err)
	}
	defer profile.Close()
	if err := pprof.StartCPUProfile(profile); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	const source = `function run(n, path, text, size)
		local sum = 0
		for i = 1, n do sum = sum + i % 7 end
		local fd = syscall.openat(const.AT_FDCWD, path, const.O_RDONLY)
		local len = syscall.read(fd, text, size)
		syscall.close(fd)
		return len, sum
	end`
	for _, unprofiled := range []bool{false, true} {
		script, err := New(source, Options{TimeLimit: 10 * time.Second, Grace: time.Millisecond,
			Unprofiled: unprofiled})
		if err != nil {
			t.Fatal(err)
		}
		status := make([]byte, 4096)
		n, loops := int64(0), 1
		for start := time.Now(); time.Since(start) < 200*time.Millisecond && err == nil; loops *= 4 {
			start = time.Now()
			n, err = script.Checked(loops*1000, "/proc/thread-self/status", status, len(status))
		}
		if unprofiled || Probe(Kernel) != nil {
			if err != nil {
				t.Fatal(err)
			}
			if held := blocked(t, string(status[:n]), syscall.SIGPROF); held != unprofiled {
				t.Fatalf("SIGPROF is blocked in a call: %v, not %v", held, unprofiled)
			}
		} else if !errors.Is(err, syscall.EINTR) {
			t.Fatalf("the profiler has not ended the call: %v", err)
		}
		script.Close()
	}
}

func blocked(t *testing.T, status string, number syscall.Signal) bool {
	_, rest, _ := strings.Cut(status, "SigBlk:\t")
	mask, err := strconv.ParseUint(rest[:16], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask>>(number-1)&1 == 1
}

func TestGrace(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Millisecond, 100 * time.Millisecond} {
		script, err := New("function run() end", Options{Backend: User, Grace: grace})
		if err != nil {
			t.Fatal(err)
		}
		script.Close()
	}
	_, err := New("function run() end", Options{Backend: User, Grace: time.Second})
	if !errors.Is(err, syscall.EINVAL) || !strings.Contains(err.Error(), "grace time 1000 ms") {
		t.Fatal(err)
	}
}
