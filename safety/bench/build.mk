# SPDX-License-Identifier: GPL-2.0
# What the tools cost, in a guest.

.PHONY: bench-safety bench-safety-icount bench-safety-scaling profile-safety-icount
bench-safety bench-safety-icount bench-safety-scaling: deps safety-tests
bench-safety-icount profile-safety-icount: $(BUILD)/vm/counter.so

bench-safety:
	safety/bench/bench.py -k $(KREL) -o $(BUILD)/bench/safety.json

bench-safety-icount:
	safety/bench/bench.py -k $(KREL) --icount -o $(BUILD)/bench/safety-icount.json

bench-safety-scaling:
	safety/bench/scaling.py -k $(KREL) -o $(BUILD)/bench/safety-scaling.json

# One of its samples, function by function: SAMPLE='reiserfs compile kgcc'.
SAMPLE ?= ecryptfs mix plain
profile-safety-icount: deps safety-tests
	safety/bench/counted.py -k $(KREL) -o $(PROFILE) $(SAMPLE)
