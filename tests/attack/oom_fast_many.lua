-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Memory runs out inside each fast function that allocates; the script catches it and tries again.
-- expect: ENOBUFS
local byte, char, rep, reverse, lower = string.byte, string.char, string.rep, string.reverse, string.lower
local fast = {
	function(i) return char(i % 256, i / 256 % 256, i / 65536 % 256) end,
	function(i) return tostring(i / 2) end,
	function(i) return rep("ab" .. i, 20) end,
	function(i) return reverse("x" .. i) end,
	function(i) return lower("X" .. i) end,
	function(i) return setmetatable({}, { i }) end,
	function(i) return coroutine.create(byte) end,
	function(i) return coroutine.wrap(function() return { i } end)() end,
	function(i) return select("#", unpack({}, 1, i % 4000)) end,
}
function run()
	collectgarbage("stop")
	local kept = {}
	for i = 1, 1e7 do
		pcall(fast[i % 9 + 1], i)
		kept[i % 97] = { i }
	end
end
