-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A small machine language interpreted in Lua: dispatch by table and by if chain.
local function brainf(src, input)
	local jump, stack = {}, {}
	for i = 1, #src do
		local c = src:sub(i, i)
		if c == "[" then stack[#stack + 1] = i
		elseif c == "]" then local j = table.remove(stack) jump[i], jump[j] = j, i end
	end
	local tape, p, out, pc, steps, at = {}, 0, {}, 1, 0, 1
	while pc <= #src do
		local c = src:byte(pc)
		if c == 43 then tape[p] = ((tape[p] or 0) + 1) % 256
		elseif c == 45 then tape[p] = ((tape[p] or 0) - 1) % 256
		elseif c == 62 then p = p + 1
		elseif c == 60 then p = p - 1
		elseif c == 46 then out[#out + 1] = string.char(tape[p] or 0)
		elseif c == 44 then tape[p] = input:byte(at) or 0 at = at + 1
		elseif c == 91 then if (tape[p] or 0) == 0 then pc = jump[pc] end
		elseif c == 93 then if (tape[p] or 0) ~= 0 then pc = jump[pc] end end
		pc, steps = pc + 1, steps + 1
	end
	return table.concat(out), steps
end
local ops = {
	push = function(s, a) s[#s + 1] = a end,
	add = function(s) local b = table.remove(s) s[#s] = s[#s] + b end,
	mul = function(s) local b = table.remove(s) s[#s] = s[#s] * b end,
	dup = function(s) s[#s + 1] = s[#s] end,
	swap = function(s) local n = #s s[n], s[n - 1] = s[n - 1], s[n] end,
	dec = function(s) s[#s] = s[#s] - 1 end,
	jnz = function(s, a) if s[#s] ~= 0 then return a end end,
}

function run()
	local out, steps = brainf("++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------.>>+.>++.", "")
	assert(out == "Hello World!\n")
	assert(brainf(",[.,]", "echo") == "echo")
	print(steps)
	local prog = { { "push", 0 }, { "push", 100 }, { "dup" }, { "push", 2 }, { "mul" }, { "push", 0 }, { "add" } }
	local stack, pc, n = {}, 1, 0
	prog = { { "push", 200 }, { "dec" }, { "dup" }, { "jnz", 2 } }
	while prog[pc] do
		local jump = ops[prog[pc][1]](stack, prog[pc][2])
		pc = jump or pc + 1
		n = n + 1
	end
	assert(stack[#stack] == 0 and #stack == 201)
	print(n)
	return steps, n
end
