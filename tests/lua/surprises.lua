-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The language, where a good guess is wrong: docs/surprises.md, on both engines.
local function is_nan(x) return x ~= nil and x ~= x end
local function count(...) return (select("#", ...)) end
local function results(n) return count(unpack({}, 1, n)) end
local function bytes(n) return count(("x"):rep(n):byte(1, -1)) end

function run()
	assert(("abc"):sub(2 ^ 31) == "abc" and ("abc"):sub(2 ^ 31 - 1) == "")
	assert(tonumber("0b101") == 5)
	assert(tonumber("inf") == math.huge and is_nan(tonumber("nan")))
	assert(is_nan(1 % math.huge) and math.fmod(1, math.huge) == 1)
	assert(("abc"):gsub("%w*", "x") == "xx" and ("abc"):gsub("%w+", "x") == "x")
	assert(("hello"):find("", 10) == 6 and ("hello"):find("o", 10) == nil)
	assert(results(7000) == 7000 and bytes(7000) == 7000)
	assert(not pcall(results, 8000) and not pcall(bytes, 8001))
	local nan = 0 / 0
	assert(math.max(nan, 1) == 1 and is_nan(math.max(1, nan)))
	assert(math.min(nan, 1) == 1 and is_nan(math.min(1, nan)))
end
