-- SPDX-License-Identifier: MIT
-- Contents of many files, each opened, read to its end and closed.
--
--   dirfd  where relative paths begin, or AT_FDCWD
--   files  struct syscript_file[n]: .path, .data and .size a buffer, .result the
--          bytes read or a negative errno.  A file that fills its buffer may go on
--   flags  O_NOFOLLOW, O_NONBLOCK, ... or 0
--
-- Returns how many were done: fewer than n if a signal came.

local read_files = fs.read_files

function run(dirfd, files, n, flags)
  return read_files(dirfd, files, n, flags)
end
