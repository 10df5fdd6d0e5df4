-- SPDX-License-Identifier: GPL-2.0
-- Errors of the parser: run(n) prints what load() says of source n, in each of many broken
-- forms, as often as it says it; run(0) how many sources there are.  compare.py puts SOURCES
-- before this: a list of texts.

-- As often as there is none like it: a function, expression or block that has too much.
local function many(n, of, between)
  local t = {}
  for i = 1, n do t[i] = of .. i end
  return table.concat(t, between)
end

for _, n in ipairs { 199, 200, 201, 254, 255, 256, 300 } do
  local list = many(n, "p", ",")
  for _, form in ipairs {
    "local function f(@) end", "return function(@) end", "function a.b:c(@) end", "local @",
    "local @ = 1", "for @ in f do end", "return @", "f(@)", "a = { @ }", "@ = 1", "goto p1 local @",
    "local p1 do local @ goto p1 end ::p2::",
  } do
    SOURCES[#SOURCES + 1] = "\n" .. form:gsub("@", list)
  end
  SOURCES[#SOURCES + 1] = "local a\n" .. many(n, "local b", " = a + 1 ") .. " = 0"
  SOURCES[#SOURCES + 1] = "return " .. many(n, "{ function() return a", ", ") .. (" end }"):rep(n)
  SOURCES[#SOURCES + 1] = "return " .. ("("):rep(n) .. "1" .. (")"):rep(n - 1)
  SOURCES[#SOURCES + 1] = ("do "):rep(n) .. ("end "):rep(n - 1)
  SOURCES[#SOURCES + 1] = "return " .. ("-"):rep(3) .. (" a .."):rep(n)
  SOURCES[#SOURCES + 1] = many(n, "::l", ":: ") .. ":: " .. many(n, "goto l", " ") .. " goto none"
end

-- What takes the place of a part of the source.
local PARTS = {
  "", "(", ")", "{", "}", "[", "]", "[[", "]]", "[=[", "'", '"', "'\\", "'\\x1", "'\\u{", "'\\999'", "=",
  "==", "~", "::", ";", ",", ".", "..", "...", "0x", "1e", "1e+", "0xp", "1LL", "08u", "3i", "--[[", "--",
  "end", "do", "function", "local", "goto", "goto x", "break", "return", "nil", "and", "\0", "\1", "\200",
  "\n", "@", "$", "`", "?", "local x <const>",
}

local function count(said, source)
  local f, why = load(source, "=s")
  why = f and "a function" or tostring(why)
  said[why] = (said[why] or 0) + 1
end

local function sum(text)
  local s = 0
  for i = 1, #text do s = (s * 31 + text:byte(i)) % 2 ^ 32 end
  return s
end

function run(n)
  if n == 0 then return #SOURCES end
  local source, said, lines = SOURCES[n], {}, {}
  local step = math.ceil(#source / 60)
  for at = 1, #source + 1, step do
    count(said, source:sub(1, at - 1))
    for _, part in ipairs(PARTS) do
      count(said, source:sub(1, at - 1) .. part .. source:sub(at))
      if #source < 2000 then count(said, source:sub(1, at - 1) .. part .. source:sub(at + step)) end
    end
  end
  for why, times in pairs(said) do lines[#lines + 1] = times .. " " .. why end
  table.sort(lines)
  print("sum of all", sum(table.concat(lines, "\n")))
  -- As many as there is room for.
  for _, line in ipairs(lines) do print(line) end
  return 0
end
