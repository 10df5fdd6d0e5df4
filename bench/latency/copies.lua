-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Copies 4 MiB between the process and the script, in one call each.

local size = 4 * 1024 * 1024
local addr = syscall.mmap(0, size, const.PROT_READ + const.PROT_WRITE,
                          const.MAP_PRIVATE + const.MAP_ANONYMOUS, -1, 0)
local turn = 0

function run()
  turn = (turn + 1) % 256
  util.fill(addr, turn, size)
  if util.compare(addr, addr + size / 2, size / 2) ~= 0 then error("cannot be") end
  local s = util.str_in(addr, size)
  util.str_out(s, addr)
  s = nil
  collectgarbage("collect")
end
