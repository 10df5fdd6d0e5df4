-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Runs a script on simulated system calls: each returns its result from the trace, or one of them
-- an injected error. verify.py appends the script itself and the examples.
--
-- An example has items and common, addresses of its records, and n, their number; poke() fills the
-- records in; calls, each with its name, arguments (a number, a string, or false if not compared),
-- names of constant arguments, result, and output memory; and the numbers that run() returns.

local NOT_MADE = -errno.ECANCELED
local calls        -- that are expected
local at           -- how many were made
local faulty, fault
local wrong        -- the first error found

local function text(value)
  return type(value) == "string" and ("%q"):format(value) or tostring(value)
end

local function complain(...)
  wrong = wrong or string.format(...)
end

local function same(want, got)
  if type(want) == "string" and type(got) == "number" then
    local ok, there = pcall(util.str_in, got, #want + 1)
    return ok and there == want .. "\0"
  end
  return want == got
end

local function compare(expected, ...)
  for i = 1, expected.n do
    local want, got = expected[i], (select(i, ...))
    if want and not same(want, got) then
      local name = expected.named and expected.named[i]
      complain("call %d, %s: argument %d is %s, not %s", at, expected.name, i, text(got),
        name and ("%s (%s)"):format(name, text(want)) or text(want))
    end
  end
end

local function answer(name, ...)
  at = at + 1
  if faulty and at > faulty then
    complain("%s after the failure of call %d", name, faulty)
    return 0
  end
  local expected = calls[at]
  if not expected or expected.name ~= name then
    complain("call %d is %s, not %s", at, name, expected and expected.name or "there")
    error(wrong)
  end
  compare(expected, ...)
  if at == faulty then return fault end
  return expected.fill and expected.fill(...) or expected.result
end

local syscall = setmetatable({}, {
  __index = function(_, name)
    return function(...) return answer(name, ...) end
  end,
})

-- -- Memory -------------------------------------------------------------------

local function str(value)
  local address = util.buffer(#value + 1)
  util.str_out(value, address)
  return address
end

-- Writes struct linux_dirent64 for each name; returns their size.
local function list(names)
  return function(_, buffer)
    local size = 0
    for _, name in ipairs(names) do
      local length = math.floor((19 + #name + 8) / 8) * 8
      util.fill(buffer + size, 0, length)
      util.poke(buffer + size + 16, "u2", length)
      util.str_out(name, buffer + size + 19)
      size = size + length
    end
    return size
  end
end

-- Memory for events, with the descriptors of struct pollfd if there are any.
local function pollfds(events, fds)
  local address = util.buffer(16 + 12 * events + 8 * #fds)
  for i, fd in ipairs(fds) do util.poke(address + 8 * (i - 1), "i4", fd) end
  return address
end

-- Writes struct epoll_event for each descriptor.
local function ready_epoll(fds, argument, result)
  return function(...)
    local events = select(argument, ...)
    for i, fd in ipairs(fds) do util.poke(events + 12 * (i - 1) + 4, "i4", fd) end
    return result
  end
end

-- Sets .revents in struct pollfd for these descriptors, which are put first.
local function ready_poll(fds, argument, result)
  return function(...)
    local events = select(argument, ...)
    for i = 0, select(argument + 1, ...) - 1 do
      util.poke(events + 8 * i, "i4", fds[i + 1] or 0)
      util.poke(events + 8 * i + 6, "u2", fds[i + 1] and 1 or 0)
    end
    return result
  end
end

-- -- Checks -------------------------------------------------------------------

local function returned(example, want, ...)
  local names = { "done", "step", "result" }
  for i, name in ipairs(names) do
    if select(i, ...) ~= want[i] then
      complain("%s is %s, not %s", name, text((select(i, ...))), text(want[i]))
    end
  end
end

local function begin(example, call, value)
  example.poke()
  calls, at, faulty, fault, wrong = example.calls, 0, call, value, nil
end

-- Does it make the calls of the trace? Returns the first difference.
local function follows(run, example)
  begin(example)
  local results = { pcall(run, example.items, example.n, example.common) }
  if not results[1] then
    complain("%s", tostring(results[2]))
  else
    returned(example, example.ends, unpack(results, 2))
    if at < #calls then complain("only %d calls of %d", at, #calls) end
  end
  return wrong
end

-- Checks the fields of the item that was ended: calls that were not made must be marked.
local function fields(example, failure)
  for place, want in pairs(failure.fields) do
    local address = example.items + example.size * failure.done + 8 * place
    local got = util.peek(address, "i8")
    if want == "not made" and got ~= NOT_MADE or want ~= "not made" and got ~= want then
      complain("field %d is %s, not %s", place, text(got), text(want))
    end
  end
end

-- Does it stop where a call fails? Returns the fault.
local function stops(run, example, failure)
  begin(example, failure.call, failure.value)
  local results = { pcall(run, example.items, example.n, example.common) }
  if not results[1] then
    complain("%s", tostring(results[2]))
  else
    returned(example, { failure.done, failure.step, failure.value }, unpack(results, 2))
    fields(example, failure)
  end
  return wrong and ("with %d from call %d, %s: %s"):format(failure.value, failure.call,
    example.calls[failure.call].name, wrong)
end

local function check(run, examples)
  for i, example in ipairs(examples) do
    local problem = follows(run, example)
    print(("example %d: %s"):format(i, problem or "same"))
    if not problem then
      for _, failure in ipairs(example.failures) do
        local trouble = stops(run, example, failure)
        if trouble then print(("failure in %d: %s"):format(i, trouble)) end
      end
    end
  end
end

