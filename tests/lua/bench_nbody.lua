-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- N-body: planets under gravity, energy before and after.
local function body(x, y, z, vx, vy, vz, m) return { x = x, y = y, z = z, vx = vx, vy = vy, vz = vz, m = m } end
local SOLAR, DAYS = 4 * math.pi * math.pi, 365.24

local function energy(b)
	local e = 0
	for i = 1, #b do
		local p = b[i]
		e = e + 0.5 * p.m * (p.vx * p.vx + p.vy * p.vy + p.vz * p.vz)
		for j = i + 1, #b do
			local q = b[j]
			local dx, dy, dz = p.x - q.x, p.y - q.y, p.z - q.z
			e = e - p.m * q.m / math.sqrt(dx * dx + dy * dy + dz * dz)
		end
	end
	return e
end

local function advance(b, dt)
	for i = 1, #b do
		local p = b[i]
		for j = i + 1, #b do
			local q = b[j]
			local dx, dy, dz = p.x - q.x, p.y - q.y, p.z - q.z
			local d2 = dx * dx + dy * dy + dz * dz
			local mag = dt / (d2 * math.sqrt(d2))
			p.vx, p.vy, p.vz = p.vx - dx * q.m * mag, p.vy - dy * q.m * mag, p.vz - dz * q.m * mag
			q.vx, q.vy, q.vz = q.vx + dx * p.m * mag, q.vy + dy * p.m * mag, q.vz + dz * p.m * mag
		end
	end
	for i = 1, #b do
		local p = b[i]
		p.x, p.y, p.z = p.x + dt * p.vx, p.y + dt * p.vy, p.z + dt * p.vz
	end
end

function run()
	local b = {
		body(0, 0, 0, 0, 0, 0, SOLAR),
		body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.00166007664274403694 * DAYS,
			0.00769901118419740425 * DAYS, -0.0000690460016972063023 * DAYS, 0.000954791938424326609 * SOLAR),
		body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -0.00276742510726411742 * DAYS,
			0.00499852801234917238 * DAYS, 0.0000230417297573763929 * DAYS, 0.000285885980666130812 * SOLAR),
		body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 0.00296460137564761618 * DAYS,
			0.00237847173959480950 * DAYS, -0.0000296589568540237556 * DAYS, 0.0000436624404335156298 * SOLAR),
		body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.00268067772490389322 * DAYS,
			0.00162824170038242295 * DAYS, -0.0000951592254519715870 * DAYS, 0.0000515138902046611451 * SOLAR),
	}
	local px, py, pz = 0, 0, 0
	for i = 1, 5 do px, py, pz = px + b[i].vx * b[i].m, py + b[i].vy * b[i].m, pz + b[i].vz * b[i].m end
	b[1].vx, b[1].vy, b[1].vz = -px / SOLAR, -py / SOLAR, -pz / SOLAR
	print(string.format("%.9f", energy(b)))
	assert(string.format("%.9f", energy(b)) == "-0.169075164")
	for _ = 1, 1000 do advance(b, 0.01) end
	assert(string.format("%.9f", energy(b)) == "-0.169087605")
	print(string.format("%.17g", energy(b)))
end
