-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- expect: error: error object is a nil value
function run() error() end
