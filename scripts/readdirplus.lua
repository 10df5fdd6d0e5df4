-- SPDX-License-Identifier: MIT
-- Names and attributes of a directory's entries, from its descriptor's position
-- on: what getdents64(2) and, for each entry, statx(2) would give.
--
--   fd    the directory
--   buf   room for size bytes: a struct syscript_dirent for each entry
--   mask  STATX_*, the attributes that are wanted; 0 for none
--   dots  1: "." and ".." as well
--
-- Returns how many entries there are, their bytes, and whether the directory is
-- at its end.  Or a negative errno: -EINVAL if not even one has room.

local readdirplus = fs.readdirplus

function run(fd, buf, size, mask, dots)
  return readdirplus(fd, buf, size, mask, dots ~= 0)
end
