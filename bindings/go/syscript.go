// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

// Package syscript makes many system calls with one mode switch: a script is
// registered and then called like a function. It runs in the kernel if /dev/syscript may be used,
// otherwise in the process; syscript(7) describes its language.
package syscript

/*
#cgo pkg-config: libsyscript
#include <signal.h>
#include <stdlib.h>
#include <syscript.h>

// The thread gets the signal after the call.
static int call_unprofiled(int fd, unsigned int nargs, const int64_t *args, unsigned int max,
			   int64_t *results)
{
	sigset_t profiler, before;
	int n;

	sigemptyset(&profiler);
	sigaddset(&profiler, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &profiler, &before);
	n = syscript_call(fd, nargs, args, max, results);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const errorLen = 2048

// Backend is where a script runs.
type Backend int

const (
	Auto   Backend = C.SYSCRIPT_BACKEND_AUTO // in the kernel if possible
	Kernel Backend = C.SYSCRIPT_BACKEND_KERNEL
	User   Backend = C.SYSCRIPT_BACKEND_USER
)

// Options say how a script is registered; zero values are the defaults.
type Options struct {
	Name        string // shows in error texts and lists; fewer than 32 bytes
	Backend     Backend
	MemoryLimit uint64        // bytes of memory
	TimeLimit   time.Duration // script code per call
	WallLimit   time.Duration // time except waiting, per call
	// How long a call may continue while a signal is pending, before it fails with EINTR: 100
	// ms at most, and by default.
	Grace time.Duration
	// Calls block the signal of Go's CPU profiler, which would end longer calls; the profiler
	// does not see them, and each takes two more system calls.
	Unprofiled bool
	NoJIT      bool
	// The only system calls that it may make, and the libraries among util, fs and net that it
	// may use. nil: all.
	Only []string
	// A folder whose Lua files the script may require(); "": none.
	Modules string
}

// Error reports that a script does not compile, raised an error, or exceeded a limit; errors.Is
// compares its errno.
type Error struct {
	Errno syscall.Errno // as <linux/syscript.h> lists them
	Text  string        // the script's own, with file:line and a traceback
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Errno }

func newError(err C.int, text string) error {
	if text == "" {
		text = C.GoString(C.syscript_strerror(err))
	}
	return &Error{syscall.Errno(-err), text}
}

// Script is a registered script.  Goroutines that call it take turns.
type Script struct {
	fd         C.int
	unprofiled bool
}

func (o Options) raw(name *C.char) C.struct_syscript_options {
	options := C.struct_syscript_options{
		name:          name,
		flags:         C.SYSCRIPT_TRACEBACK,
		backend:       C.enum_syscript_backend(o.Backend),
		memory_limit:  C.uint64_t(o.MemoryLimit),
		time_limit_ns: C.uint64_t(o.TimeLimit),
		wall_limit_ns: C.uint64_t(o.WallLimit),
		grace_ns:      C.uint64_t(o.Grace),
	}
	options.size = C.size_t(unsafe.Sizeof(options))
	if o.NoJIT {
		options.flags |= C.SYSCRIPT_NOJIT
	}
	return options
}

// Scripts that are garbage count until they are collected: if there are too many, collect and try
// again. Finalizers run some time after a collection.
func collecting(register func() C.int) C.int {
	fd := register()
	for wait := time.Millisecond; fd == -C.int(syscall.EDQUOT) && wait < 32*time.Millisecond; wait *= 2 {
		runtime.GC()
		time.Sleep(wait)
		fd = register()
	}
	return fd
}

// Calls a function of the library that registers a script, with C copies of its arguments, which
// are freed afterwards, and a buffer for its error.
func (o Options) register(source string,
	register func(text *C.char, options *C.struct_syscript_options, found *C.char) C.int) (C.int, error) {
	if strings.IndexByte(o.Name+o.Modules, 0) >= 0 {
		return 0, &Error{syscall.EINVAL, "the name has a NUL"}
	}
	name := C.CString(o.Name)
	defer C.free(unsafe.Pointer(name))
	text := C.CString(source)
	defer C.free(unsafe.Pointer(text))
	options := o.raw(name)
	if o.Only != nil {
		only := C.CString(strings.Join(o.Only, ","))
		defer C.free(unsafe.Pointer(only))
		options.only = only
	}
	if o.Modules != "" {
		modules := C.CString(o.Modules)
		defer C.free(unsafe.Pointer(modules))
		options.modules = modules
	}
	var found [errorLen]C.char
	result := collecting(func() C.int { return register(text, &options, &found[0]) })
	if result < 0 {
		return 0, newError(result, C.GoString(&found[0]))
	}
	return result, nil
}

// New registers a script. It can access all memory of the process, as C can: it must stay within
// the buffers that calls pass to it, and their lengths.
func New(source string, o Options) (*Script, error) {
	fd, err := o.register(source, func(text *C.char, options *C.struct_syscript_options, found *C.char) C.int {
		return C.syscript_register(unsafe.Pointer(text), C.size_t(len(source)), options,
			found, errorLen)
	})
	if err != nil {
		return nil, err
	}
	script := &Script{fd, o.Unprofiled}
	runtime.SetFinalizer(script, (*Script).Close)
	return script, nil
}

// The integer that represents an argument; memory is pinned until the call is over.
func value(pinner *runtime.Pinner, arg any) (C.int64_t, error) {
	switch arg := arg.(type) {
	case int:
		return C.int64_t(arg), nil
	case int32:
		return C.int64_t(arg), nil
	case int64:
		return C.int64_t(arg), nil
	case uint32:
		return C.int64_t(arg), nil
	case uintptr:
		return C.int64_t(arg), nil
	case string:
		return address(pinner, append([]byte(arg), 0)), nil
	case []byte:
		return address(pinner, arg), nil
	case *os.File:
		return C.int64_t(arg.Fd()), nil
	}
	return 0, fmt.Errorf("a %T cannot be a script argument", arg)
}

func address(pinner *runtime.Pinner, memory []byte) C.int64_t {
	if len(memory) == 0 {
		return 0
	}
	pinner.Pin(&memory[0])
	return C.int64_t(uintptr(unsafe.Pointer(&memory[0])))
}

// Buffer returns memory for a script to write, followed by inaccessible memory: a script that is
// given too large a size gets EFAULT there, where it would overwrite memory after an ordinary
// slice. It is not Go's memory; Free releases it.
func Buffer(size int) ([]byte, error) {
	if size <= 0 {
		return nil, syscall.EINVAL
	}
	page := os.Getpagesize()
	room := (size + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, room+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, err
	}
	if err := syscall.Mprotect(memory[room:], syscall.PROT_NONE); err != nil {
		syscall.Munmap(memory)
		return nil, err
	}
	// Aligned for any type.
	start := (room - size) / 16 * 16
	buffer := memory[start : start+size : start+size]
	mappings.Store(&buffer[0], memory)
	return buffer, nil
}

// Mappings made by Buffer, by their first byte.
var mappings sync.Map

// Free unmaps memory that Buffer returned.
func Free(buffer []byte) error {
	if len(buffer) == 0 {
		return syscall.EINVAL
	}
	memory, ok := mappings.LoadAndDelete(&buffer[0])
	if !ok {
		return syscall.EINVAL
	}
	return syscall.Munmap(memory.([]byte))
}

func (s *Script) call(nargs C.uint, args *C.int64_t, most C.uint, results *C.int64_t) C.int {
	if s.unprofiled {
		return C.call_unprofiled(s.fd, nargs, args, most, results)
	}
	return C.syscript_call(s.fd, nargs, args, most, results)
}

// CallAll calls run() and returns all of its results, eight at most. Arguments are passed as
// integers: a string as the address of its bytes with a NUL after them, a []byte as that of its
// memory, which the script may write, a file as its descriptor.
func (s *Script) CallAll(args ...any) ([]int64, error) {
	var values [C.SYSCRIPT_ARGS_MAX]C.int64_t
	var results [C.SYSCRIPT_RESULTS_MAX]C.int64_t
	var pinner runtime.Pinner
	defer pinner.Unpin()
	if len(args) > len(values) {
		return nil, &Error{syscall.E2BIG, "a script takes eight arguments at most"}
	}
	for i, arg := range args {
		var err error
		if values[i], err = value(&pinner, arg); err != nil {
			return nil, err
		}
	}
	n := s.call(C.uint(len(args)), &values[0], C.uint(len(results)), &results[0])
	runtime.KeepAlive(s)
	runtime.KeepAlive(args)
	if n < 0 {
		return nil, s.lastError(n)
	}
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(results[i])
	}
	return all, nil
}

// Call calls run() and returns its first result, 0 if there is none.
func (s *Script) Call(args ...any) (int64, error) {
	results, err := s.CallAll(args...)
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], nil
}

// Checked is Call for scripts that return -errno, as system calls do.
func (s *Script) Checked(args ...any) (int64, error) {
	result, err := s.Call(args...)
	if err == nil && result < 0 && result > -4096 {
		return 0, syscall.Errno(-result)
	}
	return result, err
}

func (s *Script) lastError(err C.int) error {
	var text [errorLen]C.char
	if C.syscript_error(s.fd, &text[0], errorLen) > 0 {
		return newError(err, C.GoString(&text[0]))
	}
	return newError(err, "")
}

// Output returns and clears the output of print().
func (s *Script) Output() (string, error) {
	var all strings.Builder
	var part [4096]byte
	for {
		n := C.syscript_output(s.fd, (*C.char)(unsafe.Pointer(&part[0])), C.size_t(len(part)))
		if n < 0 {
			return "", newError(n, "")
		}
		if n == 0 {
			return all.String(), nil
		}
		all.Write(part[:n])
	}
}

// Info has a script's limits and counters: bytes, and times as durations.
type Info struct {
	ID                              uint64
	Name, Engine                    string
	Memory, MemoryPeak, MemoryLimit uint64
	TimeLimit, RunTime              time.Duration
	Calls, Errors, Kills, Syscalls  uint64
	Counters                        map[string]uint64 // the engine's own
}

// Info returns the script's limits and counters.
func (s *Script) Info() (Info, error) {
	var raw C.struct_syscript_info
	if err := C.syscript_info(s.fd, &raw); err < 0 {
		return Info{}, newError(err, "")
	}
	info := Info{
		ID: uint64(raw.id), Name: C.GoString(&raw.name[0]), Engine: C.GoString(&raw.engine_name[0]),
		Memory: uint64(raw.memory), MemoryPeak: uint64(raw.memory_peak),
		MemoryLimit: uint64(raw.memory_limit), TimeLimit: time.Duration(raw.time_limit),
		RunTime: time.Duration(raw.run_time), Calls: uint64(raw.calls), Errors: uint64(raw.errors),
		Kills: uint64(raw.kills), Syscalls: uint64(raw.syscalls), Counters: map[string]uint64{},
	}
	for i := range raw.counters {
		if name := C.GoString(&raw.counters[i].name[0]); name != "" {
			info.Counters[name] = uint64(raw.counters[i].value)
		}
	}
	return info, nil
}

// Backend tells where the script runs.
func (s *Script) Backend() (Backend, error) {
	found := C.syscript_backend(s.fd)
	if found < 0 {
		return 0, newError(found, "")
	}
	return Backend(found), nil
}

// Close frees the script; so does the garbage collector, eventually.
func (s *Script) Close() error {
	if s.fd < 0 {
		return nil
	}
	err := C.syscript_close(s.fd)
	s.fd = -1
	if err < 0 {
		return newError(err, "")
	}
	return nil
}

// Lint finds mistakes without running the script, each as
// "name:line: text".
func Lint(source string) ([]string, error) {
	text := C.CString(source)
	defer C.free(unsafe.Pointer(text))
	found := (*C.char)(C.calloc(1, 1<<16))
	defer C.free(unsafe.Pointer(found))
	n := C.syscript_lint(text, C.size_t(len(source)), nil, found, 1<<16)
	if n < 0 {
		return nil, newError(n, C.GoString(found))
	}
	return strings.FieldsFunc(C.GoString(found), func(c rune) bool { return c == '\n' }), nil
}

// Probe returns nil if this thread can use a backend now, otherwise the reason why not.
func Probe(backend Backend) error {
	if err := C.syscript_probe(C.enum_syscript_backend(backend)); err < 0 {
		return newError(err, "")
	}
	return nil
}
