# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Tables, results and batches in code compiled for the confined engine: what is done by a call in
Lua, but has a short way there."""

from __future__ import annotations

import errno

import pytest
from test_lua_compiler import STRESS, both, mcode

# Loops over next(): those that pairs() begins, and others that only look like these.
LOOPS = """
local function all(f, t, first)
  local seen = {}
  for k, v in f, t, first do seen[#seen + 1] = tostring(k) .. "=" .. tostring(v) end
  return table.concat(seen, " ")
end
local function clear(t)
  local n = 0
  for k in pairs(t) do
    t[k] = nil
    collectgarbage()
    n = n + 1
  end
  return n, next(t)
end
local function three(t) for k, v, w in pairs(t) do print(k, v, w) end end
local function change(t) for k, v in pairs(t) do t[k] = v + 1 end end
function run()
  local t = { 10, nil, 30, nil, 50, x = 1, [2.5] = 2, [true] = 3, [-1] = 4, [2 ^ 40] = 5 }
  print(all(next, t)) print(all(next, t, 3)) print(all(next, t, "x")) print(all(next, t, true))
  print(all(next, {})) print(all(next, { nil, nil }))
  change(t)
  print(all(next, t))
  local keys = {}
  for i = 1, 50 do keys["key" .. i], keys[i + 0.5], keys[i] = i, i, i end
  print(clear(keys)) print(clear(t))
  three { 5, y = 6 }
  print(pcall(all, next, {}, "missing")) print(pcall(all, next, { 1 }, 7))
  print(pcall(all, next, 5)) print(pcall(all, 5, {})) print(pcall(all, nil, {}))
  print(all(function(s, k) if k < s then return k + 1, "v" end end, 3, 0))
  print(all(setmetatable({}, { __call = function(_, t, k) return next(t, k) end }), { z = 1 }))
end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_loops_over_next(stress: str) -> None:
    done = both(stress + LOOPS)
    assert done.returncode == 0, done.stderr
    assert "invalid key to 'next'" in done.stdout and "\n150\tnil\n" in done.stdout


# Keys that the compiler knows to be strings, and integers, in tables that lack them.
ABSENT = """
local plain, empty = { one = 1, [1] = "first" }, {}
local meta = setmetatable({ one = 1, 7 }, { __index = function(_, k) return "no " .. k end })
local function text(t, k) local key = string.lower(k) local v = t[key] return v, v == nil end
local function number(t, k) local v = t[k + 1] return v, v == nil end
local function same(t) t = t[string.lower("GONE")] return t end
function run()
  for _, t in ipairs { plain, empty, meta } do
    print(text(t, "ONE")) print(text(t, "TWO")) print(number(t, 0)) print(number(t, 2 ^ 20))
    print(same(t))
  end
  print(pcall(text, 5, "A")) print(pcall(text, nil, "A")) print(text("x", "LEN") ~= nil)
end
"""


def test_absent_elements() -> None:
    done = both(ABSENT)
    assert done.returncode == 0 and "nil\ttrue\n" in done.stdout and "no two\tfalse" in done.stdout


def test_absent_elements_of_known_tables() -> None:
    """Functions with such look-ups are compiled."""
    look_up = " n = n + (t[string.lower(s)] or 1)"
    text = (
        "local t = { one = 5 } local function sum(s) local n = 0%s return n end"
        " function run() print(sum('ONE'), sum('TWO')) end"
    )
    assert mcode(text % (look_up * 9), True) > mcode(text % look_up, True) + 500
    assert both(text % (look_up * 9)).stdout == "45\t9\n"


# Elements that are nil in arrays, with metatables and without.
NEW = """
local function set(t, i, v) t[i] = v return rawget(t, i) end
local function first(t, v) t[1] = v return rawget(t, 1) end
local function fill(n) local t = {} for i = 1, n do t[i] = { i } end return #t, t[n][1] end
local logged = {}
local function log(t, k, v) logged[#logged + 1] = k .. ":" .. tostring(v) end
function run()
  for _, meta in ipairs { {}, { __newindex = log }, { __index = log } } do
    local t = setmetatable({ 1, 2, 3, 4 }, meta)
    rawset(t, 1, nil) rawset(t, 3, nil)
    print(set(t, 3, "new"), first(t, "new"), set(t, 2, "other"), set(t, 9, 9), set(t, 4, nil))
  end
  local t = { 1, 2, 3, 4 }
  t[3] = nil
  print(set(t, 3, "new"), set(t, 3, nil), set(t, 3, { 1 })[1], fill(100))
  print(table.concat(logged, " "))
end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_new_elements(stress: str) -> None:
    done = both(stress + NEW)
    assert done.returncode == 0 and "3:new 1:new 9:9" in done.stdout


# Fields of tables that the same function made: with room for them or without, collisions, and
# metatables that are asked, or whose absent fields were remembered.
FIELDS = """
local function show(t)
  local seen = {}
  for k, v in pairs(t) do seen[#seen + 1] = tostring(k) .. "=" .. (t == v and "self" or type(v)) end
  print(table.concat(seen, " "))
end
local function two(x, y) local t = { a = x, b = y } return t end
local function many(x)
  return { a = x, b = 2, c = x, d = "d", e = { x }, f = false, g = two, h = x, i = nil, j = {} }
end
local function more(x)
  local t = { a = x }
  t.b = x t.c = x t.d = x t.a = nil t.e = x t.f = x
  t.g = {} t.g.h = t t.a = "again" t.b = nil t.i = x
  return t
end
local function freed(x)
  local t = { a = x, b = x }
  t.a = nil t.b = nil t.c = x t.d = x t.a = x
  return t
end
local log = {}
local function asked(x)
  local t = { a = x }
  setmetatable(t, { __newindex = function(t, k, v) log[#log + 1] = k rawset(t, k, v) end })
  t.a = 5 t.b = 6 t.a = nil t.a = 7 t.b = 8
  return t
end
local function late()
  local mt = {}
  local t = setmetatable({}, mt)
  local absent, same = t.x, t == {}
  mt.__index = function(_, k) return k .. "!" end
  mt.__call = function(_, n) return n + 1 end
  return absent, same, t.x, t(4)
end
local function old(x)
  local t = { a = x, b = 1 }
  for _ = 1, 3 do collectgarbage() collectgarbage("step", 1) end
  t.a = { x .. "new" } t.b = x .. "text" t.c = { x }
  for _ = 1, 50 do local _ = { x } end
  collectgarbage()
  return t.a[1] .. t.b .. t.c[1]
end
local function counted(x)
  local t = { n = 0 }
  t.n = t.n + x t.s = t.n .. "s" t[1] = 3 t.m = #t
  return t
end
local kept = {}
function run()
  for i = 1, 20 do kept[i] = { x = i, y = { i }, z = "z" .. i } end
  show(two(1, 2)) show(two(nil, "x")) show(many(7)) show(more("x")) show(freed(3)) show(asked(1))
  show(counted(4)) print(table.concat(log, " ")) print(late()) print(old("x"))
  for i = 1, 20 do print(kept[i].x, kept[i].y[1], kept[i].z) end
end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_fields_of_new_tables(stress: str) -> None:
    done = both(stress + FIELDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nb a\nnil\tfalse\tx!\t5\nxnewxtextx\n" in done.stdout


# Small functions, which are inlined, with keys of any kind in tables of any kind.
KEYS = """
local counts, plain = {}, {}
local names = { "alpha", "beta", "gamma", 1, 2.5, true, "alpha", 1, -3, "delta" }
local function add(t, name, n) t[name] = (t[name] or 0) + n end
local function count(name) counts[name] = (counts[name] or 0) + 1 end
local function put(t, k, v) t[k] = v end
local function get(t, k) return t[k] end
local function named(k)
  put(plain, k .. "!", { k }) add(plain, k .. "?", 1)
  return get(plain, k .. "!")[1]
end
local function missing(t, i) return add(t, names[i], 1) end
local band, bor = bit.band, bit.bor
local function flag(t, k, n) local x = band(t.bits or 3, 7) t[k] = bor(x, n, 16) end
local function flags(n)
  local pad, more = n, plain
  plain.bits = n
  flag(plain, "flag", n)
  return plain.flag, pad, more == plain
end
local log = {}
local asked = setmetatable({}, { __index = function(_, k) return 100 end,
  __newindex = function(t, k, v) log[#log + 1] = tostring(k) rawset(t, k, v) end })
local function shown(t)
  local seen = {}
  for k, v in pairs(t) do
    if type(v) == "table" then v = "{" .. v[1] .. "}" end
    seen[#seen + 1] = tostring(k) .. "=" .. tostring(v)
  end
  return table.concat(seen, " ")
end
function run()
  for i = 1, 40 do
    local name = names[i % #names + 1]
    count(name) add(counts, name, i) add(asked, name, i)
    put(plain, name, { i }) put(plain, "k" .. i % 7, i)
    put(asked, "k" .. i % 5, i % 2 == 0 and i or nil)
    if i % 10 == 0 then collectgarbage() end
    print(i, get(plain, name)[1], get(counts, name), get(asked, name), get(plain, "none"))
    print(named("n" .. i % 6))
  end
  print(shown(counts)) print(shown(plain)) print(shown(asked)) print(table.concat(log, " "))
  print(flags(1)) print(flags(1.5)) print(flags("9")) print(flags(-1)) print(flags(2e15))
  print(flags(9e15))
  print(pcall(flags, "x")) print(pcall(flags))
  plain.alpha = {}
  for i = 1, 3 do print(pcall(missing, nil, i)) print(pcall(missing, plain, i)) end
  print(pcall(add, counts, nil, 1)) print(pcall(put, counts, 0 / 0, 1))
  print(pcall(put, "text", "key", 1))
  print(get("text", "len") == string.len, pcall(get, 5, "x"))
end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_keys_in_small_functions(stress: str) -> None:
    done = both(stress + KEYS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " alpha=284 " in done.stdout and "\nbeta k1 gamma k2 1 k3 2.5 " in done.stdout


# Keys of each length that differ in one character, which are made twice, cleared, and made again.
TEXTS = """
local base = ("abcdefghijklmnop"):rep(3)
local sums = {}
local function add(n, i, by)
  local key = base:sub(1, i - 1) .. string.upper("x") .. base:sub(i + 1, n)
  sums[key] = (sums[key] or 0) + by
end
local function all(by)
  for n = 1, 40 do
    for i = 1, n do add(n, i, by) end
  end
end
local function sum()
  local keys, total = 0, 0
  for key, value in pairs(sums) do keys, total = keys + 1, total + value end
  return keys, total
end
function run()
  all(1) print(sum()) all(2) print(sum())
  for key in pairs(sums) do sums[key] = nil end
  print(sum(), sums.Xb)
  collectgarbage()
  all(5) print(sum())
end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_keys_of_any_length(stress: str) -> None:
    assert both(stress + TEXTS).stdout == "820\t820\n820\t2460\n0\tnil\n820\t4100\n"


# Small functions, which are inlined, with keys that may be strings and may be absent.
MAYBE = """
local fields = { a = 1, b = 2, c = 3, [true] = "yes", [false] = "no", [2.5] = "half" }
local function get(t, k) return t[k] end
local function put(t, k, v) t[k] = v end
local function found(text)
  local word = string.match(text, "%a+")
  local before, t, after = text, fields, "after"
  local value = get(t, word)
  return word, value, before, t == fields, after
end
local function other(n)
  local k, j
  if n == 1 then k = "b" else k = n > 2 end
  if n == 1 then j = 2.5 else j = "a" end
  return get(fields, k), get(fields, j), k, j
end
local function set(n)
  local k
  if n % 2 == 0 then k = "c" end
  local before, after = n, n + 1
  put(fields, k, n)
  return before, after, k
end
function run()
  print(found("b 1")) print(found("12")) print(found("c"))
  for n = 1, 4 do
    print(other(n)) print(pcall(set, n)) print(fields.a, fields.b, fields.c)
  end
end
"""


def test_keys_that_may_be_nil() -> None:
    done = both(MAYBE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nnil\tnil\t12\ttrue\tafter\n" in done.stdout
    assert "\nfalse\tstdin:4: table index is nil\n" in done.stdout


# Inlined functions whose frames are made late, where an earlier call left pointers to tables that
# are freed since. The collector must not take these for pointers to the tables that are there now.
LEFT = """
local weak, none, kept, at = setmetatable({}, { __mode = "v" }), {}, {}, 0
local function leave()
  local a, b, c, d, e, f, g, h, i, j = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}
  return a, b, c, d, e, f, g, h, i, j
end
local asked = setmetatable({}, { __index = function(_, k) collectgarbage() return k end })
local function tested(t, k, n)
  local z = n
  local c, d, e = 7, 8, 9
  local sum = z + c + d + e
  if sum < 3 then return 0 end
  return t[k]
end
local function tested_too(t, k, n)
  local z = n
  local c, d, e = 7, 8, 9
  local sum = z + c + d + e
  if sum > 3 then return t[k] end
  return 0
end
local function chained(t, k, n)
  local z = n
  z = (n * 31 + 5) % 4294967296
  return t[k]
end
local function first(n)
  repeat at = at + 1 kept[at] = {} weak[at] = kept[at] until at == 30
  kept = none
  return (tested(asked, "y", n))
end
local function second(n)
  repeat at = at + 1 kept[at] = {} weak[at] = kept[at] until at == 30
  kept = none
  return (tested_too(asked, "y", n))
end
local function third(n)
  repeat at = at + 1 kept[at] = {} weak[at] = kept[at] until at == 30
  kept = none
  return (chained(asked, 5, n))
end
local function deep(n, f)
  if n == 0 then leave() local r = f(1) return r end
  local r = deep(n - 1, f)
  return r
end
function run()
  for _, f in ipairs { first, second, third } do
    at, kept = 0, {}
    collectgarbage()
    print(deep(20, f), next(weak))
  end
end
"""


def test_missing_arguments_of_inlined_functions() -> None:
    """They are nil, also where nil is assigned to them, whatever an earlier call left there."""
    text = """
    local function assigned(a, b, c) local d = b c = d return c == nil end
    local function given(a, b) b = a return b end
    local function turned(a, b, c) b = c c = b return b, c end
    local function leave(a, b, c, d, e) return { a, b, c, d, e }, b, c, d, e end
    function run()
      for i = 1, 3 do
        local _, _, _, _, _ = leave(i, "x", 2, "y", 4)
        do local a = assigned() print(a, i) end
        do local a = assigned(i, nil) print(a, i) end
        do local a, b = turned(i) print(a, b) end
        do local a, b = turned() print(a, b) end
        do local a = given() print(a) end
      end
    end
    """
    done = both(text)
    assert done.stdout == "".join(
        f"true\t{i}\n" * 2 + "nil\tnil\n" * 2 + "nil\n" for i in (1, 2, 3)
    )


def test_registers_left_by_calls() -> None:
    done = both(STRESS + LEFT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "y\tnil\ny\tnil\n5\tnil\n"


def test_results() -> None:
    """Functions that return some results, to callers that want fewer, more, or all."""
    text = ""
    for n in range(9):
        values = ", ".join(f"a + {i}" for i in range(n))
        text += f"""
        local function f{n}(a) local b = {{ a }} return {values} end
        local function fewer{n}() local a, b, c, d = f{n}(1) return a, b, c, d end
        local function more{n}() local a, b, c, d, e, f, g, h, i, j = f{n}(2) return i, j, h end
        local function show{n}()
          print(fewer{n}()) print(more{n}()) print(f{n}(3)) print((f{n}(4))) f{n}(5)
        end
        """
    text += "function run() " + " ".join(f"show{n}()" for n in range(9)) + " end"
    assert both(text).returncode == 0


# Joined in a buffer of 2 KiB, in one for the string, and by Lua.
JOINED = """
local function join(n, s, by) local t = {} for i = 1, n do t[i] = s .. i end
  return table.concat(t, by), table.concat(t, by, 2), table.concat(t, by, 2, n - 1) end
local function sum(s) local h = 0 for i = 1, #s do h = (h * 31 + s:byte(i)) % 65521 end return h end
function run()
  for _, n in ipairs { 2, 3, 100, 250, 300, 3000, 9000 } do
    for _, by in ipairs { "", ", ", (";"):rep(7) } do
      local a, b, c = join(n, "name.", by)
      print(n, #by, #a, sum(a), #b, sum(b), #c, sum(c))
    end
  end
  print(#table.concat({ "a", "b", "c" }, ("-"):rep(5000)))
  print(pcall(table.concat, { ("x"):rep(3000), {} }))
end
"""


def test_long_strings_are_joined() -> None:
    done = both(JOINED, "--time-limit", "5s", "--memory-limit", "8M")
    assert done.returncode == 0 and "10003" in done.stdout


BATCHES = """
local AF_UNIX, SOCK_DGRAM = const.AF_UNIX, const.SOCK_DGRAM
local fds = util.buffer(8)
assert(syscall.socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) == 0)
local a, b = util.peek(fds), util.peek(fds + 4)
local iovec, mmsghdr = util.types.iovec, util.types.mmsghdr
local function messages(n)
  local bufs, msgs, data = iovec.new(n), mmsghdr.new(n), {}
  for i = 1, n do
    data[i] = util.buffer(16)
    bufs[i].iov_base, bufs[i].iov_len = data[i], 16
    msgs[i].msg_hdr.msg_iov, msgs[i].msg_hdr.msg_iovlen = bufs[i][0], 1
  end
  return msgs[1][0], data
end
local out, texts = messages(4)
local in_, data = messages(4)
local inbox, small = net.messages(in_, 4), net.messages(in_, 2)
local DONTWAIT = const.MSG_DONTWAIT
local recv, send = net.recv, net.send
local function put() local sent = send(a, out, 4, 0) return sent end
local function take(n) local got = recv(b, inbox, n, DONTWAIT) return got end
local function both(n) local got, more = recv(b, inbox, n, DONTWAIT) return got, more end
local function any(...) return recv(...) end
local function back(n, to) local sent = send(a, out, n, 0, to) return sent end
function run()
  for i = 1, 4 do util.str_out("text " .. i .. "          ", texts[i]) end
  print(put()) print(take(3)) print(util.str_in(data[1], 6), util.str_in(data[3], 6))
  print(take(4)) print(util.str_in(data[1], 6)) print(take(4)) print(both(4))
  print(put(), put()) print(take(0)) print(take(-1)) print(any(b, small)) print(any(b, small, 1))
  print((any(b, inbox, 4, DONTWAIT)))
  for _, n in ipairs { -2, 5, 1.5, 2 ^ 32 + 1, "2", "x", {} } do print(pcall(take, n)) end
  for _, fd in ipairs { -1, 2 ^ 31, 2 ^ 32 + b, 1.5, "x" } do
    print(pcall(recv, fd, inbox, 1, DONTWAIT)) print(pcall(send, fd, out, 1, 0))
  end
  print(pcall(recv, b, out, 1, DONTWAIT)) print(pcall(recv, b, nil, 1, DONTWAIT))
  print(pcall(recv, b, inbox, 1, 2 ^ 40)) print(pcall(recv, b, inbox, 1, "x"))
  print(send(a, 16, 1, 0), send(a, out, 0, 0), send(a, out, 1, 2 ^ 40))
  print(pcall(send, a, out, 65, 0)) print(pcall(send, a, out, -1, 0)) print(pcall(send))
  print(send(a, out, 1, 0, inbox), send(a, out, 1))
  print(back(2, inbox), back(1, small), back(1), pcall(back, 3, small), pcall(back, 5, inbox))
  print(pcall(back, -1, inbox), pcall(back, 1, out), pcall(back, 1, "x"), pcall(back, "1", inbox))
end
"""


def test_batches_of_messages() -> None:
    done = both(BATCHES)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[:4] == ["4", "3", "text 1\ttext 3", "1"]
    assert lines[5:7] == [str(-errno.EAGAIN), f"{-errno.EAGAIN}\tnil"]


SCALARS = """
local peek, room = util.peek, util.buffer(16)
for i = 0, 15 do util.poke(room + i, "u1", (i * 37 + 200) % 256) end
local kinds = { "i1", "u1", "i2", "u2", "b2", "i4", "u4", "b4", "i8", "u8", "b8" }
local others = { "b1", "u3", "x2", "i", "i44", "", 4, false }
local function get(at, kind) local v, more = peek(at, kind) return v, more end
local function tail(at, kind) return peek(at, kind) end
local function show(at, kind)
  local ok, a, b = pcall(get, at, kind)
  local _, c, d = pcall(tail, at, kind)
  local last = select("#", tail(room, "u1"), tail(room, "i8"))
  print(kind, ok, tostring(a), b, tostring(c), d, last)
end
function run()
  for i = 1, #kinds do show(room, kinds[i]) show(room + 7, kinds[i]) end
  for i = 1, #others do show(room, others[i]) end
  show(room) show(16, "u1") show(-1, "u1") show(0.5, "u1") show(2 ^ 60, "u1") show("x", "u1")
  for _, v in ipairs { 7, -3, -2 ^ 51 } do
    util.poke(room, "i8", v) show(room, "u8") show(room, "b8") show(room, "i8")
  end
  show(math.floor(room / 2 ^ 21) * 2 ^ 21 + 2 ^ 21 - 4, "u8")
  print(pcall(peek), pcall(peek, room, "i4", 1))
end
"""


def test_scalars_of_any_kind() -> None:
    done = both(SCALARS)
    assert done.returncode == 0, done.stderr
    assert "u2\ttrue\t60872\tnil\t60872\tnil\t2\n" in done.stdout


def test_handlers_of_tables_made_later() -> None:
    """They are compiled even if most functions in fields are left out, for lack of room."""
    large = "".join(
        f" t.f{i} = function(a, b)" + " a = b[a] b = a[b]" * 60 + " end" for i in range(60)
    )
    text = (
        "local mt, t = {}, {}"
        + large
        + " function mt.%s(t, k) for i = 1, k do k = k + i - i end return k end"
        " function run() print(setmetatable({}, mt)[7], t) end"
    )
    assert (
        mcode(text % "__index", True)
        > mcode(text % "__other", True)
        > mcode(text % "__other", False)
    )
    assert both(text.replace("[7], t", "[7]") % "__index").stdout == "7\n"


# Chains of sums and products, in which any operand may be unfit, that end in addresses and values.
SUMS = """
local peek, room = util.peek, util.buffer(64)
for i = 0, 63 do util.poke(room + i, "u1", i) end
local object = setmetatable({}, {
  __add = function() return 5 end, __sub = function() return 7 end, __mul = function() return 9 end,
})
local function at(p, i) return (peek(p + (i - 1) * 4 - 2 + 2, "u1")) end
local function back(p, n) local v = peek(p + n - 2, "u1") return v end
local function big(p) local a = peek(p, "u4") local b = a * a * 3 - a + 1
  return b, a * 2 - a * 3, a * 1048576 + a * 3 - 1, a * -1 * 0 + 0 end
local function sum(a, b) local n = #b local s = n + 1 s = s - a s = s + n s = s * 3 return s, n end
local function self(n) n = n + n n = n - 1 n = 2 * n n = n + 1 return n end
local function two(t, n) local k = #t * 2 + 1 - n * 0 k = k + k return k end
local function count(n)
  local s = 0
  for i = 1, n do s = s + i - 1 + #"abc" s = s * 2 % 1000003 end
  return s
end
local values = { 0, 1, 3, -1, 2 ^ 31, 2 ^ 51 - 1, -2 ^ 51, 2 ^ 52, 0.5, "2", "x", object, false }
function run()
  for _, v in ipairs(values) do
    local name = v == object and "object" or tostring(v)
    print(name, pcall(sum, v, "text")) print(name, pcall(self, v)) print(name, pcall(two, "ab", v))
    local ok, found = pcall(at, room, v)
    print(name, ok, ok and found) ok, found = pcall(back, room, v) print(name, ok, ok and found)
    for i = -5, 9 do print(name, pcall(at, v == object and {} or v, i)) end
    if v == 3 or type(v) ~= "number" then print(name, pcall(count, v)) end
  end
  for _, v in ipairs { 0, 1, 255, 65535, 2 ^ 20, 2 ^ 26, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32 - 1 } do
    util.poke(room, "u4", v)
    print(v, big(room))
  end
  util.poke(room, "u4", 0x3020100)
  print(at(room, 5), back(room, 40), sum(1, "four"), count(50))
end
"""


def test_sums() -> None:
    done = both(SUMS, "--time-limit", "5s")
    assert done.returncode == 0 and done.stdout.endswith("16\t38\t24\t224185\n"), done.stdout[-200:]
