-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Linked lists, deques, skip list, trie, red-black-free treap: pointer chasing.
local seed = 7
local function rnd(n) seed = (seed * 16807) % 2147483647 return seed % n end

local function insert(t, k)
	if not t then return { k = k, p = rnd(1e6) } end
	if k < t.k then
		t.l = insert(t.l, k)
		if t.l.p > t.p then local l = t.l t.l, l.r = l.r, t return l end
	elseif k > t.k then
		t.r = insert(t.r, k)
		if t.r.p > t.p then local r = t.r t.r, r.l = r.l, t return r end
	end
	return t
end
local function inorder(t, out) if t then inorder(t.l, out) out[#out + 1] = t.k inorder(t.r, out) end return out end
local function height(t) return t and 1 + math.max(height(t.l), height(t.r)) or 0 end

function run()
	local root, set, n = nil, {}, 0
	for _ = 1, 500 do
		local k = rnd(2000)
		if not set[k] then set[k] = true n = n + 1 end
		root = insert(root, k)
	end
	local keys = inorder(root, {})
	assert(#keys == n)
	for i = 2, n do assert(keys[i - 1] < keys[i]) end
	assert(height(root) < 40)
	local head
	for i = 1, 500 do head = { v = i, next = head } end
	local rev
	while head do head, head.next, rev = head.next, rev, head end
	local s, p = 0, rev
	local len = 0
	while p do s, p, len = s + p.v, p.next, len + 1 end
	print(n, height(root), len, s)
	local trie = {}
	for w in ("a an ant and any bat bath bad bare bar"):gmatch("%a+") do
		local t = trie
		for c in w:gmatch(".") do t[c] = t[c] or {} t = t[c] end
		t.word = w
	end
	local words = {}
	local function walk(t)
		if t.word then words[#words + 1] = t.word end
		for c = 97, 122 do local q = t[string.char(c)] if q then walk(q) end end
	end
	walk(trie)
	print(table.concat(words, " "))
	local cell = {}
	for i = 1, 41 do cell[i] = i % 41 + 1 end
	local at, left = 41, 41
	while left > 1 do
		at = cell[cell[at]]
		cell[at] = cell[cell[at]]
		left = left - 1
	end
	print(at)
	return n, at
end
