-- SPDX-License-Identifier: MIT
-- Serves a queue of requests (syscript_queue_open(3)): is appended to the text of a script,
-- and calls its run() for each request.  lib/batch/queue.c submits requests, and explains why
-- the shared memory needs no atomic operations here.
--
-- run(0, bytes) returns memory of the script for a ring, unless bytes is 0.
-- run(ring, eventfd, turn, check, always):
--   ring     address of the requests
--   eventfd  is written to when a request is done that a thread waits for
--   turn     return after this many ns
--   check    requests between checks of the clock
--   always   1: write to eventfd after each request
--
-- Returns 0 or the -errno of a failed futex(2), to be called again; 1 at the end.

do
  -- struct ring of queue.h, and its struct slot
  local WANT, ONE, NEWS, DONE, ASLEEP, CLOCK, SLOTS = 8, 16, 24, 64, 72, 80, 128
  local RESULT, SLOT, ENTRIES = 72, 80, 128
  local MONOTONIC, WAIT = const.CLOCK_MONOTONIC, const.FUTEX_WAIT + const.FUTEX_PRIVATE_FLAG
  local EAGAIN, ADDRESSES = -errno.EAGAIN, 2 ^ 47

  local handle, peek, poke, buffer, pending = run, util.peek, util.poke, util.buffer, util.pending
  local floor = math.floor
  local futex, write, clock_gettime = syscall.futex, syscall.write, syscall.clock_gettime

  if type(handle) ~= "function" then error("the script defines no function run()", 0) end

  -- ns since a time, which by itself may be beyond 2^53 ns.
  local function elapsed(clock, seconds, ns)
    clock_gettime(MONOTONIC, clock)
    return (peek(clock, "i8") - seconds) * 1000000000 + peek(clock + 8, "i8") - ns
  end

  -- One call for each number of arguments: a call with a list of arguments costs more than all
  -- else here, and a last argument that is itself a call would be a list.
  local function call(slot, n)
    local a, b, c = peek(slot + 8, "i8"), peek(slot + 16, "i8"), (peek(slot + 24, "i8"))
    local d = peek(slot + 32, "i8")
    if n == 4 then return handle(a, b, c, d) end
    local e = peek(slot + 40, "i8")
    if n == 5 then return handle(a, b, c, d, e) end
    local f = peek(slot + 48, "i8")
    if n == 6 then return handle(a, b, c, d, e, f) end
    local g = peek(slot + 56, "i8")
    if n == 7 then return handle(a, b, c, d, e, f, g) end
    local h = peek(slot + 64, "i8")
    return handle(a, b, c, d, e, f, g, h)
  end

  function run(ring, eventfd, turn, check, always)
    if ring == 0 then return eventfd > 0 and buffer(eventfd) or 0 end
    -- floor(), remainders and "u4" tell the compiler that a value is an integer, and how long it
    -- is: it does not check sums and products of these each time.
    ring, check = floor(ring) % ADDRESSES, floor(check)
    local slots = ring + SLOTS
    local done = floor((peek(ring + DONE, "i8")))
    local mark = done + 1                 -- next check of the clock
    local clock = ring + CLOCK
    clock_gettime(MONOTONIC, clock)
    local seconds, ns = peek(clock, "i8"), peek(clock + 8, "i8")
    -- As last read: WANT has changed only if NEWS has changed; tail may have changed.
    -- done == want: the thread that waits for a completion waits for this one.
    local news, want = peek(ring + NEWS, "u4"), floor((peek(ring + WANT, "i8"))) + 1
    local tail = floor((peek(ring, "i8")))
    always = always == 1
    while true do
      if done < tail then
        local slot = slots + done % ENTRIES * SLOT
        local n, result = (peek(slot, "u4"))
        if n > 1 then
          if n == 3 then
            result = handle(peek(slot + 8, "i8"), peek(slot + 16, "i8"), (peek(slot + 24, "i8")))
          elseif n == 2 then
            result = handle(peek(slot + 8, "i8"), (peek(slot + 16, "i8")))
          else
            result = call(slot, n)
          end
        elseif n == 1 then
          result = handle((peek(slot + 8, "i8")))
        else
          result = handle()
        end
        -- As in syscript_call(3); the slot's result is already 0.
        if result then
          if result == true then result = 1 end
          poke(slot + RESULT, "i8", result)
        end
        done = done + 1
        poke(ring + DONE, "i8", done)
        local now = peek(ring + NEWS, "u4")
        if now ~= news then
          news, want = now, floor((peek(ring + WANT, "i8"))) + 1
          tail = floor((peek(ring, "i8")))
        end
        if want == done or always then write(eventfd, ring + ONE, 8) end
        if done == mark then
          mark = done + check
          if elapsed(clock, seconds, ns) >= turn or pending() then return 0 end
        end
      else
        tail = floor((peek(ring, "i8")))
        if tail < 0 then return 1 end
        if tail == done then
          poke(ring + ASLEEP, "i8", 1)
          local err = futex(ring, WAIT, done % 4294967296, 0)
          poke(ring + ASLEEP, "i8", 0)
          if err < 0 and err ~= EAGAIN then return err end
          if elapsed(clock, seconds, ns) >= turn then return 0 end
        end
      end
    end
  end
end
