-- SPDX-License-Identifier: MIT
-- Serves a queue of requests (syscript_queue_open(3)): comes after the text of a script,
-- and calls its run() for each request.  lib/batch/queue.c submits them, and says why the
-- memory that both share needs no atomic operations here.
--
-- run(0, bytes) returns memory of the script for a ring, unless bytes is 0.
-- run(ring, eventfd, turn, check, always):
--   ring     where the requests are
--   eventfd  is written to when a request is done that somebody waits for
--   turn     return after so many ns
--   check    look at the clock after so many requests
--   always   1: write to eventfd after each request
--
-- Returns 0, or the -errno of a futex(2) that failed, to be called again; 1 at the end.

do
  -- struct ring of lib/batch/queue.c, and its struct slot
  local WANT, ONE, BEGUN, DONE, ASLEEP, CLOCK, SLOTS = 8, 16, 64, 72, 80, 96, 128
  local RESULT, SLOT, ENTRIES = 72, 80, 128
  local MONOTONIC, WAIT = const.CLOCK_MONOTONIC, const.FUTEX_WAIT + const.FUTEX_PRIVATE_FLAG
  local EAGAIN = -errno.EAGAIN

  local handle, peek, poke, buffer = run, util.peek, util.poke, util.buffer
  local futex, write, clock_gettime = syscall.futex, syscall.write, syscall.clock_gettime

  if type(handle) ~= "function" then error("the script defines no function run()", 0) end

  -- ns since then; a time by itself may be beyond 2^53.
  local function elapsed(clock, seconds, ns)
    clock_gettime(MONOTONIC, clock)
    return (peek(clock, "i8") - seconds) * 1000000000 + peek(clock + 8, "i8") - ns
  end

  -- By number: a call with a list of arguments costs more than the rest.
  local function call(slot, n)
    local a, b = peek(slot + 8, "i8"), peek(slot + 16, "i8")
    if n == 2 then return handle(a, b) end
    local c = peek(slot + 24, "i8")
    if n == 3 then return handle(a, b, c) end
    local d = peek(slot + 32, "i8")
    if n == 4 then return handle(a, b, c, d) end
    local e = peek(slot + 40, "i8")
    if n == 5 then return handle(a, b, c, d, e) end
    local f = peek(slot + 48, "i8")
    if n == 6 then return handle(a, b, c, d, e, f) end
    local g = peek(slot + 56, "i8")
    if n == 7 then return handle(a, b, c, d, e, f, g) end
    return handle(a, b, c, d, e, f, g, peek(slot + 64, "i8"))
  end

  function run(ring, eventfd, turn, check, always)
    if ring == 0 then return eventfd > 0 and buffer(eventfd) or 0 end
    local first = ring + SLOTS
    local last = first + SLOT * ENTRIES
    local done = peek(ring + DONE, "i8")
    local slot = first + done % ENTRIES * SLOT
    local clock, unchecked = ring + CLOCK, 0
    clock_gettime(MONOTONIC, clock)
    local seconds, ns = peek(clock, "i8"), peek(clock + 8, "i8")
    while true do
      local tail = peek(ring, "i8")
      if done < tail then
        poke(ring + BEGUN, "i8", done + 1)
        local n, result = peek(slot, "i8")
        if n == 0 then
          result = handle()
        elseif n == 1 then
          result = handle(peek(slot + 8, "i8"))
        else
          result = call(slot, n)
        end
        -- As run()'s results count in syscript_call(3).
        if not result then result = 0 elseif result == true then result = 1 end
        poke(slot + RESULT, "i8", result)
        done = done + 1
        poke(ring + DONE, "i8", done)
        if peek(ring + WANT, "i8") == done - 1 or always == 1 then
          write(eventfd, ring + ONE, 8)
        end
        slot = slot + SLOT
        if slot == last then slot = first end
        unchecked = unchecked + 1
        if unchecked == check then
          if elapsed(clock, seconds, ns) >= turn then return 0 end
          unchecked = 0
        end
      elseif tail < 0 then
        return 1
      else
        poke(ring + ASLEEP, "i8", 1)
        local err = futex(ring, WAIT, done % 4294967296, 0)
        poke(ring + ASLEEP, "i8", 0)
        if err < 0 and err ~= EAGAIN then return err end
        if elapsed(clock, seconds, ns) >= turn then return 0 end
      end
    end
  end
end
