# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Types that the compiler of Lua infers hold, also where a value is not the usual one."""

from __future__ import annotations

import pytest
from test_lua_compiler import STRESS, both

# Changes after which strings calculate.
STRINGS = """
local mt, sums = getmetatable(""), {}
for _, name in ipairs { "add", "sub", "mul", "mod", "unm" } do
  mt["__" .. name] = function(a, b)
    return setmetatable({ name .. " " .. tostring(a) .. " " .. tostring(b) }, sums)
  end
  sums["__" .. name] = mt["__" .. name]
end
sums.__tostring = function(t) return t[1] end
"""


@pytest.mark.parametrize("stress", ["", STRESS], ids=["", "collecting"])
def test_strings_that_calculate(stress: str) -> None:
    text = f"""{STRINGS}
    local function work(s, n)
      local v = s + n
      local w = v + 1
      local x = s:sub(1, 1) * 2
      return v, w, -s, s % 3, x, x == 4, type(v), v == w
    end
    function run()
      for _, s in ipairs {{ "12", "x", "0.5", "" }} do
        for i = 1, 3 do
          for k, v in pairs {{ work(s, i) }} do print(k, tostring(v)) end
        end
      end
    end
    """
    done = both(stress + text)
    assert done.returncode == 0 and "add x 1" in done.stdout, done.stderr
