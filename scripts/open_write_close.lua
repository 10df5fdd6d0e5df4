-- SPDX-License-Identifier: MIT
-- Writes files: opens each, writes all of its data, and closes it.
--
--   dirfd  where relative paths begin, or AT_FDCWD
--   files  struct syscript_file[n]: .path, .data and .size what to write, .result
--          the bytes written or a negative errno
--   flags  O_CREAT, O_TRUNC, O_APPEND, O_EXCL
--   mode   of files that are created
--   atomic 1: each file has either its old or its new contents, even if the
--          machine crashes. New contents are written to a temporary file in the
--          same directory, which is synced and then renamed. Of the flags only
--          O_EXCL has an effect: the name must not exist
--
-- Returns the number of files done: fewer than n after a signal.

local openat, write, fsync, close = syscall.openat, syscall.write, syscall.fsync, syscall.close
local linkat, renameat2, unlinkat = syscall.linkat, syscall.renameat2, syscall.unlinkat
local peek, poke, str_in, pending = util.peek, util.poke, util.str_in, util.pending
local write_files = fs.write_files

local FILE, RESULT = 32, 24       -- bytes of struct syscript_file, offset
local PATH_MAX, NAME_MAX = 4096, 255
local EEXIST, EFAULT, EINTR, EINVAL, ENOENT, ENAMETOOLONG, EPERM =
  -errno.EEXIST, -errno.EFAULT, -errno.EINTR, -errno.EINVAL, -errno.ENOENT,
  -errno.ENAMETOOLONG, -errno.EPERM
local TEMPORARY = const.O_WRONLY + const.O_CREAT + const.O_EXCL + const.O_CLOEXEC +
                  const.O_NOFOLLOW
local NOREPLACE = 1

-- The string at an address, read in pieces that end at page boundaries.
local function path_at(addr)
  local path = ""
  while #path < PATH_MAX do
    local n = 256 - addr % 256
    local piece = str_in(addr, n)
    local stop = piece:find("\0", 1, true)
    if stop then return path .. piece:sub(1, stop - 1) end
    path, addr = path .. piece, addr + n
  end
end

local made = 0

-- A new file in the same directory, so that it can be renamed.
local function temporary(dirfd, path, mode)
  local dir, name = path:match("^(.*/)([^/]*)$")
  if not dir then dir, name = "", path end
  if name == "" or name == "." or name == ".." then return ENOENT end
  if #name > NAME_MAX then return ENAMETOOLONG end
  local pid = syscall.getpid()
  for _ = 1, 100 do
    made = made + 1
    local other = ("%s.%s.%d-%d"):format(dir, name:sub(1, 200), pid, made)
    local fd = openat(dirfd, other, TEMPORARY, mode)
    if fd ~= EEXIST then return fd, other end
  end
  return EEXIST
end

local function write_all(fd, data, size)
  local done = 0
  while done < size do
    local n = write(fd, data + done, size - done)
    if n < 0 then return n end
    done = done + n
    if done < size and pending() then return EINTR end
  end
  return done
end

-- NFS and older servers of FUSE refuse to rename only if the name is free, but can link.
local function rename(dirfd, other, path, flags)
  local err = renameat2(dirfd, other, dirfd, path, flags)
  if err ~= EINVAL or flags == 0 then return err end
  local linked = linkat(dirfd, other, dirfd, path, 0)
  if linked >= 0 then unlinkat(dirfd, other, 0) end
  return linked == EPERM and err or linked
end

local function replace(dirfd, file, flags, mode)
  local good, path = pcall(path_at, peek(file, "i8"))
  if not good then return EFAULT end
  if not path then return ENAMETOOLONG end
  local fd, other = temporary(dirfd, path, mode)
  if fd < 0 then return fd end
  local done = write_all(fd, peek(file + 8, "i8"), peek(file + 16, "i8"))
  local err = done < 0 and done or fsync(fd)
  local closed = close(fd)
  if err >= 0 then err = closed end
  if err >= 0 then err = rename(dirfd, other, path, flags) end
  if err < 0 then
    unlinkat(dirfd, other, 0)
    return err
  end
  return done
end

function run(dirfd, files, n, flags, mode, atomic)
  if atomic == 0 then
    return write_files(dirfd, files, n, flags, mode)
  end
  local noreplace = bit.band(flags, const.O_EXCL) ~= 0 and NOREPLACE or 0
  for i = 0, n - 1 do
    local file = files + FILE * i
    if i > 0 and pending() then return i end
    poke(file + RESULT, "i8", replace(dirfd, file, noreplace, mode))
  end
  return n
end
