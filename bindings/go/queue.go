// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT

package syscript

/*
#include <stdlib.h>
#include <syscript_queue.h>
*/
import "C"

import (
	"context"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	reaped = 64
	// Retry interval while a queue's slots are taken by requests of dead threads.
	retry = time.Millisecond
)

// Queue calls a script asynchronously: threads of the library serve requests, so that a waiting
// goroutine occupies no thread, and a request costs no mode switch while others are queued. Each
// thread has its own globals.
type Queue struct {
	queue   *C.struct_syscript_queue
	file    *os.File
	room    chan struct{} // a value for each request in flight
	ended   chan struct{} // closed by the goroutine that reaps
	mutex   sync.Mutex
	pending map[uint64]*queued
	last    uint64
	closed  bool
}

// queued is a request; its memory stays pinned until completion.
type queued struct {
	pinner runtime.Pinner
	args   []any
	done   chan outcome
}

type outcome struct {
	result int64
	err    error
}

// NewQueue registers a script for each of the given number of threads (0: one), and starts them.
// The time limit applies to each request.
func NewQueue(source string, threads int, o Options) (*Queue, error) {
	if threads < 0 {
		return nil, newError(-C.int(syscall.EINVAL), "")
	}
	var queue *C.struct_syscript_queue
	_, err := o.register(source, func(text *C.char, options *C.struct_syscript_options, found *C.char) C.int {
		return C.syscript_queue_open(&queue, text, C.size_t(len(source)), options,
			C.uint(threads), found, errorLen)
	})
	if err != nil {
		return nil, err
	}
	return startQueue(queue, threads)
}

// The runtime waits for a copy of the descriptor, which it closes by itself.
func startQueue(queue *C.struct_syscript_queue, threads int) (*Queue, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(C.syscript_queue_fd(queue)),
		syscall.F_DUPFD_CLOEXEC, 3)
	if errno != 0 {
		C.syscript_queue_close(queue)
		return nil, errno
	}
	q := &Queue{
		queue:   queue,
		file:    os.NewFile(fd, "syscript queue"),
		room:    make(chan struct{}, max(threads, 1)*C.SYSCRIPT_QUEUE_ENTRIES),
		ended:   make(chan struct{}),
		pending: map[uint64]*queued{},
	}
	go q.reap()
	return q, nil
}

// reap completes requests until the file is closed.
func (q *Queue) reap() {
	defer close(q.ended)
	conn, err := q.file.SyscallConn()
	if err != nil {
		return
	}
	conn.Read(func(uintptr) bool {
		var done [reaped]C.struct_syscript_completion
		for {
			n := C.syscript_queue_reap(q.queue, &done[0], reaped)
			if n <= 0 {
				return false
			}
			for _, one := range done[:n] {
				q.complete(uint64(one.user_data), int64(one.result), C.int(one.error))
			}
		}
	})
}

func (q *Queue) complete(key uint64, result int64, err C.int) {
	q.mutex.Lock()
	request := q.pending[key]
	delete(q.pending, key)
	q.mutex.Unlock()
	request.pinner.Unpin()
	request.args = nil
	end := outcome{result: result}
	if err != 0 {
		end.err = q.lastError(err)
	}
	request.done <- end
	<-q.room
}

func (q *Queue) lastError(err C.int) error {
	var text [errorLen]C.char
	if C.syscript_queue_error(q.queue, &text[0], errorLen) > 0 {
		return newError(err, C.GoString(&text[0]))
	}
	return newError(err, "")
}

// Call queues a call of run() and returns its first result, 0 if there is none. A context that is
// done ends the wait, not the request: the arguments' memory is pinned until the request ends.
func (q *Queue) Call(ctx context.Context, args ...any) (int64, error) {
	request := &queued{args: args, done: make(chan outcome, 1)}
	raw := C.struct_syscript_request{nargs: C.uint32_t(len(args))}
	if len(args) > len(raw.args) {
		return 0, &Error{syscall.E2BIG, "a script takes eight arguments at most"}
	}
	for i, arg := range args {
		var err error
		if raw.args[i], err = value(&request.pinner, arg); err != nil {
			request.pinner.Unpin()
			return 0, err
		}
	}
	if err := q.submit(ctx, request, &raw); err != nil {
		request.pinner.Unpin()
		return 0, err
	}
	select {
	case end := <-request.done:
		return end.result, end.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Checked is Call for scripts that return -errno, as system calls do.
func (q *Queue) Checked(ctx context.Context, args ...any) (int64, error) {
	result, err := q.Call(ctx, args...)
	if err == nil && result < 0 && result > -4096 {
		return 0, syscall.Errno(-result)
	}
	return result, err
}

func (q *Queue) submit(ctx context.Context, request *queued, raw *C.struct_syscript_request) error {
	select {
	case q.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		n := q.trySubmit(request, raw)
		if n == 1 {
			return nil
		}
		if n != -C.int(syscall.EAGAIN) {
			<-q.room
			return newError(n, "")
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			<-q.room
			return ctx.Err()
		}
	}
}

func (q *Queue) trySubmit(request *queued, raw *C.struct_syscript_request) C.int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.closed {
		return -C.int(syscall.EBADF)
	}
	q.last++
	raw.user_data = C.uint64_t(q.last)
	n := C.syscript_queue_submit(q.queue, raw, 1)
	if n == 1 {
		q.pending[q.last] = request
	}
	return n
}

// Close waits for requests in progress; the others fail with ECANCELED.
func (q *Queue) Close() error {
	q.mutex.Lock()
	closed := q.closed
	q.closed = true
	q.mutex.Unlock()
	if closed {
		return nil
	}
	q.file.Close()
	<-q.ended
	C.syscript_queue_close(q.queue)
	for key, request := range q.pending {
		delete(q.pending, key)
		request.pinner.Unpin()
		request.done <- outcome{err: newError(-C.int(syscall.ECANCELED), "")}
		<-q.room
	}
	return nil
}
