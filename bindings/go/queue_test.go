// SPDX-License-Identifier: GPL-2.0 OR MIT

package syscript

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func queue(t *testing.T, source string, threads int) *Queue {
	t.Helper()
	queue, err := NewQueue(source, threads, Options{Backend: User, TimeLimit: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { queue.Close() })
	return queue
}

const waits = `
function run(ms, value)
  if value == 13 then error("thirteen") end
  if ms > 0 then syscall.poll(0, 0, ms) end
  return value
end`

// More requests than fit, each with its own result.
func TestQueue(t *testing.T) {
	calls := queue(t, waits, 2)
	var group sync.WaitGroup
	for i := 20; i < 1000; i++ {
		i := i
		group.Add(1)
		go func() {
			defer group.Done()
			if n, err := calls.Call(context.Background(), 0, i*i); n != int64(i*i) || err != nil {
				t.Error(n, err)
			}
		}()
	}
	group.Wait()
	_, err := calls.Call(context.Background(), 0, 13)
	if !errors.Is(err, syscall.EPROTO) || !strings.Contains(err.Error(), "thirteen") {
		t.Fatal(err)
	}
	if _, err := calls.Checked(context.Background(), 0, -2); err != syscall.ENOENT {
		t.Fatal(err)
	}
}

func TestQueueSideBySide(t *testing.T) {
	calls := queue(t, waits, 8)
	begin := time.Now()
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			calls.Call(context.Background(), 500, 1)
		}()
	}
	group.Wait()
	if took := time.Since(begin); took < 500*time.Millisecond || took > 3*time.Second {
		t.Fatal(took)
	}
}

func TestQueueContext(t *testing.T) {
	calls := queue(t, "function run(at, ms) syscall.poll(0, 0, ms) util.poke(at, 'u1', 7) end", 1)
	memory := make([]byte, 16)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := calls.Call(ctx, memory, 200); err != context.DeadlineExceeded {
		t.Fatal(err)
	}
	if _, err := calls.Call(context.Background(), make([]byte, 1), 0); err != nil || memory[0] != 7 {
		t.Fatal(err, memory[0])
	}
}

func TestQueueClose(t *testing.T) {
	calls := queue(t, waits, 1)
	ended := make(chan error)
	for i := 0; i < 3; i++ {
		go func() {
			_, err := calls.Call(context.Background(), 300, 1)
			ended <- err
		}()
	}
	time.Sleep(100 * time.Millisecond)
	calls.Close()
	for i := 0; i < 3; i++ {
		if err := <-ended; err != nil && !errors.Is(err, syscall.ECANCELED) {
			t.Fatal(err)
		}
	}
	if _, err := calls.Call(context.Background(), 0, 1); !errors.Is(err, syscall.EBADF) {
		t.Fatal(err)
	}
}
