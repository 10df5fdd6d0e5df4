-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Parses blanks, a comment and a string's text, whole and from a function; the name of the
-- chunk is as long.

local blanks = (" "):rep(2000000)
local comment = "--[[" .. blanks .. "]]"

function run()
  local source = blanks
  load(blanks)
  load(comment, comment)
  load(function() local s = source source = nil return s end)
end
