-- SPDX-License-Identifier: MIT
-- The first script: says hello, adds two numbers.
--
--   syscript run scripts/hello.lua 20 22

function run(a, b)
  print("hello from process " .. syscall.getpid() ..
        ", user " .. syscall.getuid())
  return (a or 0) + (b or 0)
end
