-- SPDX-License-Identifier: MIT
-- A DNS forwarder: answers queries from answers cached for up to two seconds, and forwards the rest
-- to another server.
--
--   sock  a socket of datagrams, for clients
--   up    another one, connected to that server
--   max   queries to take in this call
--   ms    how long to wait for the first message: 0 not at all, -1 for ever
--
-- Returns the number of queries and answers received, or the first receive's negative errno; and
-- the number of queries answered from the cache so far. Messages that are not plain queries with
-- exactly one question are dropped.

local EAGAIN, MSG_DONTWAIT, POLLIN = -errno.EAGAIN, const.MSG_DONTWAIT, const.POLLIN
local CLOCK_MONOTONIC = const.CLOCK_MONOTONIC
local poll, sendto, clock_gettime = syscall.poll, syscall.sendto, syscall.clock_gettime
local getrandom = syscall.getrandom
local recv, send, str_in, str_out = net.recv, net.send, util.str_in, util.str_out
local peek, poke, sub, lower = util.peek, util.poke, string.sub, string.lower

local BATCH, SIZE, ADDRESS = 16, 2048, 28
local FLAGS, HEADER, LABEL_MOST = 2, 12, 63       -- places in a message; maximum bytes of a label
local QUERY_MOST, ANSWER = 8, 128                 -- the first byte of flags: less in plain queries
local WAIT = 5                                    -- maximum seconds to wait for an answer
-- Bytes, of which an entry takes ENTRY beside its longest texts.
local KEPT_MOST, SPELT_MOST, WAITS_MOST, ENTRY = 130000, 200000, 130000, 200

local iovec, mmsghdr = util.types.iovec, util.types.mmsghdr
local waiting, time = util.buffer(2 * 8), util.buffer(16)   -- struct pollfd[2], struct timespec
local MSG_LEN, MSG = mmsghdr.offsetof.msg_len, mmsghdr.size
local IOV_LEN, IOV = iovec.offsetof.iov_len, iovec.size

-- Structures for a batch of messages in a buffer, and the first message's iovec.
local function messages(data, names)
  local bufs, msgs = iovec.new(BATCH), mmsghdr.new(BATCH)
  for i = 1, BATCH do
    local hdr = msgs[i].msg_hdr
    bufs[i].iov_base, bufs[i].iov_len = data + (i - 1) * SIZE, SIZE
    hdr.msg_iov, hdr.msg_iovlen = bufs[i][0], 1
    if names then hdr.msg_name, hdr.msg_namelen = names + (i - 1) * ADDRESS, ADDRESS end
  end
  return msgs[1][0], bufs[1][0]
end

local data, answers = util.buffer(BATCH * SIZE), util.buffer(BATCH * SIZE)
local names = util.buffer(BATCH * ADDRESS)
local in_, up_in = messages(data, names), messages(answers)
local out, out_bufs = messages(data, names)
local inbox, up_inbox = net.messages(in_, BATCH), net.messages(up_in, BATCH)

-- By question, its name in lower case, and all else of the query but its ID: the answer's bytes
-- between its ID and the question, and after it. Includes those of the previous second.
local kept, kept_before = {}, {}
local nkept, second, answered = 0, 0, 0           -- nkept: its bytes
-- By query, as spelt in this second: the answer; both without their IDs.
local spelt, nspelt = {}, 0
-- By the forwarded query's ID, and the same by its key: who waits for the answer.
local waits, waits_of, nwaits, id = {}, {}, 0, util.buffer(2)

local function begin_second()
  clock_gettime(CLOCK_MONOTONIC, time)
  local now = peek(time, "i8")
  if now ~= second then
    kept_before, kept, nkept = kept, {}, 0
    if now > second + 1 then kept_before = {} end
    second, spelt, nspelt = now, {}, 0
  end
end

-- The question of a message of n bytes, its name in lower case; and its end, counted from the
-- message.
local function question(at, n)
  if n < HEADER + 5 or peek(at + 4, "b2") ~= 1 then return nil end
  local stop, len = HEADER, peek(at + HEADER, "u1")
  while len ~= 0 do
    stop = stop + len + 1
    if len > LABEL_MOST or stop + 5 > n then return nil end
    len = peek(at + stop, "u1")
  end
  return lower(str_in(at + HEADER, stop - HEADER)) .. str_in(at + stop, 5), stop + 5
end

-- An ID that no forwarded query has.
local function new_id()
  local number
  repeat
    if getrandom(id, 2, 0) ~= 2 then return nil end
    number = peek(id, "b2")
  until not waits[number]
  return number
end

-- Whoever waits for the answer to a question: new if none did, or for too long.
local function wait_of(key)
  local wait = waits_of[key]
  if wait and second <= wait.second + WAIT then return wait end
  local number = new_id()
  if not number then return nil end
  if wait then
    waits[wait.number] = nil
    nwaits = nwaits - #wait * (ENTRY + #key)
  end
  wait = { key = key, number = number, id = str_in(id, 2), second = second, sent = -1 }
  waits[number], waits_of[key] = wait, wait
  return wait
end

-- Forwards the query in message i, whose question ends at stop, once a second under one ID while
-- its answer is waited for: of many IDs at once, one could be guessed.
local function forward(up, i, text, key, stop)
  if nwaits > WAITS_MOST then waits, waits_of, nwaits = {}, {}, 0 end
  local wait = wait_of(key)
  if not wait then return end
  nwaits = nwaits + ENTRY + #key
  wait[#wait + 1] = { id = sub(text, 1, 2), question = sub(text, HEADER + 1, stop),
    name = str_in(names + i * ADDRESS, peek(in_ + i * MSG + 8)) }
  if wait.sent ~= second then
    wait.sent = second
    sendto(up, wait.id .. sub(text, FLAGS + 1), #text, MSG_DONTWAIT)
  end
end

-- Sends the answers in place of queries first to last - 1, usually of all from 0.
local function send_answers(sock, first, last)
  if first == 0 and last > 0 then
    send(sock, out, last, MSG_DONTWAIT, inbox)
  elseif last > first then
    send(sock, out + first * MSG, last - first, MSG_DONTWAIT)
  end
  answered = answered + last - first
end

-- The answer to query i of n bytes, from its flags on; nil if it is forwarded, or dropped.
local function look_up(up, i, at, n, query)
  local key, stop = question(at, n)
  if not key or peek(at + FLAGS, "u1") >= QUERY_MOST then return nil end
  key = key .. str_in(at + stop, n - stop) .. sub(query, 1, HEADER - FLAGS)
  local answer = kept[key] or kept_before[key]
  if not answer or stop + #answer[2] > SIZE then
    return forward(up, i, str_in(at, n), key, stop)
  end
  answer = answer[1] .. str_in(at + HEADER, stop - HEADER) .. answer[2]
  if nspelt > SPELT_MOST then spelt, nspelt = {}, 0 end
  spelt[query], nspelt = answer, nspelt + ENTRY + #query + #answer
  return answer
end

-- Turns queries into their answers if they are cached, and forwards the others.
local function serve(sock, up, got)
  local at, len_at, answer_len_at, first = data, in_ + MSG_LEN, out_bufs + IOV_LEN, 0
  for i = 0, got - 1 do
    local n, flags = peek(len_at), at + FLAGS
    local query = str_in(flags, n > FLAGS and n - FLAGS or 0)
    local answer = spelt[query]
    if not answer then answer = look_up(up, i, at, n, query) end
    if answer then
      poke(answer_len_at, "u8", FLAGS + str_out(answer, flags))
    else
      send_answers(sock, first, i)
      first = i + 1
    end
    at = at + SIZE
    len_at = len_at + MSG
    answer_len_at = answer_len_at + IOV
  end
  send_answers(sock, first, got)
end

-- Answers of the other server: sent to the waiting clients, and cached.
local function take_answers(sock, up)
  local got = recv(up, up_inbox, BATCH, MSG_DONTWAIT)
  for i = 0, got - 1 do
    local at, len = answers + i * SIZE, peek(up_in + MSG_LEN + i * MSG)
    local key, stop = question(at, len)
    local number = key and peek(at, "b2")
    local wait = number and waits[number]
    if wait and second <= wait.second + WAIT and sub(wait.key, 1, #key) == key and
       peek(at + FLAGS, "u1") >= ANSWER then
      local text = str_in(at, len)
      local head, rest = sub(text, FLAGS + 1, HEADER), sub(text, stop + 1)
      waits[number], waits_of[wait.key] = nil, nil
      nwaits = nwaits - #wait * (ENTRY + #wait.key)
      for _, client in ipairs(wait) do
        sendto(sock, client.id .. head .. client.question .. rest, len, MSG_DONTWAIT,
               client.name, #client.name)
      end
      if nkept > KEPT_MOST then kept_before, kept, nkept = kept, {}, 0 end
      kept[wait.key] = { head, rest }
      nkept = nkept + ENTRY + #wait.key + len
    end
  end
  return got
end

local function readable(sock, up, ms)
  poke(waiting, "i4", sock)
  poke(waiting + 4, "i2", POLLIN)
  poke(waiting + 8, "i4", up)
  poke(waiting + 12, "i2", POLLIN)
  return poll(waiting, 2, ms)
end

function run(sock, up, max, ms)
  local taken, first = 0, EAGAIN
  begin_second()
  repeat
    local most = max - taken
    local got = recv(sock, inbox, most < BATCH and most or BATCH, MSG_DONTWAIT)
    if got > 0 then serve(sock, up, got) end
    local back = got < BATCH and nwaits > 0 and take_answers(sock, up) or 0
    if taken == 0 and got < 0 and got ~= EAGAIN then return got, answered end
    if taken == 0 and got < 0 and back <= 0 and ms ~= 0 then
      local ready = readable(sock, up, ms)
      if ready <= 0 then return ready, answered end
      ms, got = 0, 1
    else
      if got > 0 then taken = taken + got end
      if back > 0 then taken = taken + back end
    end
  until got <= 0 and back <= 0 or taken >= max
  return taken, answered
end
