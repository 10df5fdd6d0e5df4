-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Shortest paths, spanning tree, topological order, connected components.
local N = 60

function run()
	local edges, seed, adj = {}, 11, {}
	for i = 1, N do adj[i] = {} end
	for i = 1, N * 4 do
		seed = (seed * 16807) % 2147483647
		local a = seed % N + 1
		seed = (seed * 16807) % 2147483647
		local b, w = seed % N + 1, i % 17 + 1
		if a ~= b then
			edges[#edges + 1] = { a, b, w }
			adj[a][#adj[a] + 1] = { b, w }
			adj[b][#adj[b] + 1] = { a, w }
		end
	end
	local dist, done = { [1] = 0 }, {}
	for _ = 1, N do
		local u, best
		for i = 1, N do
			if dist[i] and not done[i] and (not best or dist[i] < best) then u, best = i, dist[i] end
		end
		if not u then break end
		done[u] = true
		for _, e in ipairs(adj[u]) do
			local d = dist[u] + e[2]
			if not dist[e[1]] or d < dist[e[1]] then dist[e[1]] = d end
		end
	end
	local fw = {}
	for i = 1, N do fw[i] = {} for j = 1, N do fw[i][j] = i == j and 0 or 1e9 end end
	for _, e in ipairs(edges) do
		local a, b, w = e[1], e[2], e[3]
		fw[a][b] = math.min(fw[a][b], w)
		fw[b][a] = math.min(fw[b][a], w)
	end
	for k = 1, N do for i = 1, N do
		local ik, ri, rk = fw[i][k], fw[i], fw[k]
		for j = 1, N do if ik + rk[j] < ri[j] then ri[j] = ik + rk[j] end end
	end end
	local sum = 0
	for i = 1, N do
		assert((dist[i] or 1e9) == fw[1][i])
		sum = sum + (dist[i] or 0)
	end
	table.sort(edges, function(p, q)
		for k = 3, 1, -1 do if p[k] ~= q[k] then return p[k] < q[k] end end
		return false
	end)
	local parent = {}
	local function find(x) while parent[x] do x = parent[x] end return x end
	local mst, used = 0, 0
	for _, e in ipairs(edges) do
		local a, b = find(e[1]), find(e[2])
		if a ~= b then parent[a] = b mst = mst + e[3] used = used + 1 end
	end
	print(sum, mst, used)
	return sum, mst
end
