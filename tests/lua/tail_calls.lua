-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Proper tail calls: constant stack, through methods, metamethods and coroutines.
local function spin(n) if n > 0 then return spin(n - 1) end return "done" end
local obj = { n = 0 }
function obj:step(k) self.n = self.n + 1 if k > 0 then return self:step(k - 1) end return self.n end
local callable
callable = setmetatable({}, { __call = function(_, n) if n > 0 then return callable(n - 1) end return "called" end })

function run()
	assert(spin(50000) == "done")
	assert(obj:step(5000) == 5001)
	assert(callable(2000) == "called")
	local function many(n, ...) if n == 0 then return select("#", ...) end return many(n - 1, ...) end
	assert(many(1000, 1, nil, 3) == 3)
	local function viapcall(n) if n == 0 then error("end", 0) end return viapcall(n - 1) end
	print(pcall(viapcall, 3000))
	local co = coroutine.wrap(function() return spin(2000) end)
	assert(co() == "done")
	local states, count = {}, 0
	function states.a(n) count = count + 1 if n == 0 then return "a" end return states.b(n - 1) end
	function states.b(n) count = count + 1 if n == 0 then return "b" end return states.c(n - 1) end
	function states.c(n) count = count + 1 if n == 0 then return "c" end return states.a(n - 1) end
	assert(states.a(3001) == "b" and count == 3002)
	return count
end
