-- Every library function over a grid of arguments: its results, or its error. run(0): a line for
-- each function, with a checksum of its results. run(i): a line for each call of function i. The
-- engines must print the same, except for the differences in syscript(7):
-- tests/unit/test_lua_grid.py.
local SKIP, CALLS = {}, {}

-- Arguments as name and value; tables and threads are created afresh.
local buffer = util.buffer(256)
local long = ("abcdefghij"):rep(30)
local marked = setmetatable({}, { __tostring = function() return "marked" end, __metatable = "locked" })
local inf, nan = math.huge, math.huge - math.huge

local function value(v)
  return function() return v end
end

local VALUES = {
  { "nil", value(nil) }, { "0", value(0) }, { "-1", value(-1) }, { "2", value(2) },
  { "'abc'", value("abc") }, { "{3,1,2}", function() return { 3, 1, 2 } end },
  { "print", value(print) }, { "true", value(true) },
  -- The first ones are for three arguments, these for two
  { "1LL", value(1LL) }, { "2^63LL", value(2LL ^ 63) },
  { "1.5", value(1.5) }, { "2^31", value(2 ^ 31) }, { "2^53", value(2 ^ 53) }, { "inf", value(inf) },
  { "nan", value(nan) }, { "'10'", value("10") }, { "long", value(long) }, { "co", function()
    return coroutine.create(function() coroutine.yield(7) end) end },
  -- and these for one.
  { "false", value(false) }, { "1", value(1) }, { "-2", value(-2) }, { "-0", value(-0) },
  { "-1.5", value(-1.5) }, { "0.1", value(0.1) }, { "2^31-1", value(2 ^ 31 - 1) },
  { "-2^31", value(-2 ^ 31) }, { "-2^31-1", value(-2 ^ 31 - 1) }, { "2^32", value(2 ^ 32) },
  { "2^51", value(2 ^ 51) }, { "-2^53", value(-2 ^ 53) }, { "2^63", value(2 ^ 63) },
  { "1e300", value(1e300) }, { "5e-324", value(5e-324) }, { "-inf", value(-inf) },
  { "''", value("") }, { "'0x10'", value("0x10") }, { "' 5 '", value(" 5 ") }, { "'1e1'", value("1e1") },
  { "'%d'", value("%d") }, { "'%'", value("%") }, { "'('", value("(") }, { "'='", value("=") },
  { "'\\0'", value("\0") }, { "{}", function() return {} end }, { "marked", value(marked) },
  { "run", function() return run end }, { "buffer", value(buffer) }, { "-1LL", value(-1LL) },
  { "5ULL", value(5ULL) },
}
local MOST = { #VALUES, 18, 6, 4 }

local GLOBALS = {
  "assert", "collectgarbage", "error", "gcinfo", "getfenv", "getmetatable", "ipairs", "load",
  "loadstring", "next", "pairs", "pcall", "print", "rawequal", "rawget", "rawset", "select", "setfenv",
  "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall",
}
local UTIL = {
  "peek", "poke", "copyin", "copyout", "str_in", "str_out", "fill", "compare", "buffer", "pending",
  "struct", "htonl", "htons", "ntohl", "ntohs", "fields", "none",
}

local BYTECODE = {}
for name in ("math.deg math.rad string.len table.foreach table.foreachi table.getn table.move "
  .. "table.remove"):gmatch("%S+") do
  BYTECODE[name] = true
end

local names, functions = {}, {}

local function add(library, name, f)
  local full = library == "_G" and name or library .. "." .. name
  names[#names + 1], functions[full] = full, f
end

for _, name in ipairs(GLOBALS) do add("_G", name, _G[name]) end
for _, name in ipairs(UTIL) do add("util", name, util[name]) end
for _, library in ipairs { "string", "table", "math", "bit", "coroutine", "net", "fs" } do
  for name, f in pairs(_G[library]) do
    if type(f) == "function" then add(library, name, f) end
  end
end
add("errno", "name", errno.name)
for name in ("getuid lseek fsync openat read"):gmatch("%a+") do add("syscall", name, syscall[name]) end
table.sort(names)

-- Each call in a function of its own, so that it is compiled.
local sources = {
  [0] = "return function() local a, b, c, d = %s() return a, b, c, d end",
  "return function(x) local a, b, c, d = %s(x) return a, b, c, d end",
  "return function(x, y) local a, b, c, d = %s(x, y) return a, b, c, d end",
  "return function(x, y, z) local a, b, c, d = %s(x, y, z) return a, b, c, d end",
  "return function(x, y, z, u) local a, b, c, d = %s(x, y, z, u) return a, b, c, d end",
}
for _, name in ipairs(names) do
  CALLS[name] = {}
  for arity = 0, 4 do
    CALLS[name][arity] = assert(loadstring(sources[arity]:format(name), "=" .. name))()
  end
end

-- Which calls are allowed in this way, with these arguments.
local function allowed(name, n, a, b, c, d)
  -- LuaJIT's versions use values that an earlier call left on the stack.
  if n == 0 and (name == "math.floor" or name == "math.ceil") then return false end
  if a == buffer and (name:find("^util%.[hn]to") or not name:find("^util") and not name:find("^fs")) then
    return false
  end
  local skip = SKIP[name]
  return not skip or not skip(a, b, c, d)
end

local function is_large(n) return type(n) == "number" and (n >= 2 ^ 31 or n <= -2 ^ 31) end
-- They would exhaust time or memory on any engine.
SKIP["string.rep"] = function(s, n, sep) return is_large(n) and (tostring(s) .. tostring(sep)) ~= "" end
SKIP["table.insert"] = function(_, n) return is_large(n) end
SKIP["table.concat"] = function(_, _, i, j) return is_large(i) or is_large(j) end
SKIP["table.move"] = function(_, a, b, c) return is_large(a) or is_large(b) or is_large(c) end
SKIP["util.buffer"] = function(n) return type(n) == "number" and n > 1000 and n <= 2 ^ 20 end
-- Documented differences: next() with an invalid key, frames, collector settings.
SKIP.next = function(t, k) return type(t) == "table" and k == 0 end
SKIP["net.frames"] = function() return true end
-- Results vary from call to call, or the function changes the test itself.
SKIP.gcinfo = function() return true end
SKIP.collectgarbage = function(what) return what == nil end
SKIP.setfenv = function(f) return type(f) ~= "function" and tonumber(f) end
SKIP.rawset = function(t) return t == marked end
SKIP["math.randomseed"] = function(n) return n == nil end
SKIP["coroutine.running"] = SKIP.gcinfo
SKIP["fs.write_files"] = SKIP.gcinfo

local function show(v)
  if type(v) == "string" then
    if #v > 100 then return ("%q..%d"):format(v:sub(1, 100), #v) end
    return ("%q"):format(v)
  end
  if v == buffer then return "buffer" end
  if type(v) == "number" then
    local is_address = v > 2 ^ 46 and v < 2 ^ 47 and v % 1 == 0
    return is_address and "address" or ("%.17g"):format(v)
  end
  if type(v) == "table" and getmetatable(v) == nil and rawget(v, 1) then
    local t = {}
    for i = 1, 8 do t[i] = tostring(rawget(v, i)) end
    return "{" .. table.concat(t, ",") .. "}"
  end
  return type(v) == "table" and "table" or (tostring(v):gsub("builtin#%d+", "0x0"))
end

-- Documented: functions that LuaJIT implements in bytecode have other names and positions in
-- errors, and accept nil for a missing argument.
local function common(name, message)
  if not BYTECODE[name] or type(message) ~= "string" then return message end
  local arg, expected, got = message:match("bad argument #(%d) to '[^']*' %((%a+) expected, got ([%a ]+)%)$")
  local operand = message:match("perform arithmetic on a (%a+) value$")
  if operand then arg, expected, got = 1, "number", operand end
  return arg and arg .. expected .. (got == "no value" and "nil" or got) or message
end

local function outcome(name, ok, ...)
  local t = { tostring(ok), show(ok and (...) or common(name, (...))) }
  for i = 2, math.min(select("#", ...), 6) do t[i + 1] = show((select(i, ...))) end
  local s = table.concat(t, " "):gsub("0x%x+", "0x"):gsub(buffer, "buffer"):gsub("builtin#%d+", "0x")
  return select("#", ...) .. " " .. s
end

local function write(s)
  s = s .. "\n"
  syscall.write(1, s, #s)
end

-- Calls f(description, n, a, b, c, d) for all lists of arguments.
local function grid(f)
  f("", 0)
  for i = 1, MOST[1] do f(VALUES[i][1], 1, VALUES[i][2]()) end
  for i = 1, MOST[2] do
    for j = 1, MOST[2] do
      f(VALUES[i][1] .. ", " .. VALUES[j][1], 2, VALUES[i][2](), VALUES[j][2]())
    end
  end
  for i = 1, MOST[3] do
    for j = 1, MOST[3] do
      for k = 1, MOST[3] do
        f(VALUES[i][1] .. ", " .. VALUES[j][1] .. ", " .. VALUES[k][1], 3, VALUES[i][2](),
          VALUES[j][2](), VALUES[k][2]())
      end
    end
  end
  local four = { 4, 5, 6, 2 }
  for i = 1, MOST[4] do
    for j = 1, MOST[4] do
      for k = 1, MOST[4] do
        local a, b, c = VALUES[four[i]], VALUES[four[j]], VALUES[four[k]]
        f("{}, " .. a[1] .. ", " .. b[1] .. ", " .. c[1], 4, { 5, 6, 7 }, a[2](), b[2](), c[2]())
        f("'abc', " .. a[1] .. ", " .. b[1] .. ", " .. c[1], 4, "abc", a[2](), b[2](), c[2]())
      end
    end
  end
end

-- Both ways of calling: through pcall(), and as a script does.
local function try(name, what, n, a, b, c, d, report)
  if not allowed(name, n, a, b, c, d) then return end
  local f, own = functions[name], CALLS[name][n]
  math.randomseed(1)
  if n == 0 then
    report(what, "p", outcome(name, pcall(f)))
    report(what, "c", outcome(name, pcall(own)))
  elseif n == 1 then
    report(what, "p", outcome(name, pcall(f, a)))
    report(what, "c", outcome(name, pcall(own, a)))
  elseif n == 2 then
    report(what, "p", outcome(name, pcall(f, a, b)))
    report(what, "c", outcome(name, pcall(own, a, b)))
  elseif n == 3 then
    report(what, "p", outcome(name, pcall(f, a, b, c)))
    report(what, "c", outcome(name, pcall(own, a, b, c)))
  else
    report(what, "p", outcome(name, pcall(f, a, b, c, d)))
    report(what, "c", outcome(name, pcall(own, a, b, c, d)))
  end
end

local function sum(h, s)
  for i = 1, #s do h = (h * 31 + s:byte(i)) % 4294967291 end
  return h
end

function run(chosen)
  if chosen > 0 then
    local name = names[chosen]
    grid(function(what, n, a, b, c, d)
      try(name, what, n, a, b, c, d, function(w, how, said) write(name .. "(" .. w .. ")" .. how .. " " .. said) end)
    end)
    return
  end
  for i, name in ipairs(names) do
    local h = 0
    grid(function(what, n, a, b, c, d)
      try(name, what, n, a, b, c, d, function(_, _, said) h = sum(h, said) end)
    end)
    write(i .. " " .. name .. " " .. h)
  end
end
