-- SPDX-License-Identifier: GPL-2.0
-- expect: ok
-- Descriptors other than packet sockets, and all those of the process.
local values = { -1, 0, 1, 2, 3, 2^31, 2^32, 2^53, -2^31, 0.5, 0/0, 1/0, "x", "0", {}, true, print }
local function try(f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok and type(message) == "string", message)
end
function run()
  try(net.frames)
  for round = 1, 100 do
    for _, value in pairs(values) do try(net.frames, value) end
  end
  for fd = 0, 100 do try(net.frames, fd) end
  local stream = syscall.socket(const.AF_UNIX, const.SOCK_STREAM, 0)
  try(net.frames, stream)
  syscall.close(stream)
end
