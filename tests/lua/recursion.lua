-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Recursion of every shape: plain, mutual, tail, deep, Ackermann, closures.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local even, odd
function even(n) if n == 0 then return true end return odd(n - 1) end
function odd(n) if n == 0 then return false end return even(n - 1) end
local function ack(m, n)
	if m == 0 then return n + 1 end
	if n == 0 then return ack(m - 1, 1) end
	return ack(m - 1, ack(m, n - 1))
end
local function tak(x, y, z)
	if y >= x then return z end
	return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))
end
local function depth(n) if n == 0 then return 0 end return 1 + depth(n - 1) end
local function loop(n, acc) if n == 0 then return acc end return loop(n - 1, acc + n) end
local function hanoi(n, a, b, c)
	if n == 0 then return 0 end
	return hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)
end

function run()
	assert(fib(18) == 2584)
	assert(even(4000) and not odd(4000))
	assert(ack(2, 20) == 43 and ack(3, 4) == 125)
	assert(tak(9, 5, 2) == 3)
	assert(depth(3000) == 3000)
	assert(loop(5000, 0) == 12502500)
	assert(hanoi(10, 1, 2, 3) == 1023)
	local y = function(f) return (function(x) return x(x) end)(function(x) return f(function(v) return x(x)(v) end) end) end
	assert(y(function(self) return function(n) return n == 0 and 1 or n * self(n - 1) end end)(10) == 3628800)
	return fib(18), ack(3, 4), tak(9, 5, 2)
end
