# SPDX-License-Identifier: GPL-2.0
# make soak: memcached under load, vandals and SIGKILL, in a guest.

# Seconds
SOAK_TIME ?= 600

.PHONY: soak
soak: $(BUILD)/memcached/memcached $(UDPLOAD) $(BUILD)/syscript module
	vm/guest -k $(KREL) -m --fair --timeout $$(($(SOAK_TIME) * 2 + 600)) -- \
		tests/soak/soak.py --seconds $(SOAK_TIME)

# tests/vm/test_memcached.py
guest-programs: $(BUILD)/memcached/memcached $(UDPLOAD)
