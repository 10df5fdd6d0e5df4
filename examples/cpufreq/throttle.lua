-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Like throttle.c: fast while there is work, slow while there is none or it is hot.
--
--   syscript load throttle throttle.lua --for cpufreq --at x86_pkg_temp

local HOT, COOL = 80000, 70000 -- thousandths of a degree; cool again below
local is_hot = false

local function throttle(frequency, load, min, max)
	if is_hot then
		return min
	elseif load > 80 then
		return max
	end
	return load < 20 and math.floor(frequency / 2) or frequency
end

function run(cpus)
	local temperature = cpus:temperature() or 0
	is_hot = temperature >= HOT or is_hot and temperature >= COOL
	return throttle(cpus.frequency, cpus.load, cpus.min, cpus.max)
end
