# SPDX-License-Identifier: GPL-2.0
# What the tools cost, in a guest.

.PHONY: bench-safety bench-safety-icount
bench-safety bench-safety-icount: deps safety-tests

bench-safety:
	safety/bench/bench.py -k $(KREL) -o $(BUILD)/bench/safety.json

bench-safety-icount:
	safety/bench/bench.py -k $(KREL) --icount -o $(BUILD)/bench/safety-icount.json
