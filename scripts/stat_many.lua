-- SPDX-License-Identifier: MIT
-- Attributes of many files.
--
--   dirfd  where relative paths begin, or AT_FDCWD
--   files  struct syscript_file[n]: .path, .data the address of a struct
--          syscript_stat, .result as of statx(2)
--   mask   STATX_*
--   flags  0 or AT_SYMLINK_NOFOLLOW
--
-- Returns how many were done: fewer than n if a signal came.

local stat_files = fs.stat_files

function run(dirfd, files, n, mask, flags)
  return stat_files(dirfd, files, n, mask, flags)
end
