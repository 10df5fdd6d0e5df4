-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Base64, hexadecimal and URL coding of binary data.
local A = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local D = {}
for i = 1, 64 do D[A:byte(i)] = i - 1 end
local function enc(s)
	local out = {}
	for i = 1, #s, 3 do
		local a, b, c = s:byte(i, i + 2)
		local n = a * 65536 + (b or 0) * 256 + (c or 0)
		local q = {}
		for k = 0, 3 do
			local v = math.floor(n / 64 ^ (3 - k)) % 64
			q[k + 1] = A:sub(v + 1, v + 1)
		end
		if not b then q[3] = "=" end
		if not c then q[4] = "=" end
		out[#out + 1] = table.concat(q)
	end
	return table.concat(out)
end
local function dec(s)
	local out = {}
	for a, b, c, d in s:gmatch("(.)(.)(.)(.)") do
		local n = D[a:byte()] * 2 ^ 18 + D[b:byte()] * 4096 + (D[c:byte()] or 0) * 64 + (D[d:byte()] or 0)
		local x = string.char(math.floor(n / 65536), math.floor(n / 256) % 256, n % 256)
		out[#out + 1] = d == "=" and (c == "=" and x:sub(1, 1) or x:sub(1, 2)) or x
	end
	return table.concat(out)
end

function run()
	assert(enc("Man") == "TWFu" and enc("Ma") == "TWE=" and enc("M") == "TQ==" and enc("") == "")
	local bin = {}
	for i = 0, 599 do bin[#bin + 1] = string.char((i * 7 + math.floor(i / 256)) % 256) end
	bin = table.concat(bin)
	for n = 595, 600 do assert(dec(enc(bin:sub(1, n))) == bin:sub(1, n)) end
	print(enc(bin):sub(-40))
	local hex = bin:gsub(".", function(c) return string.format("%02x", c:byte()) end)
	local hn = 0
	assert((hex:gsub("%x%x", function(h) hn = hn + 1 return string.char(tonumber(h, 16)) end)):sub(1, 500) == bin:sub(1, 500))
	local url = ("a b&c=d/é?"):gsub("[^%w]", function(c) return string.format("%%%02X", c:byte()) end)
	print(url, (url:gsub("%%(%x%x)", function(h) return string.char(tonumber(h, 16)) end)))
	return hn
end
