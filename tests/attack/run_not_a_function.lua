-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: no function named run
run = setmetatable({}, { __call = function() end })
