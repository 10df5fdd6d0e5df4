-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A script cannot convert a function to bytecode and back.
-- expect: ok
function run()
	if string.dump then
		local ok, code = pcall(string.dump, run)
		assert(not ok or load(code) == nil)
	end
end
