-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- print() and other functions cope with globals that the script replaced.
-- expect: error: 'tostring' must return a string
function run()
	tostring = function() return {} end
	error = nil
	pcall = nil
	print("text", 1)
end
