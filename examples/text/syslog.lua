-- SPDX-License-Identifier: MIT
-- A syslog server: counts messages by host and program, and errors, and writes the counts when
-- told to.
--
--   sock  a socket of datagrams; whether it blocks makes no difference
--   max   messages to take in this call
--   ms    how long to wait for the first: 0 not at all, -1 for ever
--   out   -1, or where to write the counts, which begin anew then: once a second, say
--
-- A message is as in RFC 3164: "<34>Oct 11 22:14:15 host program[pid]: text".  What is written
-- has a line HOST PROGRAM MESSAGES ERRORS for each host and program.
--
-- Returns how many messages were taken, or the negative errno that the first receive met; and
-- how many were malformed so far, or had a name that there was no room for.

local EAGAIN, MSG_DONTWAIT, POLLIN = -errno.EAGAIN, const.MSG_DONTWAIT, const.POLLIN
local poll, write, recv = syscall.poll, syscall.write, net.recv
local find, number, str_in = util.find, util.number, util.str_in
local peek, poke, match, band = util.peek, util.poke, string.match, bit.band

local BATCH, SIZE = 16, 2048
local NAMES_MOST, NAME = 100000, 150       -- bytes, of which a name takes NAME beside its text
local PIECE, NUMBERS = 1900, 20  -- bytes to write at once, and of a line's numbers
local LEAST_OF_NO_ERROR = 4      -- severities below: emerg, alert, crit, err
local BLANK, LESS, GREATER = (" <>"):byte(1, 3)
local TIME = #"Oct 11 22:14:15 "
local LEAST = TIME + 4           -- bytes of a message that has a host
local AFTER = TIME + 2           -- bytes before its host, without the priority
local OUTER, COLONS = bit.tobit(0xff0000ff), 0x3a00003a     -- of the four bytes ":14:" as an "i4"

local iovec, mmsghdr = util.types.iovec, util.types.mmsghdr
local bufs, msgs, data = iovec.new(BATCH), mmsghdr.new(BATCH), util.buffer(BATCH * SIZE)
local waiting = util.types.pollfd.new { events = POLLIN }[0]
for i = 1, BATCH do
  bufs[i].iov_base, bufs[i].iov_len = data + (i - 1) * SIZE, SIZE
  msgs[i].msg_hdr.msg_iov, msgs[i].msg_hdr.msg_iovlen = bufs[i][0], 1
end
local inbox = net.messages(msgs[1][0], BATCH)
local lens, MSG = msgs[1][0] + mmsghdr.offsetof.msg_len, mmsghdr.size

-- How often each host and program sent a message that is an error, and another one.
local errors, others, malformed = {}, {}, 0
local names = 0                  -- their bytes since the last flush
local lines, nlines, size = {}, 0, 0       -- parts of what to write, their number and bytes

-- How often a name that is new was counted, if there is room for it: senders may invent any number.
local function begin(from)
  names = names + NAME + #from
  if names <= NAMES_MOST then return 0 end
  malformed = malformed + 1
end

-- A message whose parts are wider or narrower than usual.
local function take_text(text)
  local priority, from = match(text, "^<(%d+)>%a+ +%d+ %d+:%d+:%d+ (%S+ [^%[: ]+)")
  if not from then
    malformed = malformed + 1
    return
  end
  local counts = band(tonumber(priority), 7) < LEAST_OF_NO_ERROR and errors or others
  local count = counts[from] or begin(from)
  if count then counts[from] = count + 1 end
end

-- Takes the messages that were received. Usually only host and program become a string.
local function take(got)
  for i = 0, got - 1 do
    local slot = i % BATCH       -- tells the compiler how large addresses get
    local at, n = data + slot * SIZE, peek(lens + slot * MSG)
    if n > LEAST and peek(at, "u1") == LESS then
      local priority, len = number(at + 1, n - 1)
      if priority and priority >= 0 and peek(at + len + 1, "u1") == GREATER then
        local from, left = at + (len + AFTER), n - (len + AFTER)
        -- After a time such as "Oct 11 22:14:15 ".
        local host = left > 0 and band(peek(from - 7, "i4"), OUTER) == COLONS and
                     peek(from - 1, "u1") == BLANK and find(from, left, " ")
        if host and host > 0 then
          local next = host + 1
          local program = find(from + next, left - next, "[: ") or left - next
          if program > 0 then
            local name = str_in(from, next + program)
            local counts = band(priority, 7) < LEAST_OF_NO_ERROR and errors or others
            local count = counts[name] or begin(name)
            if count then counts[name] = count + 1 end
            goto taken
          end
        end
      end
    end
    take_text(str_in(at, n))
    ::taken::
  end
end

local function write_lines(out)
  local n = nlines
  nlines, size = 0, 0
  return n > 0 and write(out, table.concat(lines, "", 1, n)) or 0
end

local function add_line(out, from, count, nerrors)
  local n = nlines
  lines[n + 1], lines[n + 2], lines[n + 3] = from, " ", count
  lines[n + 4], lines[n + 5], lines[n + 6] = " ", nerrors, "\n"
  nlines, size = n + 6, size + #from + NUMBERS
  return size > PIECE and write_lines(out) or 0
end

local function flush(out)
  local err = 0
  names = 0
  -- Most hosts and programs come again, and have their places in the tables then.
  for from, count in pairs(others) do
    local nerrors = errors[from]
    err = math.min(err, add_line(out, from, count + (nerrors or 0), nerrors or 0))
    others[from] = nil
    if nerrors then errors[from] = nil end
  end
  for from, count in pairs(errors) do
    err = math.min(err, add_line(out, from, count, count))
    errors[from] = nil
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
