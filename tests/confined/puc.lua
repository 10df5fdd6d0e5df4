-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Globals that PUC's tests need and the guest lacks; put before each test.
_soft = true -- the tests' own word for slow machines
math.mod = math.fmod
os = { clock = function() return 0 end, setlocale = function() end }
do
	local seed = 1
	function math.random(most)
		seed = seed * 16807 % 2147483647
		return most and seed % most + 1 or seed
	end
end
function run() end
