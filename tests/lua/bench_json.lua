-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A JSON encoder and decoder, round trips and errors.
local encode
local ESC = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r", ["\b"] = "\\b", ["\f"] = "\\f" }
local function quote(s)
	return '"' .. s:gsub('[%c"\\]', function(c) return ESC[c] or string.format("\\u%04x", c:byte()) end) .. '"'
end
function encode(v)
	local t = type(v)
	if t == "nil" or t == "boolean" then return tostring(v) end
	if t == "number" then return string.format("%.14g", v) end
	if t == "string" then return quote(v) end
	local out = {}
	if #v > 0 then
		for i = 1, #v do out[i] = encode(v[i]) end
		return "[" .. table.concat(out, ",") .. "]"
	end
	local keys = {}
	for k in pairs(v) do keys[#keys + 1] = k end
	table.sort(keys)
	for i, k in ipairs(keys) do out[i] = quote(k) .. ":" .. encode(v[k]) end
	return "{" .. table.concat(out, ",") .. "}"
end

local function decode(s)
	local pos = 1
	local value
	local function fail(m) error(m .. " at " .. pos, 0) end
	local function ws() pos = s:find("[^ \t\r\n]", pos) or #s + 1 end
	local function str()
		local out, i = {}, pos + 1
		while true do
			local a = s:find('["\\]', i)
			if not a then fail("unfinished string") end
			out[#out + 1] = s:sub(i, a - 1)
			if s:byte(a) == 34 then pos = a + 1 return table.concat(out) end
			local c = s:sub(a + 1, a + 1)
			if c == "u" then
				out[#out + 1] = string.char(tonumber(s:sub(a + 2, a + 5), 16) % 256)
				i = a + 6
			else
				out[#out + 1] = ({ n = "\n", t = "\t", r = "\r", b = "\b", f = "\f" })[c] or c
				i = a + 2
			end
		end
	end
	function value()
		ws()
		local c = s:sub(pos, pos)
		if c == '"' then return str() end
		if c == "{" or c == "[" then
			local t, close = {}, c == "{" and "}" or "]"
			pos = pos + 1
			ws()
			if s:sub(pos, pos) == close then pos = pos + 1 return t end
			while true do
				local k = #t + 1
				if c == "{" then
					ws()
					if s:sub(pos, pos) ~= '"' then fail("key expected") end
					k = str()
					ws()
					if s:sub(pos, pos) ~= ":" then fail("':' expected") end
					pos = pos + 1
				end
				t[k] = value()
				ws()
				local d = s:sub(pos, pos)
				pos = pos + 1
				if d == close then return t end
				if d ~= "," then pos = pos - 1 fail("',' expected") end
			end
		end
		for word, v in pairs { ["true"] = true, ["false"] = false } do
			if s:sub(pos, pos + #word - 1) == word then pos = pos + #word return v end
		end
		if s:sub(pos, pos + 3) == "null" then pos = pos + 4 return nil end
		local num = s:match("^-?%d+%.?%d*[eE]?[+-]?%d*", pos)
		if not num then fail("value expected") end
		pos = pos + #num
		return tonumber(num)
	end
	local v = value()
	ws()
	if pos <= #s then fail("trailing text") end
	return v
end

function run()
	local doc = { name = 'quo"te\\ \1', list = { 1, 2.5, -3e10, { deep = { true, false } } }, empty = {}, n = 0 }
	for i = 1, 30 do doc["k" .. i] = { id = i, tags = { "t" .. i, "u" .. i * 2 }, half = i / 2 } end
	local text = encode(doc)
	local again = encode(decode(text))
	assert(text == again)
	for _ = 1, 5 do assert(encode(decode(text)) == text) end
	print(#text, text:sub(1, 60))
	for _, bad in ipairs { "{", "[1,", '{"a" 1}', "[1 2]", "tru", '"abc', "1 2", "{a:1}", "" } do
		print(bad, pcall(decode, bad))
	end
	assert(decode(' [ 1 , "x" , { } ] ')[2] == "x")
	return #text
end
