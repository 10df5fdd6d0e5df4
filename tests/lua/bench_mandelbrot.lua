-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Mandelbrot set: escape counts summed and drawn.
function run()
	local w, h, total = 60, 30, 0
	for y = 0, h - 1 do
		local line, ci = {}, 2 * y / h - 1
		for x = 0, w - 1 do
			local cr, zr, zi, n = 3 * x / w - 2, 0, 0, 0
			while n < 60 do
				local r2, i2 = zr * zr, zi * zi
				if r2 + i2 > 4 then break end
				zr, zi = r2 - i2 + cr, 2 * zr * zi + ci
				n = n + 1
			end
			total = total + n
			line[#line + 1] = n == 60 and "#" or n > 8 and "+" or n > 4 and "." or " "
		end
		print((table.concat(line):gsub("%s+$", "")))
	end
	return total
end
