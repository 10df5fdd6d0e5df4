# SPDX-License-Identifier: GPL-2.0 OR MIT
# make bench-memcached: memcached's ways to serve GETs over UDP, in one boot.

# Options of bench/memcached/memcached.py: BENCH_ARGS='--modes off syscript --rounds 9'
BENCH_ARGS ?=

.PHONY: bench-memcached bench-memcached-icount bench-memcached-frames-icount
bench-memcached: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload module
	$(BUILD)/venv/bin/python bench/memcached/memcached.py -k $(KREL) \
		-o $(BUILD)/bench/memcached.json $(BENCH_ARGS)

bench-memcached-icount: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload module
	$(BUILD)/venv/bin/python bench/memcached/memcached.py --icount -k $(KREL) \
		-o $(BUILD)/bench/memcached-icount.json $(BENCH_ARGS)

# Over a veth pair: what frames save there.
bench-memcached-frames-icount: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload \
		module $(BUILD)/syscript
	$(BUILD)/venv/bin/python bench/memcached/memcached.py --icount -k $(KREL) \
		--modes mmsg frames -o $(BUILD)/bench/memcached-frames-icount.json $(BENCH_ARGS)

# The same in short: three ways, one size, one table.  DEMO_ARGS=--seccomp: with the
# servers under the seccomp filter of containers.
DEMO_ARGS ?=
demo: $(BUILD)/memcached/memcached $(BUILD)/bench/udpload/udpload module
	@echo "demo: booting Linux $(KREL) in a guest: memcached with one packet a system call,"
	@echo "demo: with recvmmsg and sendmmsg, and with a system call script (two minutes)"
	@$(BUILD)/venv/bin/python bench/memcached/memcached.py --short -k $(KREL) \
		-o $(BUILD)/bench/demo.json $(DEMO_ARGS)
