# SPDX-License-Identifier: GPL-2.0
# The safety kit: tools for kernel modules. Each tool's build.mk, next to its sources, uses the
# rules defined here.
#
# Everything built for a kernel is below SAFETY_OUT, in one directory for each module:
#
#   kefence/kefence.ko             a tool's own, from safety/kefence
#   ecryptfs/ecryptfs.ko           a third party's, from the kernel's source
#   ecryptfs+kefence/ecryptfs.ko   the same, built with a tool; +kefence+kgcc with two
#   NAME+kefence/NAME.ko           a module of the tests, from safety/tests/modules/NAME

SAFETY_OUT := $(BUILD)/safety-$(KREL)

# The module and the tools in a directory's name such as ecryptfs+kefence+kgcc.
safety_name = $(firstword $(subst +, ,$(1)))
safety_tools = $(wordlist 2,9,$(subst +, ,$(1)))

# Prerequisites: the lists of symbols that the tools export.
safety_needs = $(KTREE)/complete $(foreach tool,$(1),$(SAFETY_OUT)/$(tool)/$(tool).ko)

# $(call safety_build,SOURCE[,SETTINGS]): the recipe of a module.
safety_build = @safety/build-module $(KDIR) $(@D) $(1) $(call safety_tools,$(notdir $(@D))) -- $(2)

# $(eval $(call safety_module,DIRECTORY,TARGET,SOURCE[,SETTINGS])): the rule of a
# module, which becomes a prerequisite of TARGET.
define safety_module
.PHONY: $(2)
$(2): $(SAFETY_OUT)/$(1)/$(call safety_name,$(1)).ko
$(SAFETY_OUT)/$(1)/$(call safety_name,$(1)).ko: FORCE $(call safety_needs,$(call safety_tools,$(1)))
	$$(call safety_build,$(3),$(4))
endef

# Rules for a tool of the kit, for a module of its tests, and for foreign ones:
#   $(eval $(call safety_tool,kefence))
#   $(eval $(call safety_test,planted+kefence))
#   $(eval $(call safety_foreign,ecryptfs+kefence[,SETTINGS]))
safety_tool = $(call safety_module,$(1),safety,safety/$(1))
safety_test = $(call safety_module,$(1),safety-tests,safety/tests/modules/$(call safety_name,$(1)))
safety_foreign = $(if $(filter $(call safety_name,$(1)),$(SAFETY_FOREIGN)),$(call \
	safety_module,$(1),safety-tests,$$$$(vm/kernels.py sources $(KREL) \
	fs/$(call safety_name,$(1))),$(SAFETY_SETTINGS_$(call safety_name,$(1))) $(2)))

# -- foreign modules, from Debian's linux-source -------------------------------

# Linux 6.13 dropped reiserfs.
SAFETY_FOREIGN := ecryptfs $(if $(filter 6.1.% 6.12.%,$(KREL)),reiserfs)
SAFETY_SETTINGS_ecryptfs := CONFIG_ECRYPT_FS=m CONFIG_ECRYPT_FS_MESSAGING=y
SAFETY_SETTINGS_reiserfs := CONFIG_REISERFS_FS=m CONFIG_REISERFS_PROC_INFO= \
	CONFIG_REISERFS_FS_XATTR=y CONFIG_REISERFS_FS_POSIX_ACL=y CONFIG_REISERFS_FS_SECURITY=y

$(eval $(call safety_foreign,ecryptfs))
$(eval $(call safety_foreign,reiserfs))

# -- syscript.ko with tools: make module SAFETY=kefence ------------------------

$(KMODULE): $(call safety_needs,$(subst $(comma), ,$(SAFETY)))
$(KMODULE): private export SAFETY_BUILT = $(abspath $(SAFETY_OUT))

# -- syscript.ko with each tool, under its own guest tests ----------------------

SAFETY_KIT := kgcc kefence evmon racewatch
# To run some of the tests: make test-safety-syscript SYSCRIPT_TESTS=tests/vm/test_engine.py
SYSCRIPT_TESTS ?= $(VM_TESTS) tests/unit
# Time limit in seconds for the tests of one tool.
SYSCRIPT_TIME ?= 10800

.PHONY: test-safety-syscript
test-safety-syscript:
	for tool in $(SAFETY_KIT); do \
		$(MAKE) KREL=$(KREL) SAFETY=$$tool guest-programs && \
		vm/guest -k $(KREL) --safety $$tool --timeout $(SYSCRIPT_TIME) -- \
			$(PYTEST) --long $(SYSCRIPT_TESTS) $(PYTEST_ARGS) || exit; \
	done

# -- tests ---------------------------------------------------------------------

# Time limit in seconds for the guest tests of one kernel.
SAFETY_TIME ?= 2700

.PHONY: safety safety-tests test-safety
safety-tests: safety

test-safety: deps safety-tests
	vm/guest -k $(KREL) --planted --timeout $(SAFETY_TIME) -- \
		$(PYTEST) safety/tests $(PYTEST_ARGS)
	KREL=$(KREL) $(PYTEST) safety/tests -m boot $(PYTEST_ARGS) || [ $$? = 5 ] # 5: none
