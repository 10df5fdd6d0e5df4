# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Functions compiled for the confined engine behave as when interpreted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest
from confined.lua_programs import Program
from conftest import ROOT
from runner import CONFINED_CORPUS, CONFINED_LIMITS, confined_lua, here, outcome

RUN = [*confined_lua("user"), *CONFINED_LIMITS]
# A collector that has work at every allocation.
STRESS = 'collectgarbage("setpause", 0) collectgarbage("setstepmul", 100000000) '


def run(
    text: str, compiled: bool = True, *options: str, arguments: Sequence[str] = (), how: str = ""
) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"SYSCRIPT_LUA_COMPILE": how or ("yes" if compiled else "no")}
    command = [*RUN, *options, "-", *arguments]
    return subprocess.run(command, input=text, env=env, capture_output=True, text=True, timeout=60)


def both(
    text: str, *options: str, arguments: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """The output of the compiled script, which must equal the interpreter's."""
    compiled, interpreted = (run(text, how, *options, arguments=arguments) for how in (True, False))
    assert (compiled.returncode, compiled.stdout, compiled.stderr) == (
        interpreted.returncode,
        interpreted.stdout,
        interpreted.stderr,
    )
    return compiled


@pytest.mark.sample(4)
@pytest.mark.parametrize("first", range(0, 100, 10))
@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_random_programs(first: int, stress: str) -> None:
    for seed in range(first, first + 10):
        both(stress + Program(seed).text())


@pytest.mark.sample(2)
@pytest.mark.parametrize("script", CONFINED_CORPUS, ids=lambda path: path.stem)
def test_corpus_interpreted(script, monkeypatch: pytest.MonkeyPatch) -> None:
    """tests/unit/test_lua_runtime.py runs the corpus compiled."""
    compiled = outcome(here, [*RUN, str(script)])
    monkeypatch.setenv("SYSCRIPT_LUA_COMPILE", "no")
    assert outcome(here, [*RUN, str(script)]) == compiled


def mcode(text: str, compiled: bool, how: str = "") -> int:
    return int(re.search(r"(\d+) mcode", run(text, compiled, "--info", how=how).stderr)[1])


def is_all_compiled(text: str) -> bool:
    """With "all", nothing is compiled if one function cannot be."""
    return mcode(text, True, "all") == mcode(text, True) > mcode(text, False)


def test_is_compiled() -> None:
    text = "function run() local s = 0 for i = 1, 10 do s = s + i end return s end"
    assert mcode(text, True) > mcode(text, False)


# Code that assigns to an upvalue n, which run() reads before and after change().
ASSIGNS = {
    "a function": "local function change() n = n + 1 end",
    "one in it": "local function change() (function() n = n + 1 end)() end",
    "one in that": "local function change()"
    " (function() return function() n = n + 1 end end)()() end",
    "one made later": "local function make() return function() n = 7 end end"
    " local function change() make()() end",
    "one of many": "local all = {} for i = 1, 3 do all[i] = function() n = n + i end end"
    " local function change() all[2]() end",
    "a coroutine": "local change = coroutine.wrap(function()"
    " while true do n = n + 1 coroutine.yield() end end)",
}


def test_registers_after_a_concatenation() -> None:
    """The frame of a metamethod call lies above the operands."""
    text = """
    local meta = { __concat = function(a, b) return b end }
    local function show(...) print(...) end
    local function f(a, b)
      local c = a .. b
      do local d, e = 5 show(e) end
    end
    function run() pcall(f, "text", setmetatable({}, meta)) end
    """
    assert both(text).stdout == "nil\n"


@pytest.mark.parametrize("who", ASSIGNS)
def test_upvalues_that_are_assigned_to(who: str) -> None:
    for value in ("5", "0.5", "-2 ^ 40 - 0.5"):
        text = f"local n = {value} {ASSIGNS[who]} function run() print(n) change() print(n) end"
        done = both(text)
        assert done.returncode == 0 and len(set(done.stdout.split())) == 2, done.stderr


def test_upvalues_of_functions_made_twice() -> None:
    text = """
    local function counter(n, name)
      return function() return n, name, n == 1 and syscall.getppid or math.abs end
    end
    local one, two = counter(1, "one"), counter(2.5, "two")
    local made = load("local v = ... return function() return v end")
    local three, four = made(3), made(nil)
    function run()
      for _, f in ipairs { one, two, three, four, counter(nil), made("five") } do
        local a, b, c = f()
        print(a, b, c == math.abs)
      end
    end
    """
    assert both(text).returncode == 0


def test_objects_in_upvalues_are_kept() -> None:
    """A cycle of the collector begins before an assignment, and ends after it."""
    text = """
    collectgarbage("setpause", 0) collectgarbage("setstepmul", 50)
    local kept, lost, ballast = "", 0, {}
    for i = 1, 500 do ballast[i] = { i } end
    local function keep(i) kept = "kept " .. i end
    local function check(i) if kept ~= "kept " .. i then lost = lost + 1 end end
    function run()
      for i = 1, 400 do
        keep(i)
        local t = {}
        for j = 1, 150 do t[j] = { "part " .. i .. j } end
        check(i)
        if i % 3 == 0 then kept = i end
      end
      print(lost, kept)
    end
    """
    assert both(text).stdout == "0\tkept 400\n"


def test_slow_paths_that_only_slow_paths_use() -> None:
    assert is_all_compiled("local kept function run() kept = tostring(kept) end")


def test_upvalues_that_nothing_assigns_to_are_constants() -> None:
    text = "local n = 5\nfunction run() return n + n + n end\nfunction change() %s = 6 end"
    assert mcode(text % "local m", True) < mcode(text % "n", True)


def test_fields_that_move() -> None:
    text = """
    local t = { one = 1, two = 2, three = 3, four = 4 }
    local meta = setmetatable({}, { __index = function(_, k) return k end })
    local function fields(t) return t.one, t.two, t.three, t.four, t.five end
    local function set(t, v) t.one = v t.three = v and { v } end
    local function show()
      local three = t.three
      print(t.one, t.two, type(three) == "table" and three[1] or three, t.four, t.five)
      print(fields(t))
    end
    function run()
      show()
      print(fields(meta)) print(fields({})) print(fields({ five = 5, one = 0 }))
      for i = 1, 40 do t[i], t["k" .. i], t.five = i, -i, i end
      show()
      for i = 1, 40 do t[i], t["k" .. i] = nil, nil end
      t.two, t.five = nil, nil
      collectgarbage()
      set(t, 9) show() set(t, nil) show() t.three = "again" show()
      for i = 1, 9 do t[2 ^ i + 0.5] = i end
      set(t, 8) show()
      set(meta, "m") print(rawget(meta, "one"), rawget(meta, "three")[1])
      print(pcall(fields, 5)) print(fields("text"))
      one = "global" print(one) one = nil print(one)
    end
    """.replace("print(fields(t))", "print((fields(t)))")
    assert both(text).returncode == both(STRESS + text).returncode == 0


SMALL = """
local columns = { size = { 1, 2.5, "3", nil, 2 ^ 51 - 1 }, name = { "a" } }
local limit, count, yes = 2, 0, true
local function size(c, i) return c.size[i] end
local function is_over(c, i) return c.size[i] > limit end
local function larger(a, b) if a > b then return a end return b end
local function sum(a, b) return a + b end
local function least(a, b) local c if b then c = a end return c, b, a end
local function counted(a) count = count + a end
local function set(t, v) t.last = v return t.last == v and yes end
local function length(s) return #s end
local function sign(n) return n < 0 and -1 or n > 0 and 1 or 0 end
local object = setmetatable({ last = 0 }, {
  __add = function(a, b) return "sum" end, __lt = function() return true end,
  __index = function(t, k) return k .. "?" end, __len = function() return 7 end,
})
local values = { 1, -5, 2.5, 2 ^ 51 - 1, 2 ^ 51, "4", "text", false, object, columns }
"""
SMALL_CALLS = (
    *("size(columns, v)", "size(v, 1)", "is_over(columns, v)", "larger(v, 3)", "larger(3, v)"),
    *("sum(v, 1)", "sum(v, v)", "least(v)", "least(v, v)", "least()", "counted(v)", "set(v, 1)"),
    *("set(object, v)", "set(columns, v)", "length(v)", "sign(v)", "sum(sum(v, 1), v)"),
    "larger(sum(v, 2), size(columns, 2), v)",
)


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
@pytest.mark.parametrize("call", SMALL_CALLS)
def test_small_functions(call: str, stress: str) -> None:
    """They are inlined, except slow paths, which have frames of their own."""
    text = f"""
    local function once(v) local a, b, c, d = {call} return a, b, c, d end
    local function often(v) local s = 0 for i = 1, 3 do s = {call} end return s, count end
    local function added(v) return 1 + ({call}) end
    function run()
      local function show(ok, ...)
        local all = {{ ... }}
        for i = 1, 4 do
          if type(all[i]) == "table" then all[i] = all[i] == object and "object" or "table" end
        end
        print(ok, all[1], all[2], all[3], all[4])
      end
      for i = 1, #values do
        local v = values[i]
        show(pcall(once, v)) show(pcall(often, v)) show(pcall(added, v))
        show(coroutine.resume(coroutine.create(once), v))
      end
    end
    """
    assert both(stress + SMALL + text).returncode == 0


def test_small_functions_that_yield() -> None:
    text = """
    local function field(t) return t.x end
    local function add(a, b) return a + b end
    local yields = setmetatable({}, {
      __index = function(_, k) return coroutine.yield(k) end,
      __add = function(a, b) return coroutine.yield("+"), b end,
    })
    local function both(t) local a = field(t) local b = add(t, a) return a, b, a end
    function run()
      local co = coroutine.wrap(both)
      print(co(yields)) print(co(1)) print(co("two"))
    end
    """
    assert both(text).stdout == "x\n+\n1\ttwo\t1\n"


def test_small_functions_that_overflow() -> None:
    """Their results are integers until one overflows."""
    text = """
    local function twice(i) return i * 2 end
    local function is_large(i) if i > 2 ^ 51 - 3 then return i + i end return i end
    local function one()
      for i = 2 ^ 50 - 2, 2 ^ 50 + 2 do
        local n = twice(i)
        local rest = n % 10
        print(rest, n, n + 1)
      end
    end
    local function other()
      for i = 2 ^ 51 - 4, 2 ^ 51 - 1 do
        local n = is_large(i)
        local rest = n % 4
        print(rest, n, n - 1)
      end
    end
    function run() one() other() end
    """
    assert both(text).returncode == 0


def test_small_functions_take_the_place_of_calls() -> None:
    text = "local function f() end %s function run() " + "f() " * 50 + "end"
    called, inline = "function change() f = 1 end", "local g function change() g = 1 end"
    assert mcode(text % called, True) > mcode(text % inline, True) + 2000


# COLLECT sums what is passed to it, as there is more than can be printed.
COLLECT = """
local sum, count = 0, 0
local function collect(...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    local text = type(v) == "table" and "table" or tostring(v)
    for k = 1, #text do sum = (sum * 31 + text:byte(k)) % 2 ^ 32 end
    count = count + 1
  end
end
local function report(n, a) print(n, type(a), count, sum) sum, count = 0, 0 end
"""
# Values combined with known operands: all kinds of numbers, and others.
OTHERS = """
local others = { 0, 1, -1, 7, 8, 2 ^ 31, -2 ^ 31 - 1, 2 ^ 50, -2 ^ 51, 0.5, -0, 0 / 0, "8", false,
  setmetatable({}, { __eq = function() return true end, __lt = function() return true end }) }
"""
KNOWN = ("0", "1", "-1", "8", "2048", "-2049", "2 ^ 31 - 1", "-2 ^ 31", "2 ^ 51 - 1", "0.5")


@pytest.mark.parametrize("form", ["K", "local k = K", "upvalue"])
def test_operands_that_are_known(form: str) -> None:
    """Constants on either side of arithmetic, comparisons and loops, with all kinds of values."""
    text = [COLLECT, OTHERS]
    for n, value in enumerate(KNOWN):
        k = f"({value})" if form == "K" else "k"
        known = f"local k = {value}"
        text += [
            "do",
            known if form == "upvalue" else "",
            f"function calculate{n}(a)",
            known if form.startswith("local") else "",
            f"  collect(a + {k}, {k} + a, a - {k}, {k} - a, a * {k}, {k} * a, {k} * {k}, -{k})",
            f"  collect(a % {k}, {k} % a, {k} + {k}, {k} - {k})",
            f"  collect(a < {k}, {k} < a, a <= {k}, {k} <= a, a == {k}, {k} ~= a, {k} < {k})",
            "  collect(a == a, a ~= a)",
            f"  if a == {k} then collect(a, 1) end if {k} ~= a then collect(a, 2) end",
            f"  local b = {k} == a and a == {k} or a ~= {k} collect(b, not b and nil or {k})",
            f"  local i = a if i < {k} then collect(i - 1) elseif {k} == i then collect(i) end",
            f"  for j = {k}, {k} + 2 do a = a + {k} end collect(a)",
            f"  local m = {k} for j = 1, 2 do collect(m + a, a * m, m < a) m = 7 end",
            f"  if {k} == 0 then return end",
            f"  for j = a, a + 3 * {k}, {k} do collect(j) if j ~= a then break end end",
            "end",
            "end",
        ]
    calls = "".join(f" pcall(calculate{n}, a) report({n}, a)" for n in range(len(KNOWN)))
    text.append(f"function run() for _, a in ipairs(others) do{calls} end end")
    done = both("\n".join(text))
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 150, done.stderr


def test_numbers_of_results() -> None:
    """The actual number of results, where the caller wants fewer, more, or all of them."""
    functions = "".join(
        f"function all.f{n}(a, b) {'a, b = b, a' if n % 2 else ''} return {values} end\n"
        for n, values in enumerate(("", "a", "a, b", "b, a, 7", "a, nil, b, 'x'", "1, 2, b, 4, a"))
    )
    text = f"""
    local all, pending = {{}}, util.pending
    {functions}
    local function pairs_of(f) return f(1, "one") end
    local function wrapped(f) return (f(1, "one")), f(2, "two") end
    function run(...)
      for n = 0, 5 do
        local f = all["f" .. n]
        local a = f(1, 2)
        local b, c = f("b", "c")
        local d, e, g, h, i, j = f(n, "t")
        f()
        print(n, a, b, c, d, e, g, h, i, j, select("#", f(1, 2)))
        print(n, pairs_of(f), wrapped(f))
        print(pcall(f, n, n), f(f(n, "n")))
        print(coroutine.wrap(function() coroutine.yield(f(n, n)) return f(3, 4) end)())
      end
      local p, q = pending()
      pending()
      print(p, q, pending(), pending() and 1, not pending(), select("#", pending()))
      return all.f3(5, 6)
    end
    """
    done = both(text)
    assert done.returncode == 0 and "false\tnil\tfalse\tfalse\ttrue\t1" in done.stdout, done.stderr


def test_tests_of_what_is_known() -> None:
    """Unreachable code is removed; reachable code stays."""
    text = """
    local off, on, no, zero = nil, { 0 }, false, 0
    local changed
    local function change() changed = not changed end
    function run()
      for i = 1, 3 do
        local seen = off and off.field or on and on[1] or "no"
        local late
        if late or zero then late = i elseif no then late = "no" end
        local a, b = late and no, off or zero
        while not late or off do break end
        if not off then seen = seen + 1 end
        change()
        local flag = not changed
        if flag then print("unchanged") else print("changed") end
        local other = flag or i
        print(other, flag and i)
        print(seen, late, a, b, changed and 1 or 2, not (off or no), off == nil and zero)
      end
      local last = nil
      for i = 1, 3 do
        print(last and last + 1 or "first")
        last = i
      end
    end
    """
    done = both(text)
    assert done.returncode == 0 and "first\n2\n3\n" in done.stdout, done.stderr


def test_results_of_system_calls() -> None:
    """Byte counts are integers, also if the runtime makes the call."""
    text = """
    local write, close, getpid, lseek = syscall.write, syscall.close, syscall.getpid, syscall.lseek
    local abs = math.abs
    function run()
      for _, text in ipairs { util.buffer(8), "some text" } do
        local n, more = write(-1, text, 8)
        if n < 0 and n == -errno.EBADF and more == nil then print(n + 1, n * 2, close(-1) - n) end
        print(pcall(write, -1, {}, 8), lseek(-1, 0, 0) < 0, abs(n), (abs(-0.5)))
      end
      print(getpid() - getpid(), select("#", write(-1, "text", 4)))
    end
    """
    done = both(text)
    assert done.returncode == 0 and done.stdout.count("-8\t-18\t0") == 2, done.stderr


def test_memory_is_written() -> None:
    """With values that fit or not, of each kind, near both ends of the writable range."""
    kinds = [sign + size for sign in "iub" for size in "1248" if sign + size != "b1"]
    pokes = "".join(
        f"function all.{kind}(b, v, n) poke(b + n % 2, '{kind}', v)"
        f" local one, two = poke(b + 8, '{kind}', v + n * 0) return one, two end\n"
        for kind in kinds
    )
    text = f"""
    local all, poke, peek = {{}}, util.poke, util.peek
    local far = util.buffer(524288)
    {pokes}
    local values = {{ 0, 1, -1, 0.5, 5.0, "7", "x", false }}
    for bits = 8, 64, 8 do
      for _, d in ipairs {{ -1, 0, 1 }} do
        values[#values + 1] = 2 ^ (bits - 1) + d
        values[#values + 1] = -(2 ^ (bits - 1)) + d
        values[#values + 1] = 2 ^ bits + d
      end
    end
    function run()
      local near, sum, failed = util.buffer(24), 0, 0
      for _, kind in ipairs {{ {", ".join(repr(kind) for kind in kinds)} }} do
        for n, v in ipairs(values) do
          for _, b in ipairs {{ near, far, 8 }} do
            local ok, why, more = pcall(all[kind], b, v, n)
            if not ok then failed = failed + 1 why = why:gsub("%d+$", "") end
            sum = sum + (ok and more == nil and 1 or #why)
          end
          for i = 0, 16 do
            sum = (sum * 31 + peek(near + i, "u1") + peek(far + i, "u1")) % 2 ^ 32
          end
        end
      end
      print(sum, failed)
      poke = function() return "poked" end
      print(all.i4(near, 1, 1))
    end
    """
    done = both(text)
    assert done.returncode == 0 and "poked\tnil" in done.stdout, done.stderr


def test_overflow_goes_on_interpreted() -> None:
    """Integers overflow in compiled code, in the middle of loops and calls."""
    text = """
    local function double(n) return n + n end
    function run()
      local n, out = 1, {}
      for i = 1, 62 do n = double(n) out[i] = n end
      local m = 1
      for i = 1, 20 do m = m * 1000003 out[#out + 1] = m % 1000 end
      local k = -(2 ^ 51)
      for i = 1, 3 do k = k - 1 end
      print(table.concat(out, " "), k, -k, 0 * -1 == 0)
    end
    """
    assert both(text).stdout.startswith("2 4 8")


DEEP = """
local function down(n) if n == 0 then return 0 end return 1 + down(n - 1) end
local function forever() return 1 + forever() end
local function tail(n) if n == 0 then return "end" end return tail(n - 1) end
local function ping(n, f) if n == 0 then return "pong" end return f(n - 1, ping) end
function run()
  print(down(5000), tail(100000), ping(50000, ping))
  local ok, text = pcall(forever)
  print(ok, text)
  print(pcall(forever)) -- with room for that many frames from the beginning
  print(pcall(string.gsub, "x", ".", function() return down(3000) end))
  local co = coroutine.wrap(function() return down(3000), pcall(forever) end)
  print(co())
  return down(10)
end
"""


def test_deep_recursion() -> None:
    """Recursion ends in a Lua error, which can be caught, before the stacks overflow."""
    done = both(DEEP, "--memory-limit", "8M")
    assert done.returncode == 0, done.stderr
    assert "5000\tend\tpong\nfalse\tstdin:3: stack overflow" in done.stdout


# Functions that take the place of their callers: with fewer and more arguments than parameters, in
# recursion, where the stack is used up, with errors, yields, and a function that was replaced.
TAILS = """
local function show(...) return select("#", ...), ... end
local function two(a, b) local c return a, b, c end
local function one(a) return two(a) end
local function three(a, b) return two(a, b, a) end
local function rest(...) return two(...) end
local function many(a, b) return show(a, b, a, b, a, b) end
local function closed(a) local function get() return a end return two(get, a) end
local function fail(n) error("at level " .. n, n) end
local function failing(n) return fail(n) end
local function bad(t) return t.x.y end
local function worse(t) return bad(t) end
local function odd(n) if n == 0 then return false end return even(n - 1) end
function even(n) if n == 0 then return true end return odd(n - 1) end
local function sum(n, s) if n == 0 then return s end return sum(n - 1, s + n) end
local function nest(n) if n == 0 then return sum(900, 0) end local r = nest(n - 1) return r end
local function last(n) if n == 0 then return nest(700) end return last(n - 1) end
local function forever(t) t.n = t.n + 1 if t.n == 20000 then error(t) end return forever(t) end
local function stop(a) return coroutine.yield(a) end
local function stopping(a) return stop(a + 1) end
local function least(a, b) return math.min(a, b) end
local made = {}
function made.f(a) return "f" .. a end
local function call(a) return made.f(a) end
function run()
  print(one(1)) print(three(1, 2)) print(rest(1)) print(rest(1, 2, 3)) print(many(1, 2))
  print(closed(4)()) print((one(5))) print(select("#", one(6), three(7, 8)), (two(one(9))))
  for n = 0, 4 do print(pcall(failing, n)) end
  print(pcall(worse, {})) print(pcall(worse)) print(odd(3001), even(3001))
  print(sum(20000, 0), nest(900), nest(1400), last(3000))
  local t = { n = 0 }
  print(select(2, pcall(forever, t)) == t, t.n)
  local co = coroutine.wrap(stopping)
  print(co(1), co("resumed"))
  print(least(3, 2), pcall(least, {}, 1))
  print(call(1)) made.f = two print(call(2)) made.f = print print(call(3)) made.f = nil
  print(pcall(call, 4)) made.f = setmetatable({}, { __call = show }) print(select("#", call(5)))
end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_tail_calls(stress: str) -> None:
    done = both(stress + TAILS, "--time-limit", "5s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n200010000\t405450\t405450\t405450\ntrue\t20000\n" in done.stdout


YIELDS = """
local function inner(n) local got = coroutine.yield(n) return got * 2 end
local function outer(n)
  local sum = 0
  for i = 1, n do sum = sum + inner(i) end
  return sum, n
end
local function tail(n) return inner(n) end
function run()
  local co = coroutine.wrap(outer)
  local got = co(5)
  for i = 1, 5 do
    local value, n = co(got + i)
    print(value, n)
    got = value
  end
  co = coroutine.create(tail)
  print(coroutine.resume(co, 1)) print(coroutine.resume(co, 21)) print(coroutine.resume(co))
  co = coroutine.create(function(n) coroutine.yield() return inner(nil) + n.x end)
  coroutine.resume(co, 1) coroutine.resume(co)
  print(coroutine.resume(co, 2))
end
"""


# Read-only loops: the values that they leave at each kind of exit.
LOOPS = {
    "the counter": "local a for i = 1, 3 do a = i end print(a)",
    "the counter, and a break": "local a"
    " for i = 1, 9 do a = i if t[i] == 3 then break end end print(a)",
    "sums": "local s, n = 0, 0 for i = 1, 9 do s = s + t[i] n = n - 1 end print(s, n)",
    "a sum that is no integer": "local s = 0 for i = 1, 12 do s = s + odd[i] end print(s)",
    "a sum that is too large": "local s = 2^51 - 8 for i = 1, 9 do s = s + 1 end print(s)",
    "a difference": "local s = -2^51 + 8 for i = 1, 9 do s = s - 1 end print(s)",
    "two large ones": "local s = 2^51 - 1 for i = 1, 3 do s = s + t[i] end print(s)",
    "minus 0": "local n = 0 for i = 1, 12 do if odd[i] == 0 then n = n + 1 end end print(n)",
    "other kinds": "local w, n = { true, 1, false, '1', 0, {}, 1 }, 0 for i = 1, 9 do"
    " if w[i] == 1 then n = n + 1 end if w[i] == 0 then n = n + 10 end end print(n)",
    "beyond the end": "local n = 0"
    " for i = -3, 99 do if t[i] == nil then n = n + i end end print(n)",
    "far beyond": "for i = 2^51 - 3, 2^51 - 1 do if t[i] then print(i) end print(i) end",
    "a field": "local s = 0 for i = 1, 9 do s = s + e.t[i] + e.k end print(s)",
    "a field that changes": "local s = 0 for i = 1, 9 do s = s + e.k"
    " if t[i] == 4 then e.k = i e.t = odd end s = s + e.t[3] end e.k, e.t = 7, t print(s)",
    "an array that grows": "local u, s = { 1 }, 0"
    " for i = 1, 9 do if t[i] < 5 then u[#u + 1] = i end s = s + u[1] end print(s, #u)",
    "small functions": "local s = 0 for i = 1, 9 do s = s + of(e, i) + most(t[i], 4) end print(s)",
    "a small function that is slow": "local s = 0"
    " for i = 1, 12 do local v = of(e2, i) if v == 0.5 then s = s + i end end print(s)",
    "arguments": "local function f(t, a, b, s)"
    " for i = a, b do if t[i] == 3 then s = i end end return s end"
    " print(f(t, 1, 9, nil), f(t, 1, 9, 'x'), f(odd, 1, 12, 0.5), f('t', 3, 2))",
    "a table that is none": "print(pcall(function(t)"
    " for i = 1, 2 do local x = t[i] + 1 end end, 5))",
    "values on the way out": "for i = 1, 9 do local a, b, c = nil, 'b', true"
    " if t[i] == 5 then print(a, b, c, i, most(i, 7)) end end",
    "tags of registers": "do local a, b, c, d, f, g = 's', 's', 's', 's', 's', 's' end"
    " local n = 0 for i = 1, 9 do do local y = i + 2 n = n + y end"
    " if i == 5 then up = up + i end end print(up, n)",
    "comparisons": "local n = 0 for i = 1, 9 do"
    " if t[i] < 3 then n = n + 1 elseif t[i] <= i then n = n + 10 end"
    " if i > 8 then n = n + 100 end if not (t[i] ~= 9) then n = n + 1000 end end print(n)",
    "a metatable": "local m = setmetatable({ 1 }, { __index = function(_, i) return i * 2 end })"
    " local s = 0 for i = 1, 5 do s = s + m[i] end print(s)",
}


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
@pytest.mark.parametrize("what", LOOPS)
def test_loops_that_look(what: str, stress: str) -> None:
    both(f"""
    {stress}
    local t = {{ 1, 2, 3, 4, 5, 6, 7, 8, 9 }}
    local odd = {{ 1, 2, 0.5, -0.0, 0, "7", 2^51, -2^51, 2^53, 2, 1, 0 }}
    local e, e2, up = {{ t = t, k = 7 }}, {{ t = odd }}, 0
    local function of(e, i) return e.t[i] end
    local function most(a, b) if a < b then return b end return a end
    local function loop() {LOOPS[what]} end
    function run() loop() loop() end
    """)


# The same with arguments of all kinds: arrays t and u with others before and after them, from a to
# b, and s.
LOOPS_OVER = {
    "sum": "for i = a, b do s = s + t[i] end return s",
    "differences": "local n = 9 for i = a, b do s = t[i] - s n = 3 - i + n end return s, n",
    "constants": "for i = a, b do s = 1 + s s = s - 3 s = 5 - s s = -1 + s end return s",
    "equal": "local n = 0 for i = a, b do if t[i] == 1 then n = n + i end end return n",
    "equal to none": "local n = 0"
    " for i = a, b do if t[i] == nil or u[i] == 'x' then n = n + i end end return n",
    "not 0": "local n = 0 for i = a, b do if t[i] ~= 0 then n = n + i end end return n",
    "the last": "local n = 0 for i = a, b do n = t[i] end return n",
    "the last but one": "local n, m = 0, 0 for i = a, b do m = n local v = t[i] n = v end"
    " return n, m",
    "the largest": "for i = a, b do local v = t[i] if v > s then s = v end end return s",
    "the first": "for i = a, b do local v, w = t[i], u[i]"
    " if v == 3 then return v, w, i elseif w == 5 then return i end end",
    "by an index": "for i = a, b do local k = u[i] + 1 s = s + t[k] end return s",
    "by another": "local k = 9 for i = a, b do k = k - 1 s = s + t[k] end return s, k",
    "turns": "local x, y = 0, 1 for i = a, b do x, y = y, x + y if y == 5 then x = s end end"
    " return x, y",
    "copies": "local x, y, z = 1, 2, 3 for i = a, b do local w = x + y x = y y = z z = w"
    " if t[i] == 4 then x = i end end return x, y, z",
    "an integer": "for i = a, b do if t[i] == 3 then s = 7 end end return s",
    "half": "local n, m = 1, 0 for i = a, b do if n < 1 then m = m + 1 end"
    " if t[i] == 3 then n = 0.5 end end return n, m",
    "what the last pass left": "local n, m, l = 1, 0, 3 for i = a, b do"
    " if n < 3 then m = m + 1 end if l < 3 then m = m + 10 end local v = t[i] l = v n = t[i] end"
    " return n, m, l",
    "integers or numbers": "local n = 0 for i = a, b do local k = i + 0"
    " if u[i] == 3 then k = t[5] end if k < 3 then n = n + 1 end end return n",
    "either array": "local n = 0 for i = a, b do local w = t if u[i] == 3 then w = u end"
    " n = n + w[i] end return n",
    "equal to true": "local n = 0 for i = a, b do local y = true if t[i] == y then n = n + 1 end"
    " if y == 1 then n = n + 10 else n = n + 100 end end return n",
    "a word": "local n, m = 1 for i = a, b do if u[i] == 3 then n = 'x' end m = n end return n, m",
    "nothing": "local n = 1 for i = a, b do if u[i] == 3 then n = nil end end return n, s",
    "true": "local n for i = a, b do n = i if u[i] == 3 then n = true break end end return n",
    "the counter": "local n, m = 0, 0 for i = a, b do n = i if t[i] == 3 then m = n s = i end end"
    " return n, m, s",
    "a counter that is changed": "for i = a, b do i = i + 1 s = s + i end return s",
    "kinds": "local n = 0 for i = a, b do local k = t[i] if i == 3 then k = s + 1"
    " elseif i == 4 then k = s - 1 end n = n + k end return n",
    "kinds of one": "local n = 0 for i = a, b do local k = t[i] if i == 2 then k = u[i] + 1 end"
    " if k == 3 then n = n + 1 end if k == 0 then n = n + 5 end n = n + k end return n",
    "one of two": "local n = 0 for i = a, b do local v, w = t[i], u[i]"
    " if w == 3 then v = u[2] end n = n + v if i == 4 then w = v + 1 end n = n + w end return n",
    "one of two, if none is 0": "local n = 0 for i = a, b do local v, w = t[i], u[i]"
    " if w == 0 then v = u[2] end n = n + v if w ~= 0 then v = u[3] end n = n + v end return n",
    "values": "local n = 0 for i = a, b do local k = 5 if u[i] == 2 then k = 5 n = n + 1 end"
    " if u[i] == 3 then n = n + k end n = n + k end return n",
    "other values": "local n = 0 for i = a, b do local k = 5 if u[i] == 2 then k = 6 end"
    " if u[i] == 3 then n = n + k end end return n",
    "values of kinds": "local n = 0 for i = a, b do local k = 1 if u[i] == 2 then k = true end"
    " if u[i] == 3 then if k == 1 then n = n + i end end end return n",
    "tests": "local n = 0 for i = a, b do local k, m = false, true if k then n = n + 100 end"
    " if not m then n = n + 10 end if m then n = n + i end local l if l then n = n - 1 end"
    " if not l then n = n + 1000 end end return n",
    "tests of others": "local n = 0 for i = a, b do if s then n = n + 1 end end return n",
    "tests of numbers": "local n = 0 for i = a, b do local v = t[i] n = n + v"
    " if v then n = n + 1 end if i then n = n + 10 end end return n",
    "tests of what may be": "local n = 0 for i = a, b do local k if u[i] == 3 then k = i end"
    " if u[i] == 4 then if k then n = n + 1 end end n = n + i end return n",
    "a way back": "local n = 0 for i = a, b do local v = 0"
    " while v < 3 do v = v + 1 n = n + u[v] end end return n",
    "loops": "local n = 0 for i = a, b do for k = i, 4 do n = n + t[k] end n = n + i end return n",
    "steps": "local n, m = 0, 0 for i = b, a, -1 do n = n + t[i] end"
    " local step = s == 0 and 2 or 3 for i = a, b, 2 do m = m - t[i] end"
    " for i = a, b, step do m = m - i end return n, m",
    "a way out to before": "local n, k = 0, 0 ::again:: k = k + 1 for i = a, b do n = n + t[i]"
    " if n == 6 then n = n + 1 goto again end end return n, k",
    "closures": "local all = {} for i = a, b do local k = t[i] s = s + k"
    " all[#all + 1] = function() k = k + 1 return k + s end end return all[1](), all[#all]()",
    "calls": "for i = a, b do s = s + larger(t[i], u[i]) local v = larger(u[i], t[i])"
    " if v == 3 then s = s - 1 end end return s",
    "calls with less": "local n = 0 for i = a, b do if least(i) then n = n + 1 end"
    " if least(nil, i) then n = n + 10 end if least(i, t[i]) then n = n + 100 end"
    " if least(i, 2, 3) == i then n = n + i end if least(i, nil, 3) then n = n + 1000 end"
    " end return n",
    "calls for more": "local n, m = 0, 0 for i = a, b do local x, y = turned(i, t[i])"
    " n = n + x m = m - y end return n, m",
    "calls for one": "local n = 0 for i = a, b do local x = turned(i, u[i]) turned(x, 1)"
    " n = n + x end return n",
    "calls, twice": "local n = 0 for i = a, b do n = n + over(i, 4) + over(t[i], u[i])"
    " local v, w = larger(t[i], u[i]), larger(u[i], t[i]) n = n + v - w end return n",
    "fields": "local n = 0 for i = a, b do n = n + of(e, i) + key(e) - of(e2, i) end return n",
    "either field": "local n = 0 for i = a, b do local k = key(e)"
    " if u[i] == 3 then k = key(e2) end if k < 3 then n = n + i end end return n",
    "calls for none": "local n = 0 for i = a, b do local x = empty(i)"
    " if not x then n = n + i end end return n",
    "fields of two": "local n = 0 for i = a, b do n = n + key(e) - key(e2) end return n",
    "fields and elements": "local n = 0"
    " for i = a, b do n = n + of(e, i) + t[i] - u[i] + other(e, i) end return n",
    "fields that are not there": "local n = 0 for i = a, b do n = n + none(e, i) end return n",
    "fields that are strange": "local n = 0"
    " for i = a, b do n = n + half(e) + larger(word(e), 3) end return n",
    "system calls": "local n = 0 for i = a, b do n = n + lseek(file, i, 0)"
    " if getppid() < 1 then n = 0 end fsync(file) end return n",
    "system calls with elements": "local n, m = 0, 0 for i = a, b do local v = t[i]"
    " m = lseek(file, v, 0) n = n + m + lseek(file, t[i], 0) end return n, m",
    "system calls with sums": "local r for i = a, b do r = lseek(file, s, 0)"
    " if r < 0 then break end s = s + i end return r, s",
    "system calls with more": "local n, x, y = 0 for i = a, b do x, y = lseek(file, i, 0)"
    " if y then n = n + 1 end x = lseek(file, t[i], 0, 1) n = n + x end return n, x, y",
    "system calls with less": "local n = 0"
    " for i = a, b do n = n + close(-1) + lseek(file, i) end return n",
    "system calls with six": "local n = 0 for i = a, b do local r = mmap(0, 4096, 0, 34, -1, t[i])"
    " if r < 0 then n = n + r else n = n + munmap(r, 4096) + 100 end"
    " r = mmap(0, 4096, 0, 34, -1, i) if r < 0 then n = n + r else munmap(r, 4096) end"
    " end return n",
    "large results": "local r, n, large = 0, 1, u[1] * 2^50 lseek(file, 0, 0)"
    " for i = a, b do n = n + 1 r = lseek(file, large, 1) n = n + 1"
    " if t[i] == 3 then r = n end end return r, n",
    "large results on the way": "local m, n, large = 7, 0, u[1] * 2^50 lseek(file, 0, 0)"
    " for i = a, b do local k = i + m local r = lseek(file, large, 1) n = n + k m = k"
    " if r == 5 then n = 0 end end return m, n, lseek(file, 0, 1)",
    "in the way": "for i = a, b do local x, y, z = t[i], 's', e if x == 5 then"
    " return x, y, z.k, i end end return s",
    "calls of others": "local n = 0 for i = a, b do local v = t[i] n = n + v"
    " if v == 3 then e.k = e.k + 1 n = n + #tostring(n) end end return n",
    "tables": "local n = 0 for i = a, b do "
    + " ".join(f"n = n + c{k}[i]" for k in range(9))
    + " end return n",
    "many numbers": "local n = 0 for i = a, b do "
    + " ".join(f"local v{k} = i + {k}" for k in range(26))
    + " n = n + v0 + v13 - v25 end return n",
    "many ways out": "local n = 0 for i = a, b do "
    + " ".join(f"n = n + t[i] - {k}" for k in range(20))
    + " end return n",
    "many variables": "local "
    + ", ".join(f"v{k}" for k in range(45))
    + " = 1 local n = 0 for i = a, b do n = n + t[i] v44 = n end return n, v44, v0",
}
LOOPED = """
local e, e2 = { k = 7, h = 0.5, w = "w" }, { k = 2 }
local all = {}
for i = 1, 12 do all[i] = { 1, 2, 3, 4, 5, 6, 7, 8 } end
e.t, e2.t = all[7], all[8]
e.o, e2.o = all[1], all[2]
local c0, c1, c2, c3, c4, c5, c6, c7, c8 = { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 }, { 1, 1, 1 },
  { 2, 3, 4 }, { 5, 6, 7 }, { 8, 9, 0 }, { 9, 8, 7 }, { 3, 6, 9 }
local arrays = {
  all[6], all[5], { 3, 1, 0, -1, 0.5, -0.0, 4, 4 }, { 1, 2, 2^51 - 1, 1, -2^51, -1, 3, 8 },
  { 3, false, nil, {}, 3, 2, "x", 5 }, { 0, "7", 3 }, {}, setmetatable({ 1, [4] = 3 },
  { __index = function(_, i) return i end }), "text", { 2^52, 2^53, -2^53, 1/0, 0/0, 3, 0, 1 },
}
local ends = { { 1, 8 }, { 0, 3 }, { 5, 9 }, { -2, 1 }, { 3, 2 }, { 2, 2 }, { 1.5, 4 }, { 1, 2.5 },
  { 2^51 - 3, 2^51 - 1 }, { 2^51 - 2, 2^51 + 1 }, { "1", 3 } }
local sums = { 0, 5, 2^51 - 3, -2^51 + 9, 0.5, -0.0, "4", "x", false }
local file = syscall.memfd_create("looped", 0)
local lseek, getppid, fsync, close = syscall.lseek, syscall.getppid, syscall.fsync, syscall.close
local mmap, munmap = syscall.mmap, syscall.munmap
local function larger(a, b) if a > b then return a end return b end
local function least(a, b) local c if b then c = a end return c end
local function turned(a, b) return b, a end
local function over(a, b) if a < b then return 1 end return 0 end
local function of(e, i) return e.t[i] end
local function other(e, i) return e.o[i] end
local function empty() end
local function key(e) return e.k end
local function half(e) return e.h end
local function word(e) return e.w end
local function none(e, i) return e.none[i] end
"""
LOOPED_RUN = """
local function run_over(f)
  for n, t in ipairs(arrays) do
    for _, range in ipairs(ends) do
      local s = sums[n % #sums + 1]
      collect(pcall(f, t, arrays[1], range[1], range[2], 0))
      collect(pcall(f, arrays[2], t, range[1], range[2], s))
      collect(pcall(f, t, t, range[1], range[2], s))
    end
  end
  for _, s in ipairs(sums) do collect(pcall(f, all[3], all[4], 1, 8, s)) end
end
local function change()
  e.k = 0.5 run_over(f) e.k = "x" run_over(f) e.k = 3
  e.t = 5 run_over(f) e.t = { 1, 2 } run_over(f) e.t = all[9]
  e2.k = nil for i = 1, 30 do e2["f" .. i] = i end run_over(f) e2.k, e.o = 1, all[2]
  e.h, e.w = 2, 5 run_over(f) e.h, e.w, e.t = 3, "w", nil run_over(f)
end
function run() run_over(f) change() print(count, sum) end
"""


@pytest.mark.parametrize("what", LOOPS_OVER)
def test_loops_over_all_kinds(what: str) -> None:
    text = f"{LOOPED} local function f(t, u, a, b, s) {LOOPS_OVER[what]} end {LOOPED_RUN}"
    done = both(COLLECT + text)
    assert done.returncode == 0, done.stderr


SCRIPTS = sorted([*(ROOT / "scripts").glob("*.lua"), *(ROOT / "examples/text").glob("*.lua")])
# Machine code that each account is guaranteed.
GUARANTEED = 64 << 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_code_of_scripts_fits_in_what_each_account_gets(script) -> None:
    text = script.read_text()
    assert mcode(text, True) <= GUARANTEED and is_all_compiled(text)


def test_examples_of_the_manual_are_compiled() -> None:
    manual = (ROOT / "man/syscript.7").read_text()
    examples = re.findall(r"^\.Bd -literal.*\n((?s:.*?))^\.Ed", manual, re.MULTILINE)
    scripts = [text.replace("\\e", "\\") for text in examples if "\nfunction run" in f"\n{text}"]
    assert len(scripts) > 5 and all(map(is_all_compiled, scripts))


def test_what_run_cannot_reach_is_not_compiled() -> None:
    unused = "local function unused(n) local t = {} for i = 1, n do t[i] = i .. n end return t end"
    used = "function run() return 1 end"
    assert mcode(f"{unused} unused(3) {used}", True) == mcode(used, True)


# Ways to reach functions, some of which the compiler does not find.
WAYS = {
    "a variable": "local function f(n) return n + 1 end function run() print(f(1)) end",
    "a field": "local t = { f = function(n) return n + 1 end } function run() print(t.f(1)) end",
    "a name that is made": "local t = { fa = function(n) return n + 1 end }"
    " function run() print(t['f' .. 'a'](1)) end",
    "a global": "function f(n) return n + 1 end function run() print(_G['f'](1), f(2)) end",
    "a metamethod": "local t = setmetatable({}, { __index = function(_, n) return n + 1 end,"
    " __call = function(_, n) return n + 2 end }) function run() print(t[1], t(1)) end",
    "a coroutine": "local c = coroutine.wrap(function(n) while true do n = coroutine.yield(n + 1)"
    " end end) function run() print(c(1), c(2)) end",
    "later": "local function f(n) return n + 1 end"
    " function run() run = function() print(f(1)) end run() end",
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_functions(way: str) -> None:
    assert both(WAYS[way]).returncode == 0


def test_yields() -> None:
    assert "attempt to index local 'n'" in both(YIELDS).stdout


ERRORS = [
    "local t = {} t.x.y = 1",
    "local a = {} return a + 1",
    "local s = 'x' return -s",
    "return nothing()",
    "local t = { x = 1 } t:method()",
    "for i = 1, {} do end",
    "return 1 < 'x'",
    "local function f(x) error('here', 2) end\nf()",
    "local function f(x) error('here', 2) end\nreturn f()",
    "return ('x'):rep(3) .. {}",
    "local a, b = 1 return a < b",
    "syscall.lseek(-1, {}, 0)",
    "syscall.lseek(-1)",
    "local peek = util.peek peek()",
    "util.peek(1)",
    "util.poke(1, 'i4', 0)",
    "util.poke(util.buffer(8), 'i4')",
    "util.poke(util.buffer(8), 'i3', 0)",
    "return #5",
    "local n = 0 return 1 % n",
]


@pytest.mark.parametrize("code", ERRORS)
def test_errors(code: str) -> None:
    """Errors with their lines, and the names at fault."""
    both(f"function run()\n\n{code}\nend")
    both(f"local function f()\n{code}\nend\nfunction run() f() end")


def test_a_step_of_zero_never_ends() -> None:
    done = both("function run() for i = 1, 3, 0 do end end", "--time-limit", "200ms")
    assert "time limit" in done.stderr


def test_functions_are_replaced() -> None:
    """Assumptions of the compiler are checked at each use."""
    text = """
    local getppid, peek, add = syscall.getppid, util.peek, function(a, b) return a + b end
    local b = util.buffer(8)
    local function all() return getppid() > 0, peek(b), add(1, 2), syscall.lseek(-1, 0, 0) end
    function run()
      print(all())
      getppid, peek = function() return 1 end, function() return "peeked" end
      add = function(a, b) return a * b end
      syscall.lseek = function() return "sought" end
      print(all())
      add = 5
      print(pcall(all))
    end
    """
    assert "true\tpeeked\t2\tsought\n" in both(text).stdout


LIMITS = {
    "while true do end": "over the time limit",
    "for i = 1, 2 ^ 50 do end": "over the time limit",
    "local function f() return f() end f()": "over the time limit",
    "while true do pcall(error) end": "over the time limit",
    "local t = {} for i = 1, 2 ^ 50 do t[i] = {} end": "over the memory limit",
}


@pytest.mark.parametrize("code", LIMITS)
def test_limits(code: str) -> None:
    done = run(f"function run() {code} end", True, "--time-limit", "100ms")
    assert done.returncode == 1 and LIMITS[code] in done.stderr


def test_memory_is_exhausted_anywhere() -> None:
    """A script with less and less memory fails at each allocation."""
    text = """
    local function f(n)
      local t = {}
      for i = 1, n do t[i] = { i, tostring(i) .. "x", function() return t end } end
      return #t
    end
    function run(kib)
      local keep = {}
      pcall(function() while true do keep[#keep + 1] = util.buffer(1024) end end)
      print(pcall(f, 100) and "fits" or "memory")
      for i = 1, kib do keep[i] = nil end
      collectgarbage()
      return f(3)
    end
    """
    for kib in (1, 5, 50):
        done = both(text.replace("run(kib)", f"run(kib) kib = {kib}"), "--memory-limit", "512K")
        assert done.returncode in (0, 1)


@pytest.mark.parametrize(
    ("first", "last"), [(0, 100), pytest.param(100, 2000, marks=pytest.mark.long)]
)
def test_scripts_that_write_over_themselves(first: int, last: int) -> None:
    program = ROOT / "tests" / "confined" / "overwritten.py"
    command = [sys.executable, program, str(first), str(last)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(int(count) for count in done.stdout.split())
