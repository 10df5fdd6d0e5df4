-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Metamethods of the tables, called with arguments that are not tables.
-- expect: ok | error: .
function run()
	for _, t in ipairs { syscall, errno, const } do
		local mt = getmetatable(t)
		local index = type(mt) == "table" and mt.__index
		if type(index) == "function" then
			for _, name in ipairs { "open", "EAGAIN", "O_RDONLY" } do
				for _, first in ipairs { 1, "x", true, print, coroutine.create(print) } do pcall(index, first, name) end
				pcall(index, nil, name)
			end
		end
	end
end
