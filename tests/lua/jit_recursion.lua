-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Recursion that gets compiled: down, up, tail, with results of several kinds.
local function down(n) if n <= 0 then return 0 end return n + down(n - 1) end
local function count(n, c) if n == 0 then return c end return count(n - 1, c + 1) end
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local function build(n) if n == 0 then return "" end return build(n - 1) .. n % 10 end
local function list(n) if n == 0 then return nil end return { n, list(n - 1) } end
local function sumlist(l) if not l then return 0 end return l[1] + sumlist(l[2]) end
local function gcd(a, b) if b == 0 then return a end return gcd(b, a % b) end
local function binom(n, k) if k == 0 or k == n then return 1 end return binom(n - 1, k - 1) + binom(n - 1, k) end
local function multi(n) if n == 0 then return 0, 1, 2 end local a, b, c = multi(n - 1) return c, a + 1, b end
local function vsum(x, ...) if x == nil then return 0 end return x + vsum(...) end

function run()
	for _ = 1, 3 do
		assert(down(200) == 20100 and count(2000, 0) == 2000 and fib(16) == 987)
		assert(build(50):sub(-3) == "890" and #build(100) == 100)
		assert(sumlist(list(200)) == 20100)
		assert(binom(12, 6) == 924)
	end
	local g = 0
	for i = 1, 200 do g = g + gcd(i * 12, 360) end
	print(g)
	print(multi(100))
	local v = 0
	for i = 1, 60 do v = v + vsum(1, 2, 3, i) end
	assert(v == 360 + 1830)
	local memo = setmetatable({}, { __mode = "k" })
	local function collatz(n) if n == 1 then return 0 end return 1 + collatz(n % 2 == 0 and n / 2 or 3 * n + 1) end
	local best = 0
	for i = 1, 300 do best = math.max(best, collatz(i)) end
	assert(best == 127 and next(memo) == nil)
	return g, best
end
