# SPDX-License-Identifier: GPL-2.0
# make soak: memcached under load, with vandals and SIGKILL, in a guest.

# Seconds
SOAK_TIME ?= 600
# An emulated 7.x kernel with two CPUs dies of static keys under traffic: docs/design/testing.md.
SOAK_CPUS ?= $(if $(filter 7.%,$(KREL)),1,2)

.PHONY: soak
soak: $(BUILD)/memcached/memcached $(UDPLOAD) $(BUILD)/syscript module
	vm/guest -k $(KREL) -m --fair --cpus $(SOAK_CPUS) --timeout $$(($(SOAK_TIME) * 2 + 600)) -- \
		tests/soak/soak.py --seconds $(SOAK_TIME)

# Namespace owners' programs against each other; then the module is unloaded.
.PHONY: soak-programs
soak-programs: guest-programs
	vm/guest -k $(KREL) -m --cpus $(SOAK_CPUS) --timeout $$(($(SOAK_TIME) * 2 + 600)) -- \
		$(PYTEST) tests/hostile/test_program_storms.py --attack-time $(SOAK_TIME) $(PYTEST_ARGS)
