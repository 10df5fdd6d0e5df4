-- Each byte in each state of the lexer, and each pair of bytes in some: the outcome of loading the
-- text.
local byte = string.char

-- The byte replaces @. The rest closes whatever the byte may have opened.
local states = {
  token = "return 1 @ 2", start = "@ return 7", name = "local a@b = 3 return a@b",
  first = "local @ = 5 return @", number = "return 1@2", zero = "return 0@1", point = "return 1.@5",
  dot = "return .@5", exponent = "return 1e@2", hex = "return 0x@f", hex_digit = "return 0xa@",
  hex_exponent = "return 0x1p@1", string = "return 'a@b'", quoted = 'return "a@b"',
  escape = "return 'a\\@b'", decimal = "return '\\1@2'", two_digits = "return '\\12@'",
  x = "return '\\x@1'", x_digit = "return '\\x4@'", u = "return '\\u@41}'",
  u_digit = "return '\\u{4@}'", z = "return '\\z@b'", long = "return [[a@b]]",
  long_first = "return [[@b]]", level = "return [@[b]=]", level_end = "return [==[a]@]==]",
  comment = "--@\nreturn 1", long_comment = "--[[@]] return 1", comment_level = "--[@[ x ]=] return 1",
  closing = "return [[a]@b]]", field = "local t = { a = 4 } return t.@a", after_field = "return ({}).a@",
  ending = "return 1@", minus = "return 3 -@ 1", equals = "return 3 =@ 3", less = "return 3 <@ 3",
  differs = "return 3 ~=@ 3", colon = "goto a :@a:: return 2", dots = "return select('#', ..@)",
}

-- Inside strings and comments. Elsewhere some pairs begin LuaJIT's newer syntax, which the manual
-- lists.
local inside = {}
for name in ("string quoted escape decimal two_digits x x_digit u u_digit z long long_first "
  .. "level_end comment long_comment closing"):gmatch("%S+") do
  inside[name] = true
end
local newer = "[!&|?~<>]"

local function outcome(source)
  local f, e = loadstring(source, "=s")
  if not f then return e end
  local ok, a, b = pcall(f)
  return ok and type(a) .. " " .. tostring(a) .. " " .. tostring(b) or a
end

local function show(s)
  return (s:gsub("[^ -~]", function(c) return "\\" .. c:byte() end))
end

local function sum(h, s)
  for i = 1, #s do h = (h * 31 + s:byte(i)) % 4294967291 end
  return h
end

-- Runs of bytes with the same outcome; the byte itself is shown as @.
local function bytes_of(name, source)
  local last, from, runs, h = nil, 0, {}, 0
  for c = 0, 256 do
    local seen
    if c < 256 and (inside[name] or not byte(c):find(newer)) then
      local text = source:gsub("@", (byte(c):gsub("%%", "%%%%")))
      seen = outcome(text)
      h = sum(h, seen)
      seen = show(seen:gsub("%d+", "N"):gsub("[^%w ]", "@"))
    end
    if seen ~= last then
      if last then runs[#runs + 1] = from .. "-" .. c - 1 .. ": " .. last end
      last, from = seen, c
    end
  end
  return h, runs
end

local function pairs_of(source, first)
  local h = 0
  for c in first:gmatch(".") do
    for d = 0, 255 do
      if not byte(d):find(newer) then
        h = sum(h, outcome((source:gsub("@", function() return c .. byte(d) end))))
      end
    end
  end
  return h
end

function run()
  local names = {}
  for name in pairs(states) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local h, runs = bytes_of(name, states[name])
    print(name, h, #runs, runs[1]:sub(1, 40))
  end
  print(pairs_of("return 1@", "eExXp.+-_0aF"), pairs_of("return 0@", "xXbBpPeE_.1"))
  print(pairs_of("return 0x@", "_pP.a1+-"), pairs_of("return '\\@'", "xuz0129\r\n"))
  print(pairs_of("return [@ ]] ", "[=]"), pairs_of("--@ ]]", "[=]"), pairs_of("return '@'", "\r\n\\"))
  print(outcome("return [[ x [[ y ]]"), outcome("return [=[ [=[ ]=]"), outcome("return [=[ ]==] ]=]"))
  print(outcome("local größe, 変数 = 3, 4 return größe + 変数"), outcome("return 1_000, 0x_ff_"))
  print(outcome("local arg = 7 local function f(...) return arg end return f(1)"))
  print(outcome("arg = 8 local function f(...) local n = arg return n, ... end return f(1)"))
  print(outcome("#!/bin/lua\nreturn x.y"), outcome("#"), outcome("\239\187\191return 1"),
    outcome("\239\187\191#x\nreturn 2"), outcome("\239\187return 1"), outcome(" #x\n"))
  print(table.setn, string.gfind, math.mod, type(table.getn))
  return 0
end
