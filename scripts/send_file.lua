-- SPDX-License-Identifier: MIT
-- Sends a file to a socket, pipe or file: a head, then the file's contents, by
-- sendfile(2). A file server does this for each request.
--
--   out           where it goes
--   dirfd, path   the file, as of openat(2)
--   offset        where in the file to begin
--   count         the most bytes of the file to send; 0 for all
--   head, hsize   bytes to send first, address and size; 0, 0 for none
--   flags         1: after head, send the number of the file's bytes that follow, in
--                 decimal, and an empty line: for a head ending in "Content-Length: "
--
-- Returns the number of bytes sent, head included, and the size of the file. The number
-- is smaller than requested if out takes no more now, or after a signal. Or returns a
-- negative errno; then nothing was sent.

local openat, close, fstat = syscall.openat, syscall.close, syscall.fstat
local sendmsg, writev, sendfile = syscall.sendmsg, syscall.writev, syscall.sendfile
local peek, poke, pending = util.peek, util.poke, util.pending

local OPEN = const.O_RDONLY + const.O_CLOEXEC + const.O_NONBLOCK + const.O_NOCTTY
local MORE, ENOTSOCK = const.MSG_MORE, -errno.ENOTSOCK
local EISDIR, EINVAL = -errno.EISDIR, -errno.EINVAL
local CHUNK = 2 ^ 30              -- at once, so that a signal need not wait long

local stat = util.buffer(144)     -- struct stat
local msg = util.buffer(56)       -- struct msghdr
local iov = util.buffer(32)       -- two struct iovec
local at = util.buffer(8)
local digits = util.buffer(24)

poke(msg + 16, "i8", iov)
poke(iov + 16, "i8", digits)

-- Writes "123\r\n\r\n" at the end of the buffer. Returns its address and length.
local function put_count(n)
  local p = digits + 20
  poke(p, "u4", 0x0a0d0a0d)
  repeat
    local d = n % 10
    p = p - 1
    poke(p, "u1", 48 + d)
    n = (n - d) / 10
  until n == 0
  return p, digits + 24 - p
end

local function send_head(out, head, hsize, count, flags)
  local parts, size = 1, hsize
  poke(iov, "i8", head)
  poke(iov + 8, "i8", hsize)
  if flags == 1 then
    local p, n = put_count(count)
    poke(iov + 16, "i8", p)
    poke(iov + 24, "i8", n)
    parts, size = 2, size + n
  end
  if size == 0 then return 0, 0 end
  poke(msg + 24, "i8", parts)
  local n = sendmsg(out, msg, count > 0 and MORE or 0)
  if n == ENOTSOCK then n = writev(out, iov, parts) end
  return n, size
end

local function send_contents(out, fd, offset, count)
  local done = 0
  poke(at, "i8", offset)
  while done < count do
    local left = count - done
    local n = sendfile(out, fd, at, left < CHUNK and left or CHUNK)
    if n <= 0 then return done, n end
    done = done + n
    if pending() then break end
  end
  return done, 0
end

local function send(out, fd, offset, count, head, hsize, flags)
  local err = fstat(fd, stat)
  if err < 0 then return err end
  local kind = bit.band(peek(stat + 24, "u4"), 0xf000)
  if kind ~= 0x8000 then return kind == 0x4000 and EISDIR or EINVAL end
  local size = peek(stat + 48, "i8")
  local left = offset < size and size - offset or 0
  if count > 0 and count < left then left = count end
  local sent, whole = send_head(out, head, hsize, left, flags)
  if sent < 0 then return sent end
  if sent < whole then return sent, size end
  local n, failed = send_contents(out, fd, offset, left)
  sent = sent + n
  if sent == 0 and failed < 0 then return failed end
  return sent, size
end

function run(out, dirfd, path, offset, count, head, hsize, flags)
  if offset < 0 or count < 0 or hsize < 0 or flags < 0 or flags > 1 then return EINVAL end
  local fd = openat(dirfd, path, OPEN)
  if fd < 0 then return fd end
  local sent, size = send(out, fd, offset, count, head, hsize, flags)
  close(fd)
  return sent, size or 0
end
