-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- In the last iterations the functions that compiled code calls return no value: it must raise the
-- interpreter's error instead of continuing without a value.
function run()
	local good, bad = util.buffer(64), 16
	local function copied(address) return getmetatable(util.copyin(address, 3)) end
	local function text(address) return #util.str_in(address, 3) end

	for _, one in ipairs({ { "copyin", copied }, { "str_in", text } }) do
		local name, read = one[1], one[2]
		local failed = 0
		for i = 1, 400 do
			local ok = pcall(read, i < 390 and good or bad)
			if not ok then failed = failed + 1 end
		end
		print(name, failed)
		local ok, message = pcall(function()
			for i = 1, 400 do read(i < 390 and good or bad) end
		end)
		print(name, ok, message)
	end
	return 0
end
