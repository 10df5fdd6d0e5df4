-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- util.struct: named, bounds-checked access to C structures in user memory, and in
-- frames of a network device.
--
--   local mmsghdr = util.struct [[
--     struct { void *name; int namelen; void *iov; size_t iovlen;
--              void *control; size_t controllen; int flags; } hdr;
--     unsigned int len;
--   ]]
--   local msgs = mmsghdr(addr, 16)     -- msgs[1] .. msgs[16]
--   msgs[i].hdr.flags = 0
--   total = total + msgs[i].len
--
-- A view is a table without members: reading and assigning go through
-- metamethods, whose look-ups are hoisted out of compiled loops, so that only
-- peek() or poke() of a known kind remains.  A view has its address at [0], where
-- system calls look for it.
--
-- Loaded when a script first asks for util.struct; called with util.

local util = ...
local peek, poke = util.peek, util.poke
local error, tostring, type, setmetatable, rawget, rawset =
  error, tostring, type, setmetatable, rawget, rawset
local find, match, sub, format = string.find, string.match, string.sub, string.format
local char, floor = string.char, math.floor

-- C's names for scalars on x86-64, as kinds of peek().
local kinds = {
  ["char"] = "i1", ["signed char"] = "i1", ["unsigned char"] = "u1", ["bool"] = "u1",
  ["short"] = "i2", ["unsigned short"] = "u2",
  ["int"] = "i4", ["signed"] = "i4", ["signed int"] = "i4",
  ["unsigned"] = "u4", ["unsigned int"] = "u4",
  ["long"] = "i8", ["unsigned long"] = "u8",
  ["long long"] = "i8", ["unsigned long long"] = "u8",
  ["size_t"] = "u8", ["ssize_t"] = "i8", ["off_t"] = "i8", ["time_t"] = "i8",
  ["socklen_t"] = "u4", ["sa_family_t"] = "u2", ["mode_t"] = "u4",
  ["pid_t"] = "i4", ["uid_t"] = "u4", ["gid_t"] = "u4",
}
for _, n in ipairs { 1, 2, 4, 8 } do
  kinds["int" .. n * 8 .. "_t"], kinds["uint" .. n * 8 .. "_t"] = "i" .. n, "u" .. n
  kinds["i" .. n], kinds["u" .. n] = "i" .. n, "u" .. n
  kinds["__s" .. n * 8], kinds["__u" .. n * 8] = "i" .. n, "u" .. n
  if n > 1 then
    kinds["__be" .. n * 8], kinds["b" .. n] = "b" .. n, "b" .. n
  end
end

-- A type has size and align; a scalar has kind, other types have view(addr).
local scalars = {}
for name, kind in pairs(kinds) do
  local size = tonumber(sub(kind, 2))
  scalars[name] = { kind = kind, size = size, align = size }
end

local function is_index(i, n)
  return type(i) == "number" and i >= 1 and i <= n and i % 1 == 0
end

local function no_element(i, n)
  error(format("index %s is outside 1 .. %d", tostring(i), n), 3)
end

local function no_field(name)
  error(format("the structure has no field '%s'", tostring(name)), 3)
end

local function not_assignable(name)
  error(format("'%s' is not a scalar: assign to its parts", tostring(name)), 3)
end

-- The constant makes an array part of one slot.  LuaJIT would allocate three, and look up
-- the first elements of an array there, without success, before the metamethod.
local function new_table(addr, mt)
  local view = { [0] = 0 }
  view[0] = addr
  return setmetatable(view, mt)
end

local function scalars_view(element, n)
  local kind, size = element.kind, element.size
  local mt = { __metatable = "array" }
  function mt.__index(self, i)
    if not is_index(i, n) then no_element(i, n) end
    return peek(self[0] + (i - 1) * size, kind)
  end
  function mt.__newindex(self, i, value)
    if not is_index(i, n) then no_element(i, n) end
    return poke(self[0] + (i - 1) * size, kind, value)
  end
  return function(addr)
    return new_table(addr, mt)
  end
end

-- Views of elements are made once, and are not members of the table that scripts
-- see, so that assignments to it reach __newindex and are refused.
local function array_view(element, n)
  return function(addr)
    local elements = {}
    local mt = { __metatable = "array" }
    function mt.__index(_, i)
      local v = elements[i]
      if not v then
        if not is_index(i, n) then no_element(i, n) end
        v = element.view(addr + (i - 1) * element.size)
        elements[i] = v
      end
      return v
    end
    function mt.__newindex(_, i)
      not_assignable(i)
    end
    return new_table(addr, mt)
  end
end

local function check_bytes(t, s)
  if #s > t.size then
    error(format("%d bytes are too many for an array of %d", #s, t.size), 3)
  end
end

-- Stores the bytes of a string into an array of bytes, and zeros into the rest.
local function set_bytes(addr, t, s)
  check_bytes(t, s)
  util.str_out(s, addr)
  util.fill(addr + #s, 0, t.size - #s)
end

-- Views of members that are not scalars are made once, too.  They are stored in the array
-- part, after the address: the hash part stays empty, so look-ups there fail quickly.
local function struct_view(fields)
  local mt = { __metatable = "struct" }
  function mt.__index(self, name)
    local field = fields[name]
    if not field then no_field(name) end
    local kind = field.kind
    if kind then
      return peek(self[0] + field.offset, kind)
    end
    local v = rawget(self, field.slot)
    if not v then
      v = field.view(self[0] + field.offset)
      rawset(self, field.slot, v)
    end
    return v
  end
  function mt.__newindex(self, name, value)
    local field = fields[name]
    if not field then no_field(name) end
    local kind = field.kind
    if not kind then
      if type(value) ~= "string" or not field.type.bytes then not_assignable(name) end
      return set_bytes(self[0] + field.offset, field.type, value)
    end
    return poke(self[0] + field.offset, kind, value)
  end
  return function(addr)
    return new_table(addr, mt)
  end
end

local function array_of(element, n)
  local view = element.kind and scalars_view or array_view
  return {
    size = element.size * n, align = element.align, view = view(element, n),
    element = element, count = n, bytes = element.kind and element.size == 1,
  }
end

-- Frames --------------------------------------------------------------------

-- A view of a frame's bytes has the frame at [0], which no system call takes for an
-- address; the offset at [-1], and an array's length at [-2].  Views of parts are made at
-- each access; compiled loops avoid them, except for arrays whose index is not constant.
-- The frame checks bounds, and whether it still exists.

local function frame_view(f, off, n, mt)
  local view = { [0] = 0, [-1] = 0, [-2] = 0 }
  view[0], view[-1], view[-2] = f, off, n
  return setmetatable(view, mt)
end

local frame_array, frame_struct

local function frame_get(f, off, t)
  if t.kind then return f:peek(off, t.kind) end
  if t.element then return frame_array(f, off, t.element, t.count) end
  return frame_struct(f, off, t)
end

local function frame_set(f, off, t, name, value)
  if t.kind then return f:poke(off, t.kind, value) end
  if type(value) ~= "string" or not t.bytes then
    error(format("'%s' is not a scalar: assign to its parts", tostring(name)), 2)
  end
  check_bytes(t, value)
  f:peek(off + t.size - 1, "u1")  -- No frame gets longer by this.
  f:put(off, value)
  f:fill(off + #value, 0, t.size - #value)
end

local function elements_in_frame(element)
  local size, mt = element.size, { __metatable = "array" }
  function mt.__index(self, i)
    if not is_index(i, self[-2]) then no_element(i, self[-2]) end
    return frame_get(self[0], self[-1] + (i - 1) * size, element)
  end
  function mt.__newindex(self, i, value)
    if not is_index(i, self[-2]) then no_element(i, self[-2]) end
    return frame_set(self[0], self[-1] + (i - 1) * size, element, i, value)
  end
  return mt
end

local function fields_in_frame(fields)
  local mt = { __metatable = "struct" }
  function mt.__index(self, name)
    local field = fields[name]
    if not field then no_field(name) end
    return frame_get(self[0], self[-1] + field.offset, field.type)
  end
  function mt.__newindex(self, name, value)
    local field = fields[name]
    if not field then no_field(name) end
    return frame_set(self[0], self[-1] + field.offset, field.type, name, value)
  end
  return mt
end

-- A type's metatables for frames are made at their first use.
function frame_array(f, off, element, n)
  local mt = element.in_frames
  if not mt then
    mt = elements_in_frame(element)
    element.in_frames = mt
  end
  return frame_view(f, off, n, mt)
end

function frame_struct(f, off, t)
  local mt = t.in_frame
  if not mt then
    mt = fields_in_frame(t.fields)
    t.in_frame = mt
  end
  return frame_view(f, off, 0, mt)
end

-- Strings -----------------------------------------------------------------

local put  -- (bytes, at, type, value)

local function put_integer(bytes, at, t, value)
  local bits = 8 * t.size
  if type(value) ~= "number" or value % 1 ~= 0 or value < -2 ^ (bits - 1) or value >= 2 ^ bits then
    error(format("%s (a %s) does not fit '%s'", tostring(value), type(value), t.kind), 0)
  end
  local first, last, step = at, at + t.size - 1, 1
  if sub(t.kind, 1, 1) == "b" then first, last, step = last, first, -1 end
  for i = first, last, step do
    bytes[i] = value % 256
    value = floor(value / 256)
  end
end

local function put_array(bytes, at, t, value)
  if type(value) == "string" and t.bytes then value = { value:byte(1, -1) } end
  if type(value) ~= "table" or #value > t.count then
    error(format("%d elements expected at most", t.count), 0)
  end
  for i = 1, #value do
    put(bytes, at + (i - 1) * t.element.size, t.element, value[i])
  end
end

local function put_fields(bytes, at, t, values)
  if type(values) ~= "table" then error("a table of fields expected", 0) end
  for name, value in pairs(values) do
    local field = t.fields[name]
    if not field then error(format("the structure has no field '%s'", tostring(name)), 0) end
    put(bytes, at + field.offset, field.type, value)
  end
end

function put(bytes, at, t, value)
  local how = t.kind and put_integer or t.element and put_array or put_fields
  how(bytes, at, t, value)
end

-- A structure as a string; fields that @values lacks are zero.  Errors are at @level of the caller.
local function pack(t, values, level)
  local bytes = {}
  for i = 1, t.size do bytes[i] = 0 end
  local ok, message = pcall(put, bytes, 1, t, values)
  if not ok then error("pack: " .. message, level + 1) end
  for i = 1, t.size do bytes[i] = char(bytes[i]) end
  return table.concat(bytes)
end

-- Parsing -----------------------------------------------------------------

local function complain(src, at, what)
  local near = match(src, "^%s*(%S*)", at)
  error(format("util.struct: %s near '%s'", what, near == "" and "the end" or near), 0)
end

local function strip_comments(src)
  return (src:gsub("/%*.-%*/", " "):gsub("//[^\n]*", " "))
end

local members  -- (src, at, types, union) -> type, at

-- The type before a member's name: words, or a structure in braces.
local function base_type(src, at, types)
  local what, body = match(src, "^%s*(%a+)%s*{()", at)
  if what == "struct" or what == "union" then
    local t, after = members(src, body, types, what == "union")
    local close = match(src, "^%s*}()", after)
    if not close then complain(src, after, "'}' expected") end
    return t, close
  end
  local words, from = nil, at
  while true do
    local word, after = match(src, "^%s*([%a_][%w_]*)()", from)
    if not word or (words and not find(src, "^%s*[%a_*]", after)) then break end
    if word ~= "const" and word ~= "volatile" then
      words = words and words .. " " .. word or word
    end
    from = after
  end
  local t = words and (types and types[words] or scalars[words])
  if not t and words and find(src, "^%s*%*", from) then
    t = scalars.u8  -- Whatever it points to.
  end
  if not t then complain(src, at, "unknown type") end
  return t, from
end

-- Parses [n], or nothing, after a member's name.
local function dimension(src, at, t)
  local n, after = match(src, "^%s*%[%s*(%d+)%s*%]()", at)
  if not n then return t, at end
  n = tonumber(n)
  if n < 1 or n > 2^20 then complain(src, at, "bad array size") end
  return array_of(t, n), after
end

-- Parses *name[n] after a type.
local function declarator(src, at, t)
  local stars, name, after = match(src, "^%s*(%**)%s*([%a_][%w_]*)()", at)
  if not name then complain(src, at, "name expected") end
  if stars ~= "" then t = scalars.u8 end
  t, after = dimension(src, after, t)
  return name, t, after
end

local function align_up(n, align)
  return n + (-n) % align
end

function members(src, at, types, union)
  local fields, offsets, size, align, slots = {}, {}, 0, 1, 0
  while find(src, "^%s*[%a_]", at) do
    local base
    base, at = base_type(src, at, types)
    repeat
      local name, t
      name, t, at = declarator(src, at, base)
      if fields[name] then complain(src, at, "two fields '" .. name .. "'") end
      local offset = union and 0 or align_up(size, t.align)
      if not t.kind then slots = slots + 1 end
      fields[name] = { offset = offset, kind = t.kind, view = t.view, slot = slots, type = t }
      offsets[name] = offset
      size, align = math.max(size, offset + t.size), math.max(align, t.align)
      local comma = match(src, "^%s*,()", at)
      at = comma or at
    until not comma
    local semicolon = match(src, "^%s*;()", at)
    if not semicolon then complain(src, at, "';' expected") end
    at = semicolon
  end
  if size == 0 then complain(src, at, "member expected") end
  return {
    size = align_up(size, align), align = align, offsetof = offsets,
    view = struct_view(fields), fields = fields,
  }, at
end

-- Functions for scripts -----------------------------------------------------

local function check_integer(what, i, min)
  if type(i) ~= "number" or i % 1 ~= 0 or i < min then
    error(format("bad %s: %s", what, tostring(i)), 3)
  end
end

-- (frame, offset [, n]); an offset of nil is 0.
local function new_view_of_frame(t, f, off, n)
  if not f.peek then error("address or frame expected, got userdata", 2) end
  off = off or 0
  check_integer("offset", off, 0)
  if n == nil then
    return frame_struct(f, off, t)
  end
  check_integer("count", n, 0)
  return frame_array(f, off, t, n)
end

local function new_view(t, addr, n, count)
  if type(addr) == "userdata" then
    return new_view_of_frame(t, addr, n, count)
  end
  check_integer("address", addr, -2^53)
  if n == nil then
    return t.view(addr)
  end
  check_integer("count", n, 0)
  return array_of(t, n).view(addr)
end

-- A view of new memory, zeroed or with the fields of a table.
local function new(t, what)
  if type(what) == "number" then
    check_integer("count", what, 1)
    return array_of(t, what).view(util.buffer(what * t.size))
  end
  local addr = util.buffer(t.size)
  if what ~= nil then util.str_out(pack(t, what, 2), addr) end
  return t.view(addr)
end

local function all_members(src, types)
  local t, at = members(src, 1, types)
  if find(src, "%S", at) then complain(src, at, "member expected") end
  return t
end

local function struct(src, types)
  if type(src) ~= "string" then
    error("util.struct: declaration expected, got " .. type(src), 2)
  end
  src = strip_comments(src)
  local ok, t = pcall(all_members, src, types)
  if not ok then error(t, 2) end
  function t.pack(values) return pack(t, values, 1) end
  function t.new(what) return new(t, what) end
  return setmetatable(t, { __call = new_view, __metatable = "type" })
end

return { struct = struct }
