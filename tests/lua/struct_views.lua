-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- util.struct: layout, access, bounds, errors; interpreted and compiled.
local mmsghdr = util.struct [[
  struct {
    void *name; int namelen;          /* padded */
    void *iov; size_t iovlen;
    void *control; size_t controllen;
    int flags;
  } hdr;
  unsigned int len;                   // at 56
]]
local point = util.struct "short x, y;"
local mixed = util.struct([[
  point p[3];
  char *s;
  union { int a; long b; uint8_t bytes[8]; } u;
  signed char tiny; uint8_t tail[3], last;
  unsigned long long big; u2 two; const char name[16];
]], { point = point })
local wire = util.struct "__be16 port; __be32 address; __be64 big; __be16 list[2];"

local function layout(t, ...)
  local s = { t.size, t.align }
  for _, name in ipairs { ... } do s[#s + 1] = name .. "=" .. t.offsetof[name] end
  print(table.concat(s, " "))
end

layout(mmsghdr, "hdr", "len")
layout(point, "x", "y")
layout(mixed, "p", "s", "u", "tiny", "tail", "last", "big", "two", "name")

local base = util.buffer(4096)

local function fails(f, ...)
  print(select(2, pcall(f, ...)))
end

function run()
  local msgs = mmsghdr(base, 16)
  for round = 1, 40 do
    for i = 1, 16 do
      msgs[i].len = i * round
      msgs[i].hdr.flags = -i
      msgs[i].hdr.name = base + i
    end
  end
  local sum = 0
  for round = 1, 40 do
    for i = 1, 16 do
      local m = msgs[i]
      assert(util.peek(base + (i - 1) * 64 + 56, "u4") == m.len)
      sum = sum + m.len + m.hdr.flags + (m.hdr.name - base)
    end
  end
  print(sum, msgs[3][0] - base, msgs[3].hdr[0] - base)

  local v = mixed(base + 2048)
  for i = 1, 200 do
    v.p[i % 3 + 1].y = -i
    v.u.b = 2 ^ 40 + i
    v.tail[i % 3 + 1] = i
    v.name[i % 16 + 1] = i % 100
  end
  print(v.p[1].y, v.p[2].y, v.p[3].y, v.u.a, v.u.b == 2 ^ 40 + 200, v.u.bytes[1], v.tail[2], v.name[16])

  local net = wire(base + 3072)
  for i = 1, 200 do
    net.port, net.address, net.big, net.list[i % 2 + 1] = i, 2 ^ 31 + i, 2 ^ 40 + i, -i
    assert(net.port == i and util.peek(base + 3072, "b2") == i)
    assert(net.address == 2 ^ 31 + i and net.list[i % 2 + 1] == 65536 - i)
  end
  assert(util.str_in(base + 3072, wire.size) == wire.pack {
    port = 200, address = 2 ^ 31 + 200, big = 2 ^ 40 + 200, list = { 65536 - 200, 65536 - 199 },
  })
  print(net.big, (util.str_in(base + 3072, wire.size):gsub(".", function(c)
    return ("%02x"):format(c:byte())
  end)))
  util.copyout({ 1, 258 }, base, 2, "b4")
  print(util.str_in(base, 8):byte(1, -1))
  print(util.copyin(base, 2, "b4")[2], util.copyin(base + 2, 2, "b2")[1])
  fails(util.poke, base, "b2", 65536)
  fails(util.peek, base, "b1")

  fails(function() return msgs[17].len end)
  fails(function() return msgs[0].len end)
  fails(function() msgs[0] = 1 end)
  fails(function() return msgs[1.5].len end)
  fails(function() return msgs.len end)
  fails(function() return msgs[1].nothing end)
  fails(function() msgs[1] = 1 end)
  fails(function() msgs[1].hdr = 1 end)
  fails(function() msgs[1].nothing = 1 end)
  fails(function() msgs[1].len = 2 ^ 32 end)
  fails(function() msgs[1].len = "x" end)
  fails(function() return v.tail[4] end)
  fails(function() v.tail[0] = 1 end)
  fails(function() setmetatable(v, {}) end)
  fails(function() return mmsghdr(1.5) end)
  fails(function() return mmsghdr(base, -1) end)
  fails(function() return (mmsghdr(8).len) end)
  fails(util.struct, 5)
  for _, bad in ipairs {
    "", "int", "int x", "int x; int x;", "foo x;", "struct { int a; } ;",
    "struct { int a; x;", "int x[0];", "int x[];", "int x[3]]", "int 3x;", "x;", "int x,;",
  } do
    fails(util.struct, bad)
  end
  return 0
end
