-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- goto: continue, nested breaks, backward loops, closures over jumped locals.
function run()
	local s = 0
	for i = 1, 300 do
		if i % 3 == 0 then goto continue end
		s = s + i
		::continue::
	end
	assert(s == 45150 - 15150)
	local n = 0
	do
		local i = 1
		::top::
		n = n + i
		i = i + 1
		if i <= 300 then goto top end
	end
	assert(n == 45150)
	local found
	for i = 1, 20 do
		for j = 1, 20 do
			if i * j == 221 then
				found = i .. "x" .. j
				goto done
			end
		end
	end
	::done::
	assert(found == "13x17")
	local fs = {}
	do
		local k = 1
		::again::
		local x = k
		fs[k] = function() return x end
		k = k + 1
		if k <= 3 then goto again end
	end
	assert(fs[1]() == 1 and fs[2]() == 2 and fs[3]() == 3)
	local state, trace, input = nil, {}, "aab"
	local pos = 1
	::a::
	if input:sub(pos, pos) == "a" then
		trace[#trace + 1] = "A"
		pos = pos + 1
		goto a
	end
	goto b
	::b::
	if input:sub(pos, pos) == "b" then
		trace[#trace + 1] = "B"
		pos = pos + 1
		goto b
	end
	assert(table.concat(trace) == "AAB" and state == nil)
	for _, src in ipairs { "goto x", "do ::x:: end goto x", "::x:: ::x::", "goto x; local a; ::x:: print(a)",
		"break", "repeat goto c; local z; ::c:: until z" } do
		local f, e = loadstring(src, "=g")
		assert(not f)
		print(e)
	end
	return s, n
end
