-- Recursion through C functions, metamethods and coroutines, of every kind and mixed: results,
-- errors, yields, and functions half done when their frame on the C stack is abandoned. run(depth)
-- prints the faults and returns their number; run(0) recurses until it overflows.
local kinds, names = {}, {}
local descend

local function with(event, f)
  return setmetatable({}, { [event] = f })
end

-- Each calls descend(n - 1) in its own way, and returns one more than its result.
local function binary(event, op)
  return function(n)
    local v
    local o = with(event, function() v = descend(n - 1) + 1 return v end)
    op(o, setmetatable({}, getmetatable(o)))
    return v
  end
end

kinds.add = function(n) return with("__add", function(_, b) return descend(n - 1) + b end) + 1 end
kinds.index = function(n) return with("__index", function() return descend(n - 1) end).x + 1 end
kinds.unm = function(n) return -with("__unm", function() return descend(n - 1) + 1 end) end
kinds.call = function(n) return with("__call", function(_, m) return descend(m) end)(n - 1) + 1 end
kinds.newindex = binary("__newindex", function(o) o.x = 1 end)
kinds.eq = binary("__eq", function(a, b) return a == b end)
kinds.lt = binary("__lt", function(a, b) return a < b end)
kinds.le = binary("__le", function(a, b) return a <= b end)
kinds.le_by_lt = binary("__lt", function(a, b) return a <= b end)
kinds.concat = function(n)
  local s = "a" .. with("__concat", function(_, b) return descend(n - 1) + 1 .. b end) .. "b" .. "c"
  return tonumber((s:match("^a(%d+)bc$")))
end
kinds.concat_left = function(n)
  local o = with("__concat", function(a, b) return (type(a) == "string" and a or "") .. descend(n - 1) + 1 end)
  return tonumber((("x" .. o):match("%d+")))
end
kinds.pcall = function(n)
  local ok, v, more = pcall(descend, n - 1)
  if not ok then error(v, 0) end
  return more == nil and v + 1
end
kinds.xpcall = function(n)
  local ok, v = xpcall(descend, function(e) return e end, n - 1)
  if not ok then error(v, 0) end
  return v + 1
end
kinds.tostring = function(n)
  return tonumber(tostring(with("__tostring", function() return tostring(descend(n - 1)) end))) + 1
end
kinds.format = function(n)
  local long = ("-"):rep(700)
  local o = with("__tostring", function() return tostring(descend(n - 1)) end)
  local s = ("%s|%8s|%d|%s"):format(long, o, 42, "end")
  local a, v, b = s:match("^(%-+)| *(%d+)|42|(%a+)$")
  return a == long and b == "end" and tonumber(v) + 1
end
kinds.gsub = function(n)
  local v
  local s, count = ("x1y22z" .. ("."):rep(600)):gsub("%d+", function(d)
    if d == "1" then v = descend(n - 1) + 1 return "<" .. v .. ">" end
    return d == "22" and false
  end)
  return s == "x<" .. v .. ">y22z" .. ("."):rep(600) and count == 2 and v
end
kinds.gsub_table = function(n)
  local v
  local t = with("__index", function(_, k) if k == "b" then v = descend(n - 1) + 1 return v end end)
  local s, count = ("a-b-c"):gsub("%a", t)
  return s == "a-" .. v .. "-c" and count == 3 and v
end
kinds.sort = function(n)
  local v
  local t = { 5, 3, 9, 1, 7, 3, 8, 2, 6, 4, 11, 0 }
  table.sort(t, function(a, b)
    v = v or descend(n - 1) + 1
    return a > b
  end)
  return table.concat(t, " ") == "11 9 8 7 6 5 4 3 3 2 1 0" and v
end
kinds.sort_lt = function(n)
  local v
  local meta = { __lt = function(a, b) v = v or descend(n - 1) + 1 return a.n < b.n end }
  local t = {}
  for i = 1, 5 do t[i] = setmetatable({ n = i * 3 % 5 }, meta) end
  table.sort(t)
  for i = 2, 5 do if t[i - 1].n >= t[i].n then return end end
  return v
end
kinds.foreach = function(n)
  local seen = 0
  return table.foreach({ 10, 20, 30 }, function(_, x)
    seen = seen + x
    if x == 20 then return descend(n - 1) - 29 + seen end
  end)
end
kinds.foreachi = function(n)
  local v = 0
  table.foreachi({ 1, 2 }, function(i) if i == 1 then v = descend(n - 1) else v = v + 1 end end)
  return v
end
kinds.move = function(n)
  local v
  local from = with("__index", function(_, i) if i == 2 then v = descend(n - 1) + 1 end return i * 10 end)
  local t = table.move(from, 1, 3, 5, {})
  return t[5] == 10 and t[6] == 20 and t[7] == 30 and v
end
kinds.move_out = function(n)
  local v, out = nil, {}
  local to = with("__newindex", function(_, i, x) if i == 2 then v = descend(n - 1) + 1 end out[i] = x end)
  table.move({ 7, 8, 9 }, 1, 3, 1, to)
  return out[1] == 7 and out[2] == 8 and out[3] == 9 and v
end
kinds.iterator = function(n)
  local v
  for i, x in function(_, i) if i < 3 then v = v or descend(n - 1) + 1 return i + 1, v end end, nil, 0 do
    if x ~= v then return end
  end
  return v
end
kinds.print = function(n)
  local v
  print("", with("__tostring", function() v = descend(n - 1) + 1 return "" end), "")
  return v
end
kinds.resume = function(n)
  local ok, v = coroutine.resume(coroutine.create(descend), n - 1)
  if not ok then error(v, 0) end
  return v + 1
end
kinds.wrap = function(n)
  local f = coroutine.wrap(function(m) coroutine.yield(1) return descend(m) end)
  return f(n - 1) + f() + 0
end

for name in pairs(kinds) do names[#names + 1] = name end
table.sort(names)

-- The function at the bottom, and the kinds of recursion that lead there.
local bottom, chosen = nil, names

function descend(n)
  if n == 0 then return bottom() end
  return kinds[chosen[n % #chosen + 1]](n)
end

local faults = 0

local function check(what, good, ...)
  if good then return end
  faults = faults + 1
  print("wrong:", what, ...)
end

local function zero() return 0 end

local function each_kind(depth)
  bottom = zero
  for _, name in ipairs(names) do
    chosen = { name }
    local ok, v = pcall(descend, depth)
    check(name, ok and v == depth, v)
    collectgarbage()
  end
  chosen = names
  check("mixed", descend(depth) == depth)
end

local function errors(depth)
  bottom = function() error("at the bottom", 0) end
  for i = 1, 3 do
    local ok, v = pcall(descend, depth - i)
    check("error", not ok and v:find("at the bottom"), v)
  end
  bottom = function() return nil + 1 end
  local ok, e = xpcall(function() return descend(depth) end, function(e) return { e } end)
  check("handler", not ok and type(e) == "table" and tostring(e[1]):find("nil value"), e)
  -- Some levels catch errors and continue.
  local caught = 0
  bottom = function() error({}) end
  chosen = { "index", "catch", "gsub", "sort" }
  kinds.catch = function(n)
    local fine, e = pcall(descend, n - 1)
    if not fine then caught = caught + 1 return 1 end
    return e + 1
  end
  local v = descend(depth)
  check("caught", v == depth, v)
  check("once", caught == 1, caught)
  chosen = names
end

-- Through functions that coroutines may yield across, at abandoned depths and at depth 0.
local function yields(depth)
  chosen = { "pcall", "index", "tostring", "xpcall", "iterator", "lt", "concat", "foreach", "move" }
  bottom = function() return coroutine.yield("first") + coroutine.yield("second") end
  for d = 3, depth, depth - 3 do
    local co = coroutine.create(descend)
    local _, a = coroutine.resume(co, d)
    local _, b = coroutine.resume(co, 30)
    local ok, v = coroutine.resume(co, 12)
    check("yield " .. d, a == "first" and b == "second" and ok and v == d + 42, a, b, v)
    check("dead", coroutine.status(co) == "dead")
  end
  chosen = { "gsub", "pcall" }
  bottom = function() return coroutine.yield() end
  local ok, v = coroutine.resume(coroutine.create(descend), depth)
  check("across gsub", not ok and v:find("C%-call boundary"), v)
  chosen = names
end

-- A coroutine at each level, each waiting for the next.
local function chain(depth)
  local first, seen, last
  local function level(n)
    local me = coroutine.running()
    first = first or me
    if n == 0 then
      last, seen = me, coroutine.status(first) .. coroutine.status(me)
      local back, e = coroutine.resume(first)
      check("not again", not back and e:find("non%-suspended") or e:find("normal"), e)
      return coroutine.yield("up") + 1
    end
    local co = coroutine.create(level)
    local _, v = coroutine.resume(co, n - 1)
    if v == "up" then v = coroutine.yield(v) _, v = coroutine.resume(co, v) end
    return v + 1
  end
  local co = coroutine.create(level)
  local _, up = coroutine.resume(co, depth)
  check("chain up", up == "up" and seen == "normalrunning" and coroutine.status(last) == "suspended", up, seen)
  local ok, v = coroutine.resume(co, 100)
  check("chain down", ok and v == 101 + depth, v)
  check("chain dead", coroutine.status(last) == "dead")
end

local function overflows()
  for _, name in ipairs { "concat", "gsub", "index", "pcall", "resume", "sort", "tostring" } do
    chosen, bottom = { name }, zero
    local ok, v = pcall(descend, 1e9)
    collectgarbage()
    check("overflow of " .. name, not ok and (tostring(v):find("stack overflow") or tostring(v):find("not enough memory$")), v)
    check("after " .. name, descend(120) == 120)
  end
  chosen = names
end

-- Recursion while the script is being loaded.
bottom, chosen = zero, { "pcall", "gsub", "sort", "resume" }
check("loading", descend(1000) == 1000)
chosen = names

function run(depth)
  faults = 0
  if depth == 0 then
    overflows()
    return faults
  end
  each_kind(depth)
  errors(depth)
  yields(depth)
  chain(depth)
  return faults
end
