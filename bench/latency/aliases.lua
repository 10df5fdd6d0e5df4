-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Compiles traces in which each load is compared with all stores, and these with everything in
-- between: new traces in each call.

local lines = { "local x, p, q = ...", "local s, a = 0", "for i = 1, 60 do local n = { 0, 0, 0 }" }
local x = {}
for k = 1, 230 do
  x[k] = { 1, 2, 3 }
  lines[#lines + 1] = ("a = x[%d] n[p] = a[q] s = s + a[p]"):format(k)
end
lines[#lines + 1] = "s = s + n[p] end return s"
local source = table.concat(lines, "\n")

function run()
  return load(source)(x, 2, 3)
end
