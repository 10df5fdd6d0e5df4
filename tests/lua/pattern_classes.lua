-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Character classes, sets, ranges and their complements over all bytes.
function run()
	local all = {}
	for c = 0, 255 do all[c] = string.char(c) end
	for _, class in ipairs { "%a", "%c", "%d", "%l", "%p", "%s", "%u", "%w", "%x", "%z", ".", "%g",
		"[%w_]", "[^%w_]", "[a-f]", "[^a-f]", "[%a-z]", "[a%-z]", "[]]", "[^]]", "[a-]", "[%]]",
		"[\128-\255]", "[+-/]", "[%s%d]", "%%", "%.", "[.]" } do
		local n, sum = 0, 0
		for c = 0, 255 do
			if all[c]:find(class) then
				n = n + 1
				sum = (sum * 7 + c) % 65521
			end
		end
		print(class, n, sum)
	end
	for _, c in ipairs { "a", "c", "d", "l", "p", "s", "u", "w", "x" } do
		local n = 0
		for b = 0, 255 do
			local yes, no = all[b]:find("%" .. c), all[b]:find("%" .. c:upper())
			assert((yes == nil) ~= (no == nil))
			if yes then n = n + 1 end
		end
		assert(n > 0)
	end
end
