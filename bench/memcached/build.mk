# SPDX-License-Identifier: GPL-2.0 OR MIT
# make bench-memcached: memcached's ways to serve GETs over UDP, in one boot.

# Options of bench/memcached/memcached.py: BENCH_ARGS='--modes off syscript --rounds 9'
BENCH_ARGS ?=

.PHONY: bench-memcached
bench-memcached: $(BUILD)/memcached/memcached $(UDPLOAD) module
	$(BUILD)/venv/bin/python bench/memcached/memcached.py -k $(KREL) \
		-o $(BUILD)/bench/memcached.json $(BENCH_ARGS)
