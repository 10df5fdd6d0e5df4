# SPDX-License-Identifier: GPL-2.0 OR MIT
"""String functions in code compiled for the confined engine."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from conftest import ROOT
from test_lua_compiler import STRESS, both, mcode, run


@pytest.mark.parametrize(
    "scripts", [pytest.param(12, id="some"), pytest.param(200, id="10^6", marks=pytest.mark.long)]
)
def test_as_interpreted_and_as_luajit(scripts: int) -> None:
    command = [sys.executable, ROOT / "tests" / "fuzz" / "text_fuzz.py", "--scripts", str(scripts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


WORK = """
local text, list = "name:12|c", { "a", "b" }
local function work()
  local name, value = text:match("^(%a+):(%d+)")
  local first, last = string.find(text, ":", 1)
  local c, part, n = text:byte(2), text:sub(2, 3), tonumber(value)
  local all = table.concat(list, "-")
  local count = 0
  for digit in text:gmatch("%d") do count = count + 1 end
  return name, value, first, last, c, part, n, all, count
end
local function show(when, ok, ...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    print(when, ok, i, type(v) == "table" and "table" or v)
  end
end
"""
# Changes that a script may make to the libraries: afterwards another function is called.
CHANGES = {
    "a function": "string.byte = function() return 7 end",
    "of strings": "string.match = function(s, p) return s, p end",
    "to nothing": "string.sub = nil",
    "raw": "rawset(string, 'find', function() return 'raw' end)",
    "a global": "tonumber = function(v) return { v } end",
    "in _G": "_G.tonumber = math.abs",
    "by name": "local t, k = string, 'gmatch' t[k] = function() return function() end end",
    "a library": "table = { concat = function() return 'other' end }",
    "a library raw": "rawset(_G, 'table', { concat = function() return 'raw' end })",
    "methods": "getmetatable('').__index = function(s, k) return function() return k end end",
    "other methods": "getmetatable('').__index = { match = error }",
    "methods of methods": "setmetatable(string, { __index = { sub = print } }) string.sub = nil",
    "the environment": "setfenv(work, { string = { find = type }, tonumber = type })",
    "another number": "string.byte = 5",
    "weak": "setmetatable(string, { __mode = 'v' }) collectgarbage()",
    "in a loop": "for k in pairs(string) do string[k] = nil end",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_libraries_that_change(change: str, when: str) -> None:
    text = WORK + (
        f"{CHANGES[change]}\nfunction run() show('after', pcall(work)) end"
        if when == "before"
        else f"""
        local function change() {CHANGES[change]} end
        function run()
          show("before", pcall(work)) change() show("after", pcall(work)) show("again", pcall(work))
        end
        """
    )
    assert both(text).returncode == both(STRESS + text).returncode


def test_libraries_that_change_in_a_loop() -> None:
    text = """
    local text, old = "abcdef", string.byte
    function run()
      local s = 0
      for i = 1, #text do
        s = s + text:byte(i)
        if i == 3 then string.byte = function(s, i) return -old(s, i) end end
      end
      print(s)
      string.byte = old
    end
    """
    assert both(text).stdout == f"{97 + 98 + 99 - 100 - 101 - 102}\n"


def test_characters_that_are_not_there() -> None:
    text = """
    local function sum(s, n) local a = 0 for i = 1, n do a = a + s:byte(i) end return a end
    local function first(s) local c = s:byte() if c then return c end return "none" end
    local function last(s) local c = s:byte(-1) return c == nil and "nothing" or c end
    local function both(s) local a, b = s:byte(1, 2) return b, a end
    local function of(v, i) local c = v:byte(i) return c * 2 end
    local object = { byte = function(self, i) return i and i + 0.5 end }
    function run()
      print(pcall(sum, "abc", 3)) print(pcall(sum, "abc", 4)) print(pcall(sum, 12, 2))
      print(first(""), first("a"), last(""), last("ab"), both("xy")) print(both(""))
      for _, v in ipairs { "ab", 12, object, true } do
        for _, i in ipairs { 1, 3, -1, 0, 2 ^ 40, 1.5, "1", {} } do print(pcall(of, v, i)) end
      end
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


def test_keys_that_are_texts() -> None:
    text = """
    local function count(t, k, n) t[k] = (t[k] or 0) + n return t[k] end
    local meta = setmetatable({}, {
      __index = function(_, k) return #tostring(k) end,
      __newindex = function(t, k, v) rawset(t, k, v * 100) end,
    })
    local key = "0"
    function run()
      local t = {}
      for i = 1, 40 do key = "k" .. i % 7 count(t, key, i) end
      for i = 0, 6 do print(t["k" .. i]) end
      print(count(t, 1, 5), count(t, 1, 5), count(t, 1.5, 5), count(t, true, 5), t[1], t["1"])
      print(count(meta, "abc", 1), count(meta, "abc", 1), count(meta, 5, 1))
      print(pcall(count, t, nil, 1)) print(pcall(count, 5, "a", 1)) print(pcall(count, t, "k1", {}))
      t.k1 = "7" print(count(t, "k1", 1))
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


def test_results_of_calls_as_arguments_and_returned() -> None:
    """The actual number of results: tonumber(s:match(p)), return s:match(p)."""
    text = """
    local text, object = "name:12|c", { match = function(_, p) return p, 2, 3 end }
    local function one(s) return s:match("%d+") end
    local function two(s) return s:match("^(%a+):(%d+)") end
    local function four(s) return s:match("(%a)(%a)(%a)(%a)") end
    local function at(s, i) return string.find(s, ":", i) end
    local function number(s) return tonumber(s:match(":(%d+)")) end
    local function numbers(s) return tonumber(s:match("(%d)(%d)")) end
    local function shouted(s) return string.upper(string.sub(s, 1, 4)) end
    local function quiet(s) return string.lower(s) end
    local function said(v) return tostring(v) end
    local function joined(t) return table.concat(t, ",") end
    local function later(s) local f = function() return type(s) end return s:match("%a+"), f() end
    local function escapes(s) local f = function() return s end return s:match("%a+") end
    local function many(...) return string.match(..., "%a+") end
    local function count(...) return select("#", ...), ... end
    local functions = { one, two, four, at, number, numbers, shouted, quiet, later, escapes, many }
    local function try(f, ...)
      print(pcall(f, ...)) print((select(2, pcall(f, ...))))
      local ok, a, b, c, d = pcall(f, ...) print(a, b, c, d)
      f(...)
      local x = f(...) local y, z = f(...) print(x, y, z) print(count(f(...)))
      return f(...)
    end
    function run()
      for i, f in ipairs(functions) do
        for _, s in ipairs { text, "", "a", ":", "12", 12, object } do
          print(i, pcall(try, f, s, 1))
        end
      end
      for _, v in ipairs { 1, -0.5, 2 ^ 53, "x", true } do print(pcall(try, said, v)) end
      print(pcall(try, joined, { 1, "b", 3.5 })) print(pcall(try, joined, {}))
      print(pcall(try, said))
      print(pcall(try, quiet, ("Ab"):rep(400))) print(#quiet(("A\0"):rep(128)))
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


def test_strings_made_of_parts() -> None:
    """The buffer's end, and cases left to Lua: other values, functions, metatables."""
    text = """
    local meta = setmetatable({}, {
      __concat = function(a, b) return "joined" end, __tostring = function() return "said" end,
      __index = function(_, k) return k .. k end,
    })
    local function join(a, b, c) return a .. b .. c end
    local function form(f, a, b) return f:format(a, b) end
    local function swap(s, by) return s:gsub("(%a)(%d?)", by) end
    local function first(s, by) return (s:gsub("^%s+", by)) end
    local function empty(s, by) local r, n = s:gsub("x*", by) return n, r end
    local function place(s, by) local r = s:gsub("()b", by) return r end
    local function floor(a) return math.floor(a / 8), math.floor(a / 3), math.floor(a) end
    local function bytes(s, i, j) local a, b, c, d = s:byte(i, j) return a, b, c, d end
    local function plain(s, what, i, how) local a, b, c = s:find(what, i, how) return a, b, c end
    local long = ("a1 "):rep(680)
    local values = { "x", "", 7, -7, 2 ^ 47, -1e14, 99999999999999, 1e14, 0.5, 2 ^ 60, 0 / 0, long }
    local formats = { "%s,%s", "%d|%x", "%5d%-5d.", "%05d %+d", "%.3s%s", "%g %s", "%%%s%%" }
    local replaced = { "%2%1", "<%0>", "%%", "%", "%3", "%x", 5, meta,
      { a = "A", b = 1, c = false }, { a = {} }, { a = true }, true,
      function(a, b) return b .. a end, function() return nil end }
    local function try(...) print(select("#", pcall(...)), pcall(...)) end
    function run()
      local negative = 0 * -1
      for _, a in ipairs(values) do
        for _, b in ipairs(values) do
          local ok, s = pcall(join, a, b, a) print(ok, #s, s:sub(1, 60))
          for _, f in ipairs(formats) do
            local ok, s = pcall(form, f, a, b) print(#s, s:sub(1, 90))
          end
        end
        try(floor, a) try(floor, negative)
      end
      try(join, meta, 1, "x") try(join, "x", meta, 1) try(join, nil, 1, 2) try(form, "%s", meta, 1)
      try(form, "%s%s%s", 1, 2) try(form, "%", 1) try(form, "%y", 1) try(form, "%d", "12", 1)
      for _, s in ipairs { "", "a1b2", "  a", "xxbxx", "b\0b", long } do
        for _, by in ipairs(replaced) do
          for _, f in ipairs { swap, first, empty, place } do
            local ok, r, n = pcall(f, s, by)
            print(ok, n, #tostring(r), tostring(r):sub(1, 90))
          end
        end
        for i = -2, 4 do
          try(bytes, s, i, i + 2) try(bytes, s, 1, i)
          for _, what in ipairs { "b", "", "a1", "b2x", "%a" } do
            try(plain, s, what, i, true) try(plain, s, what, i, false) try(plain, s, what, i)
          end
        end
      end
      try(bytes, 12, 1, 2) try(plain, 12, 2, 1, true) try(plain, "a", nil, 1, true)
      try(swap, {}, "")
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


def test_text_of_memory() -> None:
    """Memory in the arena, outside it, and unmapped."""
    text = """
    local str_in, str_out = util.str_in, util.str_out
    local near, far, room = util.buffer(4096), util.buffer(65536), ("0123456789"):rep(300)
    local function copy(from, n) return str_in(from, n) end
    local function put(s, to) return str_out(s, to) end
    function run(given)
      for _, at in ipairs { near, far, given } do
        print(put(room, at), copy(at, 5), #copy(at, 3000), copy(at + 2999, 1), copy(at, 0) == "")
        print(put("a\0b", at + 10), #copy(at + 8, 6), copy(at + 10, 3) == "a\0b", put("", at))
      end
      for _, n in ipairs { -1, 2 ^ 31, 1.5, "x", 5 } do
        print((pcall(copy, near, n))) print((pcall(copy, 0, n))) print((pcall(copy, n, n)))
        print((pcall(put, n, near))) print((pcall(put, "x", n)))
      end
      print(pcall(copy, 16, 8)) print(pcall(put, "12345678", 16))
      print(pcall(copy, near)) print(pcall(copy, "x", 1)) print(pcall(put, {}, near))
    end
    """
    command = ["buf:8192"]
    assert both(text, arguments=command).returncode == 0
    assert both(STRESS + text, arguments=command).returncode == 0


def test_text_of_memory_in_lower_case() -> None:
    """Both calls at once, unless the second one gets or returns more."""
    text = """
    local str_in, lower, upper, n = util.str_in, string.lower, string.upper, 0
    local near, far, room = util.buffer(4096), util.buffer(65536), ("aB\\195\\132-Z[@"):rep(400)
    local function print(...)
      local t = { ... }
      for i = 1, select("#", ...) do
        t[i] = tostring(t[i]):gsub("[^ -~]", function(c) return "<" .. c:byte() .. ">" end)
      end
      _G.print(table.concat(t, " "))
    end
    local function one(from, n) local s = lower(str_in(from, n)) return s, #s, s .. s end
    local function key(t, from, n)
      t[lower(str_in(from, n))] = n
      return t[lower(str_in(from, n))]
    end
    local function two(from, n) local a, b = lower(str_in(from, n)) return a, b end
    local function none(from, n) lower(str_in(from, n)) end
    local function second(from, n) local c, s = 7, lower("A", str_in(from, n)) return s, c end
    local function other(from, n) return (upper(str_in(from, n))) end
    local function length(from, n) return #lower(str_in(from, n)), n + 1, from ~= nil end
    local function all(...) n = n + select("#", ...) return ... end
    local function within(from, n) return all(lower(str_in(from, n)), 1) end
    local function changed(from, n)
      local s = string.lower(util.str_in(from, n))
      return s
    end
    local functions = { one, two, none, second, other, length, within, changed }
    function run(given)
      for _, at in ipairs { near, far, given } do
        util.str_out(room, at)
        for _, size in ipairs { 0, 7, 8, 20 } do
          for _, f in ipairs(functions) do print(f(at + size % 3, size)) end
          print(key({}, at, size))
        end
        for _, size in ipairs { 300, 3000, -1, 1.5, "3" } do
          for _, f in ipairs(functions) do
            local ok, s, v = pcall(f, at, size)
            print(ok, type(s) == "string" and s:sub(-20) or s, v ~= s and type(v))
          end
        end
      end
      for _, f in ipairs(functions) do
        print(pcall(f, 16, 8)) print(pcall(f, "x", 1)) print(pcall(f))
      end
      string.lower = function(s) return s .. "!" end
      print(one(near, 5)) print(changed(near, 5))
      util.str_in = function() return "Other", "More" end
      print(one(near, 5)) print(pcall(changed, near, 5))
      print(n)
    end
    """
    command = ["buf:8192"]
    done = both(text, arguments=command)
    assert done.returncode == 0
    assert "output cut" not in done.stdout
    assert both(STRESS + text, arguments=command).returncode == 0


def test_lower_case_from_outside_makes_one_string() -> None:
    """Text of the application's memory is converted at once, as text of the script's is."""
    text = """
    local str_in, lower, inner = util.str_in, string.lower, util.buffer(64)
    local function take(at) return #lower(str_in(at, 20)) end
    local function grown(at)
      util.str_out("Text in Memory 12345", at)
      take(at)
      local before = collectgarbage("count")
      for _ = 1, 50 do take(at) end
      return collectgarbage("count") - before
    end
    function run(outer)
      collectgarbage("stop")
      print(grown(inner), grown(outer))
    end
    """
    assert run(text, arguments=["buf:64"]).stdout == "0\t0\n"


def test_loops_over_matches() -> None:
    text = """
    local function all(s) local t = {} for a in s:gmatch("%a+") do t[#t + 1] = a end return t end
    local function pairs_of(s)
      local t = {}
      for a, b, c in s:gmatch("(%a)=()") do t[#t + 1] = a .. b .. tostring(c) end
      return t
    end
    local function counter()
      local n = 0
      return function() n = n + 1 if n < 3 then return n end end
    end
    local function empty(s) local n = 0 for a in s:gmatch("%d*") do n = n + 1 end return { n } end
    local function literal(s) local n = 0 for a in s:gmatch("^a") do n = n + 1 end return { n } end
    local function other(s, f)
      local t = {}
      string.gmatch = f
      for a in string.gmatch(s, "%a") do t[#t + 1] = a end
      return t
    end
    local gmatch = string.gmatch
    function run()
      for _, s in ipairs { "", "a b c", "x=1, y=2", "12 34", "^a^b a^a", "\\0a\\0" } do
        print(table.concat(all(s), "|"), table.concat(pairs_of(s), "|"), empty(s)[1], literal(s)[1])
      end
      print(table.concat(other("abc", gmatch), ","))
      print(table.concat(other("abc", counter), ","))
      print(table.concat(other("abc", function(s) return gmatch(s, ".%a") end), ","))
      print(pcall(all, {})) print(pcall(all, 12))
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


def test_patterns_that_take_long_end() -> None:
    text = """
    function run()
      local s = ("a"):rep(3000)
      return (s:match(".-.-.-.-.-b$")) and 1 or 0
    end
    """
    done = both(text, "--time-limit", "20ms")
    assert done.returncode and "time limit" in done.stderr


def test_patterns_are_code() -> None:
    """Patterns that are not constant go to Lua's own matcher."""
    text = "local s, p = 'text', '%s' function run() local a = s:match({}) return #a end"
    constant = text.replace("{}", "'%a%d*%s-[^,;]+'")
    assert mcode(constant, True) > mcode(text.replace("{}", "p"), True) + 200


def test_results_that_are_the_last_arguments() -> None:
    """f(g(x)) with inlined functions, and with their later replacements."""
    text = """
    local peek, poke, byte, sub, band = util.peek, util.poke, string.byte, string.sub, bit.band
    local buf, read = util.buffer(64), syscall.read
    local function count(...) return select("#", ...), ... end
    local function twice(a, b) return a, b, a end
    local function nested(s, i) return count(s, sub(s, byte(s, i) - 96)) end
    local function bits(a, b) return count(band(a, band(b, band(a, 255)))) end
    local function words(at) return count(peek(buf + at, "u8")) end
    local function small(at) return count(1, peek(buf + at)) end
    local function failed(fd) fd = fd == 0 and -1 or fd return count(read(fd, buf, 8)) end
    local function formed(s, i) return ("%s-%d"):format(s, byte(s, i)) end
    local function text(at) return count(util.str_in(buf + at, peek(buf + 32))) end
    local function global(s, i) return count(string.char(string.byte(s, i))) end
    local functions = { nested, bits, words, small, failed, formed, text, global }
    local function show(...)
      for i = 1, select("#", ...) do print(i, (tostring((select(i, ...))):gsub("[^ -~]", "?"))) end
    end
    function run()
      for _, v in ipairs { 0, -1, 2 ^ 50, 2 ^ 52, -2 ^ 52 } do
        poke(buf, "i8", v) poke(buf + 32, "i4", 3)
        for i, f in ipairs(functions) do
          for _, a in ipairs { "abcd", 0, 4, -1, {} } do
            show(i, pcall(f, a, 2)) show(i, pcall(f, a, 9)) show((select(3, pcall(f, a, 1))))
          end
        end
        string.byte, string.char = twice, function() end
      end
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


def test_operations_on_bits() -> None:
    text = """
    local values = { 0, 1, -1, 31, 32, 33, 255, 2 ^ 31, -2 ^ 31, 2 ^ 32 - 1, 2 ^ 51, -2 ^ 51,
      2 ^ 60,
      0.5, -0.5, 0 / 0, "7", "x", {}, 0 * -1 }
    local function fold(a, b)
      return bit.band(a, b), bit.bor(a, b, 8), bit.bxor(a, b, a, 1), bit.bnot(a), bit.tobit(b)
    end
    local function shift(a, b)
      return bit.lshift(a, b), bit.rshift(a, b), bit.arshift(a, b), bit.lshift(a, 3)
        + bit.rshift(b, 33)
    end
    local function sum(a, b) local s = bit.band(a, 15) s = s + bit.bxor(b, 3) return s, s * 2 end
    local function none() return bit.band() end
    local function many(a) return bit.band(a, a, a, a, a, a, a, a, a, a) end
    local function statement(a) bit.band(a, 1) return 1 end
    function run()
      for _, a in ipairs(values) do
        for _, b in ipairs(values) do
          print(pcall(fold, a, b)) print(pcall(shift, a, b)) print(pcall(sum, a, b))
        end
        print(pcall(many, a)) print(pcall(statement, a))
      end
      print(pcall(none))
      bit.band = function(a) return { a } end
      print(pcall(sum, 1, 2)) print(pcall(fold, 1, 2))
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


def test_runs_of_characters_end_anywhere() -> None:
    """Eight characters at a time: runs end at each position, also before trailing delimiters."""
    text = """
    local function to(s, i) return s:match("^[^:]+", i) end
    local function line(s, i) return s:match("^([^:\\n]*)()", i) end
    local function word(s, i) return s:match("^%S+", i) end
    local function field(s, i) return s:match("[^%s,;]+()", i) end
    local function all(s, i) return s:match("^.*", i) end
    local function low(s, i) return s:match("^[^%z\\255]*", i) end
    local function back(s, i) return s:match("^([^:]*)b", i) end
    local ends = { "", ":", "\\n", " ", "\\1", "\\t", ",", "\\0", "\\127", "\\128", "\\255", "9",
      ";" }
    local sum = 0
    local function add(v, w)
      for c in tostring(v):gmatch(".") do sum = (sum * 31 + c:byte()) % 2147483629 end
      if w then add(w) end
    end
    function run()
      for _, last in ipairs(ends) do
        for n = 0, 18 do
          local s = ("ab\\200"):rep(6):sub(1, n) .. last .. "xb"
          local cut = s:sub(1, n)
          for i = 1, n + 1 do
            add(to(s, i)) add(line(s, i)) add(word(s, i)) add(field(s, i)) add(all(s, i))
            add(low(s, i)) add(back(s, i))
            add(to(cut, i)) add(line(cut, i)) add(word(cut, i)) add(field(cut, i)) add(low(cut, i))
          end
        end
        print(sum)
      end
    end
    """
    assert both(text).returncode == 0


def test_replacing_by_functions() -> None:
    """The compiled pattern finds the function's arguments, whatever the function does."""
    text = """
    local function by(s, f) return s:gsub("(%a)()(%d*)", f) end
    local function first(s, f) return s:gsub("^%a", f) end
    local function empty(s, f) return s:gsub("x*", f) end
    local function inner(s) return (s:gsub("[ab]", function(c) return by(c .. "1", string.upper)
      end)) end
    local patterns = { "%a", "%d", "^a", "" }
    local function other(s, f) local r for _, p in ipairs(patterns) do r = s:gsub(p, f)
      end return r end
    local seen
    local functions = {
      function(...) seen[#seen + 1] = table.concat({ ... }, "/") end,
      function(a) return a .. a end, function() return 5 end, function() return false end,
      function(a) if a == "b" then error("at " .. a) end end, function() return {} end, inner,
      function(a) return coroutine.yield(a) end,
    }
    local function drive(f, s, g)
      local co = coroutine.create(f)
      local ok, a, b = coroutine.resume(co, s, g)
      while coroutine.status(co) == "suspended" do
        seen[#seen + 1] = a
        ok, a, b = coroutine.resume(co, "<" .. tostring(a) .. ">")
      end
      return ok, a, b
    end
    function run()
      for _, s in ipairs { "", "a1b22c", "xxbxx", "  ab", "b\\0b1" } do
        for i, g in ipairs(functions) do
          for _, f in ipairs { by, first, empty, other } do
            seen = {}
            print(i, pcall(f, s, g)) print(drive(f, s, g)) print(table.concat(seen, ","))
          end
        end
      end
    end
    """
    assert both(text).returncode == both(STRESS + text).returncode == 0


# Each is faster than in the interpreter by this much, if its fast path is taken.
PATHS = {
    "bits": (0.6, "local b = bit s = b.band(b.bxor(i, 255), 65535) + b.lshift(i, 2)"),
    "hashes": (0.2, "local h = i for k = 1, 9 do h = (bit.bxor(h, k) * 16777619) % 2^32 end s = h"),
    "one character": (0.5, "local w, k = 'abcdef', i % 6 + 1 s = #(w:sub(k, k) .. w:sub(-k, -k))"),
    "decimals": (0.8, "s = #string.format('%.2f %g', i / 8, i / 3)"),
    "characters": (0.6, "s = #string.char(i % 256, 65, 66, 67)"),
    "hexadecimal": (0.6, "s = tonumber(i % 2 == 0 and 'beef' or 'f00d', 16)"),
    "case": (0.5, "s = #(('The quick brown fox jumps'):upper()) + #(('OVER THE DOG'):lower())"),
    "parts": (0.8, "local t = list t.x = t.x or 1 / 3 s = #('a' .. i .. ':' .. t.x .. ',' .. -i)"),
    "counting": (0.5, "local t, k = list, 'k' .. i % 9 t[k] = (t[k] or 0) + 1"),
    "formats": (0.6, "s = #string.format('%s is %d, or %02x; %-8s|', 'name', i % 100, 7, 'left')"),
    "inserting": (0.75, "local t = list table.insert(t, i) t[1] = nil s = #t"),
    "functions": (
        0.7,
        "s = #(('name=value; other=thing'):gsub('(%w+)=([^;]*)', function(a, b) return b end))",
    ),
    "runs": (0.5, "s = #(('The quick brown fox jumps over the lazy dog:'):match('^[^:]+'))"),
    "finding": (0.5, "local w = 'a line: with text' s = w:find(': ', 1, true) + #w"),
    "sending": (0.5, "for _ = 1, 9 do s = syscall.sendto(-1, 'text', 4, 64) end"),
    "arguments": (0.5, "s = #util.str_in(memory + 8, util.peek(memory))"),
}


STEPS = 200_000


def user_time(n: int, text: str, compiled: bool) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert run(text, compiled, "--time-limit", "10s", arguments=[str(n)]).returncode == 0
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
def test_fast_paths_are_taken(path: str) -> None:
    most, work = PATHS[path]
    text = (
        "local s, list, memory = 0, {}, util.buffer(16) util.poke(memory, 'i4', 3) "
        f"local function work(i) {work} end "
        "function run(n) for i = 1, n do work(i) end end"
    )
    least = {
        (compiled, n): min(user_time(n, text, compiled) for _ in range(3))
        for compiled in (True, False)
        for n in (0, STEPS)
    }
    spent = {compiled: least[compiled, STEPS] - least[compiled, 0] for compiled in (True, False)}
    assert spent[True] < spent[False] * most, spent
