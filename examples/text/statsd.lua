-- SPDX-License-Identifier: MIT
-- A statsd server: adds up what datagrams say, and writes the sums when told to.
--
--   sock  a socket of datagrams; whether it blocks makes no difference
--   max   messages to take in this call
--   ms    how long to wait for the first: 0 not at all, -1 for ever
--   out   -1, or where to write the sums, which begin anew then: once a second, say
--
-- A datagram has lines NAME:VALUE|KIND.  Kind "c" counts, and VALUE|c|@RATE stands for
-- VALUE / RATE; "g" is a gauge.  What is written has a line NAME VALUE for each name.
--
-- Returns how many messages were taken, or the negative errno that the first receive met; and
-- how many lines were malformed so far, or had a name that there was no room for.

local EAGAIN, MSG_DONTWAIT, POLLIN = -errno.EAGAIN, const.MSG_DONTWAIT, const.POLLIN
local poll, write, recv = syscall.poll, syscall.write, net.recv
local find, number, str_in = util.find, util.number, util.str_in
local peek, poke, match = util.peek, util.poke, string.match

local BATCH, SIZE = 16, 2048
local NAMES_MOST, NAME = 100000, 100       -- bytes, of which a name takes NAME beside its text
local PIECE, NUMBER = 1900, 20   -- bytes to write at once, and of a number with what is around it
local COUNT = 0x637c             -- "|c" as a "u2"

local iovec, mmsghdr = util.types.iovec, util.types.mmsghdr
local bufs, msgs, data = iovec.new(BATCH), mmsghdr.new(BATCH), util.buffer(BATCH * SIZE)
local waiting = util.types.pollfd.new { events = POLLIN }[0]
for i = 1, BATCH do
  bufs[i].iov_base, bufs[i].iov_len = data + (i - 1) * SIZE, SIZE
  msgs[i].msg_hdr.msg_iov, msgs[i].msg_hdr.msg_iovlen = bufs[i][0], 1
end
local inbox = net.messages(msgs[1][0], BATCH)
local lens, MSG = msgs[1][0] + mmsghdr.offsetof.msg_len, mmsghdr.size

local counts, gauges, malformed = {}, {}, 0
local names = 0                  -- their bytes since the last flush
local lines, nlines, size = {}, 0, 0       -- parts of what to write, their number and bytes

-- Is there room for a name?  Senders may invent any number of names.
local function has_room(values, name)
  if values[name] then return true end
  names = names + NAME + #name
  return names <= NAMES_MOST
end

-- Takes the line at a position of a text; returns where the next one begins.
local function take_line(text, at)
  local name, value, kind, after = match(text, "^([^:\n]+):(%-?[%d%.]+)|(%a+)()", at)
  value = tonumber(value)
  if not value or not has_room(kind == "g" and gauges or counts, name) then
    malformed, after = malformed + 1, at
  elseif kind == "c" then
    local rate = tonumber(match(text, "^|@([%d%.]+)", after))
    counts[name] = (counts[name] or 0) + (rate and value / rate or value)
  elseif kind == "g" then
    gauges[name] = value
  end
  return match(text, "^[^\n]*\n?()", after)
end

local function take_lines(text)
  local at = 1
  while at <= #text do at = take_line(text, at) end
end

-- Takes the datagrams that were received: usually one count each, of which only the name becomes
-- a string.
local function take(got)
  local at = data
  for len_at = lens, lens + (got - 1) * MSG, MSG do
    local n = peek(len_at)
    local colon = find(at, n, ":")
    if colon then
      local value, len = number(at + colon + 1, n - colon - 1)
      if value and colon + len + 3 == n and peek(at + n - 2, "u2") == COUNT then
        local name = str_in(at, colon)
        local sum = counts[name]
        if sum then
          counts[name] = sum + value
          goto taken
        elseif colon > 0 and not find(at, colon, "\n") and has_room(counts, name) then
          counts[name] = value
          goto taken
        end
      end
    end
    take_lines(str_in(at, n))
    ::taken::
    at = at + SIZE
  end
end

local function write_lines(out)
  local n = nlines
  nlines, size = 0, 0
  return n > 0 and write(out, table.concat(lines, "", 1, n)) or 0
end

local function flush(out)
  local err = 0
  names = 0
  for _, values in ipairs { counts, gauges } do
    for name, value in pairs(values) do
      local n = nlines
      lines[n + 1], lines[n + 2], lines[n + 3], lines[n + 4] = name, " ", value, "\n"
      nlines, size = n + 4, size + #name + NUMBER
      values[name] = nil      -- most names come again, and have their place in the table then
      if size > PIECE then err = math.min(err, write_lines(out)) end
    end
  end
  return math.min(err, write_lines(out))
end

local function receive(sock, most, ms)
  local n = most < BATCH and most or BATCH
  local got = recv(sock, inbox, n, MSG_DONTWAIT)
  if got == EAGAIN and ms ~= 0 then
    poke(waiting, "i4", sock)
    local ready = poll(waiting, 1, ms)
    if ready < 0 then return ready end
    got = recv(sock, inbox, n, MSG_DONTWAIT)
  end
  return got
end

function run(sock, max, ms, out)
  local taken, got = 0, 0
  while taken < max do
    got = receive(sock, max - taken, taken == 0 and ms or 0)
    if got <= 0 then break end
    take(got)
    taken = taken + got
  end
  if out >= 0 then
    local err = flush(out)
    if err < 0 then return err, malformed end
  end
  return taken == 0 and got ~= EAGAIN and got or taken, malformed
end
