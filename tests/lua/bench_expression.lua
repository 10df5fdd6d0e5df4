-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A tokenizer, a recursive descent parser, a tree evaluator and a code generator.
local prec = { ["+"] = 1, ["-"] = 1, ["*"] = 2, ["/"] = 2, ["^"] = 3 }
local function lex(s)
	local t, i = {}, 1
	while i <= #s do
		local sp, num, id, op = s:match("^%s+()", i), nil, nil, nil
		if sp then i = sp else
			num = s:match("^%d+%.?%d*", i)
			id = not num and s:match("^%a%w*", i)
			op = not num and not id and s:match("^[%+%-%*/%^%(%)]", i)
			local tok = num or id or op or error("bad character at " .. i, 0)
			t[#t + 1] = { kind = num and "num" or id and "id" or "op", v = num and tonumber(num) or tok }
			i = i + #tok
		end
	end
	return t
end
local function parse(t)
	local i = 1
	local expr
	local function atom()
		local k = t[i] or error("unexpected end", 0)
		i = i + 1
		if k.kind == "op" then
			if k.v == "(" then
				local e = expr(1)
				if not t[i] or t[i].v ~= ")" then error("')' expected", 0) end
				i = i + 1
				return e
			elseif k.v == "-" then return { "neg", atom() } end
			error("unexpected " .. k.v, 0)
		end
		return { k.kind, k.v }
	end
	function expr(min)
		local l = atom()
		while t[i] and prec[t[i].v] and prec[t[i].v] >= min do
			local op = t[i].v
			i = i + 1
			l = { op, l, expr(op == "^" and prec[op] or prec[op] + 1) }
		end
		return l
	end
	local e = expr(1)
	if t[i] then error("trailing " .. tostring(t[i].v), 0) end
	return e
end
local function eval(e, env)
	local k = e[1]
	if k == "num" then return e[2] elseif k == "id" then return env[e[2]] elseif k == "neg" then return -eval(e[2], env) end
	local a, b = eval(e[2], env), eval(e[3], env)
	if k == "+" then return a + b elseif k == "-" then return a - b elseif k == "*" then return a * b
	elseif k == "/" then return a / b else return a ^ b end
end
local function emit(e)
	if e[1] == "num" then return tostring(e[2]) elseif e[1] == "id" then return "env." .. e[2]
	elseif e[1] == "neg" then return "(-" .. emit(e[2]) .. ")" end
	return "(" .. emit(e[2]) .. e[1] .. emit(e[3]) .. ")"
end

function run()
	local sum = 0
	for _, src in ipairs { "1 + 2 * 3", "(1 + 2) * 3", "2 ^ 3 ^ 2", "-x * (y - 4) / 2", "x ^ 2 + y ^ 2 - x * y", "10 - 4 - 3", "((((7))))" } do
		local tree = parse(lex(src))
		local code = loadstring("local env = ... return " .. emit(tree))
		for x = 1, 60 do
			local env = { x = x, y = x / 2 }
			local a = eval(tree, env)
			assert(a == code(env))
			sum = sum + a
		end
		print(src, emit(tree), eval(tree, { x = 3, y = 5 }))
	end
	for _, bad in ipairs { "1 +", "(1", "1 2", ")", "1 $ 2", "* 3" } do
		print(bad, pcall(function() return parse(lex(bad)) end))
	end
	print(sum)
end
