-- SPDX-License-Identifier: MIT
-- Walks a tree, depth first, a part with each call. Functions defined before this
-- text decide about each entry; each is optional:
--
--   match(e, i)  true if entry i of the columns e matches      (all of them do)
--   sum(e, i)    a number to add up over matching entries      (0)
--   prune(e, i)  true if directory i must not be entered       (none)
--   columns      list of the columns that these functions read, as of fs.entries():
--                "size", "mtime", "name", ...; type and error are always there
--
--   match = function(e, i) return e.size[i] > 1e6 end  columns = { "size" }
--
-- run(dir, token, budget, out, room, flags):
--   dir     descriptor of the tree's top
--   token   0 to begin, then the last call's result; -1 to give up
--   budget  approximate maximum of entries in this call
--   out     buffer of room bytes for the paths of matching entries, each with a NUL;
--           or 0
--   flags   1: stay on the file system of the top
--
-- Returns a token, 0 once the tree is done; then, for this call: entries, matches,
-- sum, errors, bytes written (-ENAMETOOLONG if not even one path fits), directories
-- read. Or a negative errno, -EINVAL for a token that the last call did not return.
-- Symbolic links are not followed. Entries that vanish meanwhile are not counted,
-- not even as errors.

local DT_DIR, XDEV = 4, 1
local DEPTH_OPEN = 24     -- levels with an open descriptor
local BATCH, BATCH_DEEP = 256, 16
local EINVAL, ENOENT, ENAMETOOLONG = -errno.EINVAL, -errno.ENOENT, -errno.ENAMETOOLONG
local OPEN = const.O_RDONLY + const.O_DIRECTORY + const.O_NOFOLLOW +
             const.O_CLOEXEC + const.O_NONBLOCK

local openat, close, newfstatat = syscall.openat, syscall.close, syscall.newfstatat
local fcntl = syscall.fcntl
local entries, tell, seek = fs.entries, fs.tell, fs.seek
local str_out, peek, pending = util.str_out, util.peek, util.pending
match, sum, prune, columns = match, sum, prune, columns or {}
local match, sum, prune = match, sum, prune

local e = { type = {}, error = {}, dirname = {} }
for _, name in ipairs(columns) do e[name] = {} end
local stat = util.buffer(144)     -- struct stat

-- The levels from the top to the current one are levels[1] to levels[depth]; those after it
-- are kept for reuse. A level's directories are entered batch by batch, so that it holds the
-- names of one batch only: names[1] to names[count], of which names[next] is the next one.
local levels, depth = {}, 0
local batch, at = 0, 0            -- of e: number of entries, and of those done
local generation, current = 0, 0
local want_paths, top_dev = false, 0
-- The results of this call.
local seen, matched, total, failed, bytes, dirs = 0, 0, 0, 0, 0, 0

-- They stay open between calls, so they avoid 0, 1 and 2, even if the program closed these.
local function open_dir(dir, name)
  local fd = openat(dir, name, OPEN)
  if fd < 0 or fd > 2 then return fd end
  local above = fcntl(fd, const.F_DUPFD_CLOEXEC, 3)
  close(fd)
  return above
end

local function identity(fd)
  local ret = newfstatat(fd, "", stat, const.AT_EMPTY_PATH)
  if ret < 0 then return ret end
  return peek(stat, "u4"), peek(stat + 8, "u4"), peek(stat + 12, "u4")
end

-- Descriptors of far levels are closed: the directory's position is saved instead.
local function close_far(level)
  if not level.fd then return end
  level.pos = tell(level.fd)
  level.dev, level.low, level.high = identity(level.fd)
  close(level.fd)
  level.fd = false
end

local function push(fd, name)
  local above = levels[depth]
  depth = depth + 1
  local level = levels[depth]
  if not level then
    level = { fd = fd, names = {}, count = 0, next = 1, done = false, path = false }
    levels[depth] = level
  end
  level.fd, level.count, level.next, level.done = fd, 0, 1, false
  level.path = want_paths and (above and above.path .. name .. "/" or "")
  dirs = dirs + 1
  if depth > DEPTH_OPEN + 1 then
    close_far(levels[depth - DEPTH_OPEN])
  end
end

local function drop()
  local level = levels[depth]
  if level.fd then close(level.fd) end
  level.fd = false
  depth = depth - 1
end

-- Back up. The level above is found as "..", if that is still the same directory.
local function pop()
  local level, above = levels[depth], levels[depth - 1]
  if above and not above.fd then
    local fd = open_dir(level.fd, "..")
    local dev, low, high = -1
    if fd >= 0 then dev, low, high = identity(fd) end
    if dev == above.dev and low == above.low and high == above.high and
       type(above.pos) == "string" and seek(fd, above.pos) == 0 then
      above.fd = fd
    elseif fd >= 0 then
      close(fd)
    end
  end
  drop()
  -- It was moved: the rest of it, and of the levels above, is out of reach.
  while depth > 0 and not levels[depth].fd do
    failed = failed + 1
    drop()
  end
end

-- Entries of a batch when no paths are wanted: nothing can stop it.
local function look(level)
  local types, errors, names = e.type, e.error, level.names
  local found, added, errs, n = 0, 0, 0, level.count
  for i = at + 1, batch do
    local err = errors[i]
    if err == 0 then
      if not match or match(e, i) then
        found = found + 1
        if sum then added = added + sum(e, i) end
      end
      if types[i] == DT_DIR and not (prune and prune(e, i)) and
         (top_dev == 0 or e.dev[i] == top_dev) then
        n = n + 1
        names[n] = e.dirname[i]
      end
    elseif err == ENOENT then
      seen = seen - 1
    else
      errs = errs + 1
    end
  end
  seen = seen + batch - at
  matched, total, failed = matched + found, total + added, failed + errs
  level.count, at = n, batch
end

-- Also writes the paths; returns false at the first that does not fit.
local function look_and_tell(level, out, room)
  while at < batch do
    local i = at + 1
    local err = e.error[i]
    if err == 0 then
      if not match or match(e, i) then
        local path = level.path .. e.name[i] .. "\0"
        if #path > room - bytes then return false end
        bytes = bytes + str_out(path, out + bytes)
        matched = matched + 1
        if sum then total = total + sum(e, i) end
      end
      if e.type[i] == DT_DIR and not (prune and prune(e, i)) and
         (top_dev == 0 or e.dev[i] == top_dev) then
        level.count = level.count + 1
        level.names[level.count] = e.dirname[i]
      end
    elseif err ~= ENOENT then
      failed = failed + 1
    end
    if err ~= ENOENT then seen = seen + 1 end
    at = i
  end
  return true
end

local function step(level)
  if level.next <= level.count then
    local name = level.names[level.next]
    level.next = level.next + 1
    local fd = open_dir(level.fd, name)
    if fd >= 0 then
      push(fd, name)
    elseif fd ~= ENOENT then
      failed = failed + 1
    end
  elseif level.done then
    pop()
  else
    level.count, level.next = 0, 1
    local n, done = entries(level.fd, e, depth < DEPTH_OPEN and BATCH or BATCH_DEEP)
    batch, at = n, 0
    level.done = done
    if n < 0 then
      failed = failed + 1
      batch, level.done = 0, true
    end
  end
end

local function begin(dir, out, flags)
  while depth > 0 do drop() end
  batch, at = 0, 0
  want_paths = out ~= 0
  if want_paths then e.name = e.name or {} end
  top_dev = 0
  local fd = open_dir(dir, ".")
  if fd < 0 then return fd end
  if bit.band(flags, XDEV) ~= 0 then
    e.dev = e.dev or {}
    local dev = identity(fd)
    if dev < 0 then
      close(fd)
      return dev
    end
    top_dev = dev
  end
  push(fd)
  generation = generation + 1
  current = generation
  return 0
end

local function results()
  if depth == 0 then current = 0 end
  return current, seen, matched, total, failed, bytes, dirs
end

function run(dir, token, budget, out, room, flags)
  seen, matched, total, failed, bytes, dirs = 0, 0, 0, 0, 0, 0
  if token == -1 then
    while depth > 0 do drop() end
    return results()
  elseif token == 0 then
    local err = begin(dir, out, flags)
    if err < 0 then return err end
  elseif token ~= current or want_paths ~= (out ~= 0) then
    return EINVAL
  end
  -- A signal is pending: the next call continues from here.
  while depth > 0 and seen < budget and
        not (seen > 0 and pending()) do
    local level = levels[depth]
    if at == batch then
      step(level)
    elseif out == 0 then
      look(level)
    else
      if not look_and_tell(level, out, room) then
        if bytes == 0 then bytes = ENAMETOOLONG end
        break
      end
    end
  end
  return results()
end
