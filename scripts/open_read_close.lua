-- SPDX-License-Identifier: MIT
-- A file's contents: opens it, reads it to its end or until the buffer is full,
-- and closes it.
--
--   dirfd, path  the file, as of openat(2)
--   buf, size    the buffer
--
-- Returns the bytes read and the size of the file, which is larger if there is
-- more; -1 if only reading could tell.  Or a negative errno: -EINTR if a signal
-- came before the end.

local read_file = fs.read_file

function run(dirfd, path, buf, size)
  local n, total = read_file(dirfd, path, buf, size)
  if n < 0 then return n end
  return n, total
end
