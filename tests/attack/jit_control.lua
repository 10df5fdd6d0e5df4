-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The script controls the compiler's switches.
-- expect: ok
function run()
	if not jit then return end
	for k, f in pairs(jit) do
		if type(f) == "function" then
			pcall(f)
			pcall(f, true)
			pcall(f, run, true)
			pcall(f, 2 ^ 53)
			pcall(f, -1, -1)
		end
	end
	local s = 0
	for i = 1, 1000 do
		s = s + i
		if i % 100 == 0 then
			pcall(jit.off)
			pcall(jit.flush)
			pcall(jit.on)
		end
	end
	assert(s == 500500)
end
