-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Up- and down-recursion, tail calls, calls back into a trace.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function even(n) if n == 0 then return true end return not even(n - 1) end
local function tail(n, s) if n == 0 then return s end return tail(n - 1, s + n % 3) end
local function ack(m, n)
	if m == 0 then return n + 1 end
	if n == 0 then return ack(m - 1, 1) end
	return ack(m - 1, ack(m, n - 1))
end
function run()
	for i = 1, 12 do print(fib(i), even(i), tail(i * 20, 0), ack(2, i % 5)) end
	return 0
end
