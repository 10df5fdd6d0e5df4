-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Compiles a source that is one comment, or one string, of a megabyte.

local text = ("x"):rep(1024 * 1024)
local comment, literal = "--" .. text, "return '" .. text .. "'"
text = nil

function run()
  assert(load(comment))
  assert(load(literal))
end
