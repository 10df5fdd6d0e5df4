-- SPDX-License-Identifier: MIT
-- Answers HTTP/1.1 requests for a few pages, on connections that an epoll instance watches.
--
--   epfd  the epoll instance; its data are the connections' descriptors
--   max   connections to serve in this call
--   ms    how long to wait for the first: 0 not at all, -1 for ever
--
-- Returns how many requests were answered, or a negative errno of epoll_pwait(2).  A connection
-- is closed after an error, a request that is not understood, and "Connection: close".

local EAGAIN = -errno.EAGAIN
local MSG_DONTWAIT, MSG_NOSIGNAL = const.MSG_DONTWAIT, const.MSG_NOSIGNAL
local epoll_pwait, recvfrom = syscall.epoll_pwait, syscall.recvfrom
local sendto, close = syscall.sendto, syscall.close
local peek, str_in, match, sub, lower = util.peek, util.str_in, string.match, string.sub, string.lower

local EVENTS, EVENT, SIZE = 64, 12, 8192
local events, buf = util.buffer(EVENTS * EVENT), util.buffer(SIZE)

local function response(status, body)
  return ("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s"):format(status, #body, body)
end

local pages = {
  ["/"] = response("200 OK", "syscript\n"),
  ["/health"] = response("200 OK", "ok\n"),
}
local not_found = response("404 Not Found", "not found\n")
local bad_request = response("400 Bad Request", "bad request\n")
local not_allowed = response("405 Method Not Allowed", "GET only\n")

-- Partly received heads, by descriptor.
local parts = {}

-- The headers from a position in the text on: whether there is a Host, whether the connection
-- persists, the body's length, and where it begins; nil if the head is malformed.
local function headers(text, at)
  local host, keep, length = false, true, 0
  while true do
    local colon, value, stop, after = match(text, "^[%w%-]+():[ \t]*()[^\r\n]*()\r\n()", at)
    if not colon then break end
    local len = colon - at
    if len == 4 then
      host = host or lower(sub(text, at, colon - 1)) == "host"
    elseif len == 10 and lower(sub(text, at, colon - 1)) == "connection" then
      keep = stop - value ~= #"close" or lower(sub(text, value, stop - 1)) ~= "close"
    elseif len == 14 and lower(sub(text, at, colon - 1)) == "content-length" then
      length = tonumber(match(text, "^%d+", value))
    end
    at = after
  end
  if sub(text, at, at + 1) ~= "\r\n" or not length then return nil end
  return host, keep, length, at + 2
end

-- Answers the requests in the text; returns the rest of it, or nil to close the connection.
local function answer(fd, text)
  local replies = 0
  while text:find("\r\n\r\n", 1, true) do
    local method, path, version, at = match(text, "^(%u+) ([^ ?]+)[^ ]* HTTP/1%.(%d)\r\n()")
    local host, keep, length, body
    if method then host, keep, length, body = headers(text, at) end
    local reply = bad_request
    if host or (body and version == "0") then
      reply = method == "GET" and (pages[path] or not_found) or not_allowed
      keep = keep and version ~= "0"
    else
      keep = false
    end
    local sent = sendto(fd, reply, #reply, MSG_DONTWAIT + MSG_NOSIGNAL)
    replies = replies + 1
    if sent ~= #reply or not keep or length > #text - body + 1 then return nil, replies end
    if #text < body + length then return "", replies end
    text = sub(text, body + length)
  end
  return #text < SIZE and text or nil, replies
end

local function serve(fd)
  local n = recvfrom(fd, buf, SIZE, MSG_DONTWAIT)
  if n == EAGAIN then return 0 end
  local rest, replies
  if n > 0 then
    local text = str_in(buf, n)
    if parts[fd] then text = parts[fd] .. text end
    rest, replies = answer(fd, text)
  end
  if not rest then close(fd) end
  parts[fd] = rest ~= "" and rest or nil
  return replies or 0
end

function run(epfd, max, ms)
  local n, served = epoll_pwait(epfd, events, math.min(max, EVENTS), ms), 0
  if n < 0 then return n end
  for i = 0, n - 1 do served = served + serve(peek(events + i * EVENT + 4)) end
  return served
end
