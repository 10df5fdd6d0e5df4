-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Compiler parameters out of all proportion.
-- expect: ok | ENOBUFS | ETIME
function run()
	local start = jit and jit.opt and jit.opt.start
	if not start then return end
	for _, p in ipairs { "maxtrace", "maxrecord", "maxirconst", "maxside", "maxsnap", "hotloop", "hotexit", "tryside",
		"instunroll", "loopunroll", "callunroll", "recunroll", "sizemcode", "maxmcode", "minstitch" } do
		for _, v in ipairs { 0, 1, 2, 65535, 65536, 2147483647, -1 } do
			pcall(start, p .. "=" .. v)
			local f = loadstring("local s = 0 for i = 1, 200 do s = s + i % 3 end return s")
			assert(f() == 200)
		end
	end
end
