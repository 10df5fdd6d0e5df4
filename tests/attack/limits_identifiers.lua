-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Names and literals of absurd size.
-- expect: ok
-- memory-limit: 16384
function run()
	local long = ("n"):rep(200000)
	assert(loadstring(long .. " = 1; return " .. long)() == 1)
	assert(loadstring("return 0x" .. ("f"):rep(100000)) or true)
	assert(loadstring("return 1e" .. ("9"):rep(100000)) or true)
	assert(loadstring("return [" .. ("="):rep(100000) .. "[x]" .. ("="):rep(100000) .. "]")() == "x")
	assert(tonumber("0x" .. ("1"):rep(100000) .. "p-" .. ("9"):rep(10000)) ~= 5)
	assert(tonumber(("z"):rep(10000), 36) ~= nil or true)
	if tonumber("0.5") then -- otherwise all numbers are integers
		assert(loadstring("return " .. ("9"):rep(100000))() == math.huge)
		assert(loadstring("return 0." .. ("0"):rep(100000) .. "1")() == 0)
		assert(tonumber(("1"):rep(100000)) == math.huge)
	else
		assert(not loadstring("return " .. ("9"):rep(100000)) and not tonumber(("1"):rep(100000)))
	end
end
