# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Types that the compiler of Lua infers hold, also where a value is not the usual one."""

from __future__ import annotations

import pytest
from test_lua_compiler import STRESS, both, mcode

VALUES = """
local buf = util.buffer(64)
util.str_out("-12:name 9007199254740993 99999999999999999999999\\255", buf)
util.poke(buf + 56, "i8", -1)
local big = util.peek(buf, "u8")
local meta = {}
for _, name in ipairs { "add", "sub", "mul", "mod", "unm", "concat" } do
  meta["__" .. name] = function(a, b) return name .. type(a) .. type(b) end
end
meta.__lt = function(a, b) return "less" end
meta.__le = meta.__lt
meta.__eq = function() return true end
meta.__index = function(t, k) return k end
local object, other = setmetatable({}, meta), setmetatable({}, meta)
local values = { 0, -#"", 1, 2, 3, 9, 26, 0.5, 2^51, -2^51, 2^53, 1e300, 0/0, -1, "", "1", "2.0",
  "x", "0x3", true, false, print, object, other, {}, coroutine.create(print), big }
local n = 27
assert(values[n] == big)
local find, number, str_in, str_out = util.find, util.number, util.str_in, util.str_out
local peek, poke, byte, sub, match = util.peek, util.poke, string.byte, string.sub, string.match
-- An address in the buffer, in other forms, too; or the value itself.
local function place(v)
  if v == "1" then return ("%d"):format(buf) end
  return type(v) == "number" and v >= 0 and v < 48 and buf + v or v
end
local function show(...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    local s = type(v) == "number" and ("%.17g"):format(v) or tostring(v)
    s = s:gsub("0x%x+", "address"):gsub("%d%.%d+e%+1[45]", "address")
    s = s:gsub("%d%d%d%d%d%d%d%d%d+", function(digits)
      return math.abs(tonumber(digits) - buf) < 2^32 and "address" or nil
    end)
    if v == 0 and 1 / v < 0 then s = "-0" end
    print(i, type(v), s)
  end
end
"""

# Functions of one or two values, any of which a script may pass.
WORK = {
    "peek": "a = place(a) return peek(a), peek(a + 1, 'u1') + 1, a",
    "peek at a sum": "local at = place(a) + b return peek(at + 1, 'i1'), at",
    "kinds": "a = place(a) return peek(a, 'u8'), peek(a, 'i8'), peek(a, 'b4') * 2, peek(a, 'b2')"
    " - peek(a, 'i2')",
    "a large scalar": "local v = peek(buf + 24, 'i8') return v, v + a",
    "a scalar": "local v = peek(buf + 56, 'i8') return v + a, v < a",
    "poke": "a = place(a) poke(a, 'u1', b) return peek(a, 'u1') - b",
    # Not behind the buffer, where addresses of this run are.
    "find": "if (tonumber(a) or 0) > 64 then return a end local at = find(buf, a, b) return at,"
    " at + 1, at == 3",
    "find or not": "local at = find(buf, a, ':') if at then return at * 2 end return at, a",
    "find one of few": "if (tonumber(a) or 0) > 64 then return a end return find(buf, a, '1'),"
    " find(buf, a, 58), find(buf, a, ':2'), find(buf, a, 'e9:'), find(buf, a, ''), find(buf, a,"
    " 'x9:e')",
    "find in an object": "local at = find(buf, 3, b) return pcall(function() return at + a end)",
    "number": "local v, len = number(buf + 3, a) return v, len, len + 1, v + 1",
    "a negative number": "local v, len = number(buf, a) return v, len, a",
    "number with an end": "a = place(a) local v, len = number(a, b) return v and len - b, v, len,"
    " a",
    "digits": "str_out('-012345678901234567', buf + 28) return number(buf + 28, a), number(buf +"
    " 29, b)",
    "a parameter": "local v = peek(a, 'u1') return v, a + 1, a * 2, a < b, a",
    "a length as parameter": "local v = str_in(buf, b) return v, b + 1, b",
    "a parameter in a sum": "local v = peek(a + buf, 'u1') return v, a - 1, a",
    "a long sum": "local v = str_in(buf, a + b - 1) return #v, find(buf, b - a + 8, ':'), a + b",
    "large number": "local v, len = number(buf + 9, 16) return v, len, v == a, v + a",
    "larger number": "local v, len = number(buf + 26, 20) return v, len, v == a, v + a",
    "str_in": "local s = str_in(buf, a) return s, #s, s .. a, s == b, s + a",
    "str_out": "local len = str_out(a, buf + 50) return len + 1, len < b",
    "byte": "local c = byte('name', a) return c, c == 97, c + 1",
    "sub": "local s = sub('name', a, b) return s, s == 'n', s + a",
    "sub of a sum": "return sub('name', a + 1, a + b)",
    "match": "local s = match(a, '%d') return s, s == '1', s .. 'x', s + 1",
    "positions": "local at, text, stop = match(a, '()(%d)()') return at, text, stop, stop - at,"
    " text + 1",
    "only positions": "local x, y, z = match(a, '()%d()') local w = match(a, '()%d+()()', 1) return"
    " x, y, z, w, w == x, select('#', match(a, '()x'))",
    "a frontier": "local at, text = match(a, '%f[%d]()(%d)') return at, text, at + 1",
    "more than captures": "local x, y, z = match(a, '(.)') return x, y, z, y == nil, z",
    "find text": "local from, to = string.find(a, '%d') return from, to, to - from, from + 1",
    "find plainly": "local from, to, more = string.find(a, '1', 1, true) return from, to, more,"
    " to + b",
    "gsub": "local s, n = string.gsub(a, '%d', b) return s, n, n + 1, s + 1",
    "tonumber": "local v = tonumber(a) return v, v + 1, v < 3, v == 1",
    "key": "local t = { n = 5, name = 6 } local k = sub('name', 1, a) t[k] = (t[k] or b) return"
    " k, t[k], t.name",
    "key of any": "local k = sub('name', 1, 2) return a[k], pcall(function() a[k] = b end)",
    "a number or none": "local v = tonumber(a) if v then return v < 3, v + 1, -v end return v",
    "large numbers": "str_out('-6007199254740993-7007199254740993', buf + 28) local v, w ="
    " number(buf + 28, 17), number(buf + 45, 17) if v and w then return v < w, v, w end",
    "a position as a key": "local t, at = { 5, 6, 7 }, match(a, '()%d') if at then return t[at], at"
    " + 1 end return at",
    "the length of a position": "local at = match(a, '()%d') if at then return #at end return at",
    "a length": "local len = str_out('0123456789', buf + 32) return len * 281474976710656, len * 2",
    "any key": "local t = { 5, 6, n = 7, x = 8 } local v = t[a] t[a] = b return v, t[a], t.x, t[1]",
    "a text or none as a key": "local t, k = { x = 8 }, match(a, '%a') return t[k], k",
    "arithmetic": "return a + b, a - 1, -a, a",
    "arithmetic of a nil": "local v = find(buf, 3, 255) return pcall(function() return v end), v"
    " + a",
    "a product": "return a * b, b % 7, 3 * a",
    "a sum then": "local v = a + 1 return v == 2, v, -v, v .. '!', v + v",
    "if it is": "if a then return a, not a, a == b end return a, b",
    "or": "local v = a or b return v, v == b, v and 1",
    "and": "local v = a and b return v, v == b, v or 1",
    "equals": "if a == 2 then return a + 1, a == b end if a ~= 'x' then return a, b end return a"
    " .. a",
    "equals nil": "local x if b ~= 0 then x = a end if x ~= nil then return x end return x, a",
    "equals 0": "if a == 0 then return a, 1 / a, a + 0, a < 0, a <= -1 end return 0",
    "if it is not": "if a then return 1 end local t, x = { a }, a return x, t[1], a == false, a =="
    " nil, not a",
    "less": "local less = a < 3 return less, a + 1, a",
    "less than it": "local less = 3 <= a return less, a * 2, a",
    "less than that": "if a < b then return a, b, a + 1 end return b + 1",
    "less twice": "local x = a > 0 and a or 1 if x < 10 then return x + 1, x end return x",
    "chains": "local h, x = 0, 3 a = bit.tobit(a % 2^32) for i = 1, 4 do"
    " h = (a * 281474976710597) % 2890831365407 x = (h * h) % 0.5 end return h, x, a",
    "chains and zeros": "local h, x = 0, 13 a = a % 65521 for i = 1, 4 do"
    " a = (x * 37) % 5 h = -(h % 23) end return h, x, a",
    "in a loop": "local s = 0 for i = 1, 4 do s = s + byte('name', a) end return s, a",
    "elements in a loop": "local t, s = { a, b, 1, 2 }, 0 for i = 1, 4 do s = s + byte('name',"
    " t[i]) end return s",
    "sums in a loop": "local s = 0 for i = 1, 4 do s = s + byte('name', i + b) * 2 if a == i then"
    " s = s + a end end return s",
    "moves in a loop": "local s, x = 0, b for i = 1, 4 do local y = x s = s + byte('name', y) x ="
    " y + a end return s, x",
}


def program(what: str) -> str:
    return f"""{VALUES}
local function work(a, b)
  {WORK[what]}
end
function run()
  for i = 1, n + 1 do
    for j = 1, n + 1, i % 3 + 1 do
      print(i, j)
      show(pcall(work, values[i], values[j]))
    end
  end
end
"""


@pytest.mark.parametrize("what", WORK)
def test_any_values(what: str) -> None:
    done = both(program(what))
    assert done.returncode == 0 and len(done.stdout) > 1000, done.stderr


# Changes after which strings calculate.
STRINGS = """
local mt, sums = getmetatable(""), {}
for _, name in ipairs { "add", "sub", "mul", "mod", "unm" } do
  mt["__" .. name] = function(a, b)
    return setmetatable({ name .. " " .. tostring(a) .. " " .. tostring(b) }, sums)
  end
  sums["__" .. name] = mt["__" .. name]
end
sums.__tostring = function(t) return t[1] end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_strings_that_calculate(stress: str) -> None:
    text = f"""{STRINGS}
    local sub = string.sub
    local function work(s, n)
      local v = s + n
      local w = v + 1
      local x = sub(s, 1, 1) * 2
      return v, w, -s, s % 3, x, x == 4, x + 1, type(v), v == w
    end
    function run()
      for _, s in ipairs {{ "12", "x", "0.5", "" }} do
        for i = 1, 3 do
          for k, v in pairs {{ work(s, i) }} do print(k, tostring(v)) end
        end
      end
    end
    """
    done = both(stress + text)
    assert done.returncode == 0 and "add x 1" in done.stdout, done.stderr


def test_results_of_libraries_are_not_checked() -> None:
    text = """
    local find, peek, str_in = {0}
    local buf = util.buffer(16)
    function run(n)
      local at = find(buf, 16, "x")
      if at then return at + peek(buf + at, "u1") end
      local key = str_in(buf, n)
      return #key + peek(buf, "i4") + 1
    end
    """
    sure = text.replace("{0}", "util.find, util.peek, util.str_in")
    changes = sure + "function change(f) find, peek, str_in = f, f, f end"
    assert mcode(sure, True) + 200 < mcode(changes, True)


def test_addresses_as_parameters_are_checked_once() -> None:
    text = """
    local peek, find = util.peek, util.find
    local function work(at, n)
      if {0} then return nil end
      if peek(at + 1, "u1") == 1 or peek(at + 2, "u1") == 1 then return find(at + 3, n - 3, ":") end
      return peek(at, "u2") + n
    end
    function run(at, n) return work(at, n) end
    """
    # A parameter that is tested may be something else.
    tested = mcode(text.replace("{0}", "at == 0 or n == 0"), True)
    assert mcode(text.replace("{0}", "at + n == 0"), True) + 100 < tested


def test_unexpected_parameters_of_tail_calls() -> None:
    """The interpreter takes over a function at its beginning, where tail calls begin it."""
    text = """
    local peek, buf = util.peek, util.buffer(64)
    local function work(at, n, deep)
      local v = peek(at, "u1")
      if deep and deep > 0 then return work(at, n, deep - 1) end
      return v + n
    end
    local function by(at, n, deep) return work(at, n, deep) end
    local function vary(...) return work(...) end
    local values = { buf, tostring(buf), "x", 0.5, {}, false, 2^52, -1 }
    function run()
      for i = 1, 9 do
        local v = values[i]
        for _, f in ipairs { work, by, vary } do
          print(i, pcall(f, v, 1), pcall(f, v, 1, 5), pcall(f, v), pcall(f))
          local co = coroutine.wrap(function() coroutine.yield() return pcall(f, v, "2", 3) end)
          co()
          print(co())
          print(select("#", pcall(by, v, 1)), pcall(function() return by(v, 1, 2) end))
        end
      end
    end
    """
    done = both(text)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 81, done.stderr
