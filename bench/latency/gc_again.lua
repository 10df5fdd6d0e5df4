-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Makes the collector traverse a large heap twice, and clear large weak tables, atomically.

local all, weak = {}, setmetatable({}, { __mode = "v" })
for i = 1, 40000 do
  all[i] = coroutine.create(function() end)
  if i >= 4000 then all[i] = { i } end
  weak[i] = all[i]
end

function run()
  collectgarbage("setstepmul", 100000000)
  for i = 4000, #all do all[i][1] = all[i % 100 + 4000] end
  collectgarbage("collect")
  collectgarbage("step", 100000)
end
