-- SPDX-License-Identifier: MIT
-- Answers HTTP/1.1 requests for a few pages, on connections that an epoll instance watches.
--
--   epfd  the epoll instance; its data are the connections' descriptors
--   max   connections to serve in this call
--   ms    how long to wait for the first: 0 not at all, -1 for ever
--
-- Returns how many requests were answered, or a negative errno of epoll_pwait(2).  A connection
-- is closed after an error, a request that is not understood, and "Connection: close"; and if it
-- sends a head in parts while others' parts take all the room.

local EAGAIN = -errno.EAGAIN
local MSG_DONTWAIT, MSG_NOSIGNAL = const.MSG_DONTWAIT, const.MSG_NOSIGNAL
local epoll_pwait, recvfrom = syscall.epoll_pwait, syscall.recvfrom
local sendto, close = syscall.sendto, syscall.close
local find, peek, poke = util.find, util.peek, util.poke
local str_in, str_out, match, lower = util.str_in, util.str_out, string.match, string.lower

local EVENTS, EVENT, SIZE, HEAD_MOST, PARTS_MOST = 64, 12, 16000, 8192, 300000
local USUAL_MOST, USUAL_SIZE = 100, 1000
local BLANK, TAB, ZERO, ONE, NINE = (" \t019"):byte(1, 5)
local GET_SIZE, LINE_END = #"GET ", #" HTTP/1.1\r\n"

-- What was left of a head, what is received after it, and a zero, with which no CRLF begins.
local events, buf = util.buffer(EVENTS * EVENT), util.buffer(SIZE + 2)

-- Four bytes, or two, as peek() gives them.
local function number(text, kind)
  str_out(text, buf)
  return peek(buf, kind)
end

local GET, HTTP, SLASH_1 = number("GET ", "u4"), number(" HTT", "u4"), number("P/1.", "u4")
local CRLF = number("\r\n", "u2")

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

-- Partly received heads, by descriptor, and their bytes.
local parts, held = {}, 0

-- Clients send the same headers again and again: those of requests that were alone, without a body,
-- and after which the connection persists; and their number.
local usual, nusual = {}, 0

-- Headers that matter, by name, and false for others that are usual.
local kinds = {}
for name in ([[Accept Accept-Encoding Accept-Language Authorization Cache-Control Content-Type Cookie
    If-Modified-Since If-None-Match Origin Pragma Range Referer User-Agent]]):gmatch("%S+") do
  kinds[name], kinds[lower(name)] = false, false
end
for _, name in ipairs { "Connection", "Content-Length", "Host", "Transfer-Encoding" } do
  kinds[name], kinds[lower(name)] = lower(name), lower(name)
end

-- The request line at an address: its path, whether it is a GET, the minor version's digit, and
-- where the headers begin; nil if it is malformed or not whole.
local function request_line(at, stop)
  local get, path = stop - at > 4 and peek(at, "u4") == GET, at + 4
  if not get then
    local len = find(at, stop - at, " ")
    if not len or not match(str_in(at, len), "^%u+$") then return nil end
    path = at + len + 1
  end
  local space = find(path, stop - path, " ")
  if not space then return nil end
  local version, len = path + space, find(path, space, "?") or space
  if len == 0 or stop - version < 11 or peek(version, "u4") ~= HTTP or
     peek(version + 4, "u4") ~= SLASH_1 or peek(version + 9, "u2") ~= CRLF then return nil end
  local minor = peek(version + 8, "u1")
  if minor < ZERO or minor > NINE then return nil end
  return str_in(path, len), get, minor, version + 11
end

-- The headers at an address: whether there is a Host, whether the connection persists, the body's
-- length, and where it begins; nil if they are malformed or not whole, or if another server could
-- take another length from them.
local function headers(at, stop)
  local host, keep, length = false, true, nil
  poke(stop, "u1", 0)
  while peek(at, "u2") ~= CRLF do
    local colon = find(at, stop - at, ":")
    if not colon then return nil end
    local name, value = str_in(at, colon), at + colon + 1
    local kind = kinds[name]
    if kind == nil then
      if not match(name, "^[%w%-]+$") then return nil end
      kind = kinds[lower(name)]
    end
    local len = find(value, stop - value, "\r\n")
    if not len or peek(value + len, "u2") ~= CRLF then return nil end
    at = value + len
    if kind == "host" then
      if host then return nil end
      host = true
    elseif kind == "transfer-encoding" then
      return nil
    elseif kind then
      while value < at and (peek(value, "u1") == BLANK or peek(value, "u1") == TAB) do
        value = value + 1
      end
      if kind == "connection" then
        keep = at - value ~= #"close" or lower(str_in(value, #"close")) ~= "close"
      else
        local digits = match(str_in(value, at - value), "^(%d+)[ \t]*$")
        if length or not digits then return nil end
        length = tonumber(digits)
      end
    end
    at = at + 2
  end
  return host, keep, length or 0, at + 2
end

-- The reply to the request from at to stop, and where the next one begins: nil to close the
-- connection. No reply if more of the head is to come.
local function parse(at, stop)
  local path, get, minor, first = request_line(at, stop)
  local host, keep, length, body
  if path then host, keep, length, body = headers(first, stop) end
  if not host and not (body and minor == ZERO) then
    if not body and not str_in(at, stop - at):find("\r\n\r\n", 1, true) then return nil, at end
    return bad_request
  end
  local next = keep and minor ~= ZERO and length <= stop - body and body + length or nil
  if next and body == stop and stop - first <= USUAL_SIZE then
    if nusual == USUAL_MOST then usual, nusual = {}, 0 end
    usual[str_in(first, stop - first)], nusual = true, nusual + 1
  end
  return get and (pages[path] or not_found) or not_allowed, next
end

-- As parse(). Looks for a GET request with usual headers first.
local function respond(at, stop)
  local path = at + GET_SIZE
  local space = path < stop and peek(at, "u4") == GET and find(path, stop - path, " ")
  if space then
    local version = path + space
    local first = version + LINE_END
    local size = stop - first
    if size > 0 and size <= USUAL_SIZE and
       peek(version, "u4") == HTTP and peek(version + 4, "u4") == SLASH_1 and
       peek(version + 8, "u1") == ONE and peek(version + 9, "u2") == CRLF and
       usual[str_in(first, size)] then
      local len = find(path, space, "?") or space
      if len > 0 then return pages[str_in(path, len)] or not_found, stop end
    end
  end
  return parse(at, stop)
end

local function serve(fd)
  local part = held > 0 and parts[fd] or nil
  local at, from = buf, part and buf + str_out(part, buf) or buf
  local n, replies = recvfrom(fd, from, buf + SIZE - from, MSG_DONTWAIT), 0
  if n == EAGAIN then return 0 end
  local stop = from + n
  if n <= 0 then at = nil end
  while at and at < stop do
    local reply, next = respond(at, stop)
    if not reply then break end
    replies = replies + 1
    at = sendto(fd, reply, #reply, MSG_DONTWAIT + MSG_NOSIGNAL) == #reply and next or nil
  end
  if part then held = held - #part end
  if not at or stop - at >= HEAD_MOST or held + stop - at > PARTS_MOST then
    close(fd)
    at = stop
  end
  local rest = at < stop and str_in(at, stop - at) or nil
  if rest or part then
    parts[fd] = rest
    held = held + (rest and #rest or 0)
  end
  return replies
end

function run(epfd, max, ms)
  local n, served = epoll_pwait(epfd, events, math.min(max, EVENTS), ms), 0
  if n < 0 then return n end
  for i = 0, n - 1 do served = served + serve(peek(events + i * EVENT + 4)) end
  return served
end
