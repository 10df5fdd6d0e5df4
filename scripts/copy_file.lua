-- SPDX-License-Identifier: MIT
-- Copies a file by the first way that works: sharing its blocks (reflink), within the
-- kernel, or by reading and writing.
--
--   from_dir, from  the file, as of openat(2)
--   to_dir, to      the copy; an existing file is overwritten
--   flags           O_EXCL: the copy must not exist yet
--   mode            of a new copy
--
-- Returns the bytes copied, and how: 1 reflink, 2 copy_file_range(2), 3
-- sendfile(2), 4 read and write.  Or a negative errno, -EINTR if a signal came;
-- then there may be a partial copy.

local openat, close, fstat = syscall.openat, syscall.close, syscall.fstat
local copy_file_range, sendfile = syscall.copy_file_range, syscall.sendfile
local read, write, ioctl = syscall.read, syscall.write, syscall.ioctl
local peek, pending = util.peek, util.pending

local EINTR = -errno.EINTR
local EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM, EBADF, ETXTBSY =
  -errno.EXDEV, -errno.EINVAL, -errno.ENOSYS, -errno.EOPNOTSUPP, -errno.EPERM,
  -errno.EBADF, -errno.ETXTBSY
local FICLONE = 0x40049409        -- _IOW(0x94, 9, int)
local CHUNK = 2 ^ 30              -- at once, so that a signal need not wait long
local S_IFMT, S_IFREG = 0xf000, 0x8000
local ROOM = 65536

local stat = util.buffer(144)     -- struct stat
local buf

-- An error that means: try another way, not between these two files.
local function other_way(err)
  return err == EXDEV or err == EINVAL or err == ENOSYS or err == EOPNOTSUPP or
         err == EPERM or err == EBADF or err == ETXTBSY
end

local function by_kernel(call, from, to)
  local done = 0
  while true do
    local n
    if call == sendfile then
      n = sendfile(to, from, 0, CHUNK)
    else
      n = copy_file_range(from, 0, to, 0, CHUNK, 0)
    end
    if n == 0 then return done end
    if n < 0 then return n, done end
    done = done + n
    if pending() then return EINTR, done end
  end
end

local function by_hand(from, to)
  local done = 0
  buf = buf or util.buffer(ROOM)
  while true do
    local n = read(from, buf, ROOM)
    if n <= 0 then return n < 0 and n or done end
    local put = 0
    while put < n do
      local m = write(to, buf + put, n - put)
      if m < 0 then return m end
      put = put + m
    end
    done = done + n
    if pending() then return EINTR end
  end
end

local function copy(from, to, size, regular)
  if regular and size > 0 and ioctl(to, FICLONE, from) == 0 then
    return size, 1
  end
  -- Files of /proc report a size of 0, which copy_file_range() believes.
  if regular and size > 0 then
    local n, done = by_kernel(copy_file_range, from, to)
    if n > 0 or (n < 0 and not (other_way(n) and done == 0)) then return n, 2 end
    n, done = by_kernel(sendfile, from, to)
    if n > 0 or (n < 0 and not (other_way(n) and done == 0)) then return n, 3 end
  end
  return by_hand(from, to), 4
end

local function copy_to(from, to_dir, to_path, flags, mode)
  local err = fstat(from, stat)
  if err < 0 then return err end
  local dev, ino = peek(stat, "u4"), peek(stat + 8, "u4")
  local regular = bit.band(peek(stat + 24, "u4"), S_IFMT) == S_IFREG
  local size = peek(stat + 48, "i8")
  local to = openat(to_dir, to_path, const.O_WRONLY + const.O_CREAT + const.O_CLOEXEC +
                    bit.band(flags, const.O_EXCL), mode)
  if to < 0 then return to end
  -- Truncated only now: it may be the same file.
  err = fstat(to, stat)
  if err == 0 and peek(stat, "u4") == dev and peek(stat + 8, "u4") == ino then
    err = EINVAL
  end
  if err == 0 and bit.band(peek(stat + 24, "u4"), S_IFMT) == S_IFREG then
    err = syscall.ftruncate(to, 0)
  end
  local n, how = err, 0
  if err == 0 then n, how = copy(from, to, size, regular) end
  local closed = close(to)
  if n >= 0 and closed < 0 then n = closed end
  return n, how
end

function run(from_dir, from_path, to_dir, to_path, flags, mode)
  local from = openat(from_dir, from_path, const.O_RDONLY + const.O_CLOEXEC)
  if from < 0 then return from end
  local n, how = copy_to(from, to_dir, to_path, flags, mode)
  close(from)
  return n, how
end
