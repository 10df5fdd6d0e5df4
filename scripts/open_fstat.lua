-- SPDX-License-Identifier: MIT
-- Opens files and returns their attributes: those of the opened file, even if its
-- name is replaced meanwhile.
--
--   dirfd  where relative paths begin, or AT_FDCWD
--   files  struct syscript_file[n]: .path, .data the address of a struct
--          syscript_stat or 0, .result the descriptor or a negative errno
--   flags, mode  as of open(2)
--   mask   STATX_*
--
-- Returns how many were done: fewer than n if a signal came.

local open_files = fs.open_files

function run(dirfd, files, n, flags, mode, mask)
  return open_files(dirfd, files, n, flags, mode, mask)
end
