-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- SHA-256 with the bit library, against known digests.
local band, bxor, bnot, ror, rshift, tobit = bit.band, bit.bxor, bit.bnot, bit.ror, bit.rshift, bit.tobit
local K, H0 = {}, {}
do
	local n, p = 0, 2
	while n < 64 do
		local prime = true
		for d = 2, math.floor(math.sqrt(p)) do if p % d == 0 then prime = false break end end
		if prime then
			n = n + 1
			local c = p ^ (1 / 3)
			c = c - (c * c * c - p) / (3 * c * c)
			K[n] = tobit(math.floor((c % 1) * 2 ^ 32))
			if n <= 8 then H0[n] = tobit(math.floor((math.sqrt(p) % 1) * 2 ^ 32)) end
		end
		p = p + 1
	end
end

local function sha256(msg)
	local len = #msg
	msg = msg .. "\128" .. ("\0"):rep((55 - len) % 64) .. string.char(0, 0, 0, 0, rshift(len, 21), band(rshift(len, 13), 255),
		band(rshift(len, 5), 255), band(len * 8, 255))
	local h = { unpack(H0) }
	local w = {}
	for at = 1, #msg, 64 do
		for i = 1, 16 do
			local a, b, c, d = msg:byte(at + i * 4 - 4, at + i * 4 - 1)
			w[i] = tobit(a * 0x1000000 + b * 0x10000 + c * 0x100 + d)
		end
		for i = 17, 64 do
			local x, y = w[i - 15], w[i - 2]
			w[i] = tobit(w[i - 16] + bxor(ror(x, 7), ror(x, 18), rshift(x, 3)) + w[i - 7] +
				bxor(ror(y, 17), ror(y, 19), rshift(y, 10)))
		end
		local a, b, c, d, e, f, g, hh = unpack(h)
		for i = 1, 64 do
			local t1 = hh + bxor(ror(e, 6), ror(e, 11), ror(e, 25)) + bxor(band(e, f), band(bnot(e), g)) + K[i] + w[i]
			local t2 = bxor(ror(a, 2), ror(a, 13), ror(a, 22)) + bxor(band(a, b), band(a, c), band(b, c))
			hh, g, f, e, d, c, b, a = g, f, e, tobit(d + t1), c, b, a, tobit(t1 + t2)
		end
		for i, v in ipairs { a, b, c, d, e, f, g, hh } do h[i] = tobit(h[i] + v) end
	end
	local out = {}
	for i = 1, 8 do out[i] = bit.tohex(h[i]) end
	return table.concat(out)
end

function run()
	assert(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	assert(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
	print(sha256(("0123456789"):rep(100)))
	print(sha256(("x"):rep(55)), sha256(("x"):rep(56)), sha256(("x"):rep(64)))
end
