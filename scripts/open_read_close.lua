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

local openat, read, close, lseek = syscall.openat, syscall.read, syscall.close, syscall.lseek
local OPEN, SEEK_END = const.O_RDONLY + const.O_CLOEXEC, const.SEEK_END
local EINTR, pending = -errno.EINTR, util.pending

function run(dirfd, path, buf, size)
  local fd = openat(dirfd, path, OPEN)
  if fd < 0 then return fd end
  local done, n, total = 0, 0, -1
  repeat
    n = read(fd, buf + done, size - done)
    if n > 0 then done = done + n end
    if n > 0 and done < size and pending() then n, done = EINTR, 0 end
  until n <= 0 or done == size
  if n == 0 then
    total = done
  elseif n > 0 then
    total = lseek(fd, 0, SEEK_END)
    if total < done then total = -1 end
  end
  close(fd)
  if n < 0 and done == 0 then return n end
  return done, total
end
