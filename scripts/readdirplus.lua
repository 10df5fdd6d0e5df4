-- SPDX-License-Identifier: MIT
-- Names and attributes of a directory's entries, from its descriptor's position
-- on: as getdents64(2) and, for each entry, statx(2) would return.
--
--   fd    the directory; or, with a path, the directory where that begins
--   buf   room for size bytes: a struct syscript_dirent for each entry
--   mask  STATX_*, the attributes that are wanted; 0 for none
--   dots  1: "." and ".." as well
--   path  of a directory to open first, or 0
--
-- Returns how many entries there are, their bytes, and whether the directory is
-- at its end; with a path also a descriptor to go on with, or -1 if it is at its
-- end.  Or a negative errno: -EINVAL if not even one has room.

local readdirplus, openat, close = fs.readdirplus, syscall.openat, syscall.close
local OPEN = const.O_RDONLY + const.O_DIRECTORY + const.O_CLOEXEC

function run(fd, buf, size, mask, dots, path)
  if path == 0 then
    return readdirplus(fd, buf, size, mask, dots ~= 0)
  end
  local dir = openat(fd, path, OPEN)
  if dir < 0 then return dir end
  local n, bytes, done = readdirplus(dir, buf, size, mask, dots ~= 0)
  if n < 0 or done then
    close(dir)
    dir = -1
  end
  return n, bytes, done, dir
end
