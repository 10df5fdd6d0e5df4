-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Parses blanks, a comment and a long string, whole and from a reader function; the chunk's name is
-- as long.

local blanks = (" "):rep(2000000)
local comment = "--[[" .. blanks .. "]]"

function run()
  local source = blanks
  load(blanks)
  load(comment, comment)
  load(function() local s = source source = nil return s end)
end
