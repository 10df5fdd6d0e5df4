# SPDX-License-Identifier: GPL-2.0
# `make install` and uninstall; releases and packages.

PREFIX ?= /usr/local
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
MODULESLOADDIR ?= $(PREFIX)/lib/modules-load.d
DOCDIR ?= $(PREFIX)/share/doc/syscript
# A system prefix: DKMS looks in /usr/src. Under any other prefix everything is below it, `make
# install` omits the modules' part, and nothing else on the machine is touched.
SYSTEM_PREFIX := $(filter /usr /usr/local,$(PREFIX))
DKMSDIR = $(DESTDIR)$(if $(SYSTEM_PREFIX),/usr,$(PREFIX))/src/syscript-$(LIB_VERSION)
DKMSDIR_LUAJIT = $(DKMSDIR:syscript-$(LIB_VERSION)=syscript-luajit-$(LIB_VERSION))

# Installing builds nothing: sudo would leave root's files in build/.
built = @for file in $(1); do [ -e $$file ] || \
	{ echo "$$file is missing: run 'make lib cli' first" >&2; exit 1; }; done

.PHONY: install-documents install-packaging install-dkms install-activate install-luajit uninstall dist
install: install-documents $(if $(SYSTEM_PREFIX),install-packaging install-dkms install-activate)

# Documents keep their folders, so that links between them work. They refer to manual pages as
# installed, `man 7 syscript`.
DOCUMENTS = README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md COPYING \
	$(wildcard LICENSES/* safety/README.md consolidate/README.md apps/README.md findings/*.md findings/*.sh \
	$(foreach folder,docs docs/design safety/docs consolidate/docs apps/docs,$(foreach type,md svg png,$(folder)/*.$(type))))
to_installed_pages := sed -i -E -e 's,\[(`man [^`]*`)\]\([^)]*\),\1,g' \
	-e 's,`man (safety/|consolidate/)?man/([^.`]*)\.([0-9])`,`man \3 \2`,g'

install-documents:
	$(call say,INSTALL,$(DESTDIR)$(DOCDIR))
	$(Q)for file in $(DOCUMENTS); do \
		install -D -m 0644 $$file $(DESTDIR)$(DOCDIR)/$$file || exit; \
	done
	$(Q)$(to_installed_pages) $(addprefix $(DESTDIR)$(DOCDIR)/,$(filter %.md,$(DOCUMENTS)))

install-packaging:
	$(call say,INSTALL,$(DESTDIR)$(UDEVDIR)/60-syscript.rules)
	$(Q)install -d $(DESTDIR)$(UDEVDIR)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|' packaging/60-syscript.rules >$(DESTDIR)$(UDEVDIR)/60-syscript.rules
	$(Q)chmod 0644 $(DESTDIR)$(UDEVDIR)/60-syscript.rules
	$(Q)install -D -m 0644 packaging/syscript.modules-load $(DESTDIR)$(MODULESLOADDIR)/syscript.conf

DKMS_SOURCES := kernel $(filter-out core/user,$(wildcard core/*)) engine/confined include/uapi include/linux COPYING LICENSES

install-dkms:
	$(call say,INSTALL,$(DKMSDIR))
	$(Q)rm -rf $(DKMSDIR)
	$(Q)install -d $(DKMSDIR)
	$(Q)cp -r --parents $(DKMS_SOURCES) $(DKMSDIR)
	$(Q)sed 's/@VERSION@/$(LIB_VERSION)/' packaging/dkms.conf >$(DKMSDIR)/dkms.conf
	$(Q)chmod -R u=rwX,go=rX $(DKMSDIR)

# The parts of the crates that luajit.mk compiles, and their licences.
DKMS_CRATES := luajit-src/luajit2 luajit-src/luajit_relver.txt \
	core-math-sys/vendor/LICENSE core-math-sys/vendor/src/binary64

# LuaJIT in the kernel, for an administrator who wants it: not part of `make install`.
install-luajit:
	$(call built,$(BUILD)/gen/constants.inc)
	$(call say,INSTALL,$(DKMSDIR_LUAJIT))
	$(Q)install -D -m 0644 packaging/60-syscript-luajit.rules $(DESTDIR)$(UDEVDIR)/60-syscript-luajit.rules
	$(Q)install -D -m 0644 packaging/syscript-luajit.sysusers $(DESTDIR)$(SYSUSERSDIR)/syscript-luajit.conf
	$(Q)install -D -m 0644 packaging/syscript-luajit.modules-load $(DESTDIR)$(MODULESLOADDIR)/syscript-luajit.conf
	$(Q)rm -rf $(DKMSDIR_LUAJIT)
	$(Q)install -d $(DKMSDIR_LUAJIT)/vendor
	$(Q)cp -r --parents $(DKMS_SOURCES) engine/luajit $(DKMSDIR_LUAJIT)
	$(Q)cd $(BUILD) && cp --parents gen/constants.inc $(abspath $(DKMSDIR_LUAJIT))
	$(Q)cd $(VENDOR) && cp -r --parents $(DKMS_CRATES) $(abspath $(DKMSDIR_LUAJIT))/vendor
	$(Q)sed 's/@VERSION@/$(LIB_VERSION)/' packaging/dkms-luajit.conf >$(DKMSDIR_LUAJIT)/dkms.conf
	$(Q)chmod -R u=rwX,go=rX $(DKMSDIR_LUAJIT)
	@[ "$(DESTDIR)$(if $(SYSTEM_PREFIX),,elsewhere)" ] || [ "$$(id -u)" != 0 ] || \
		packaging/activate-luajit $(PREFIX) $(LIB_VERSION)

# The safety kit is independent: safety/Makefile. `make install` does not include it.
safety_alone = $(MAKE) -s -C safety VERSION=$(LIB_VERSION) LIBRARY_OUT=$(abspath $(BUILD)) \
	DESTDIR=$(abspath $(DESTDIR)) PREFIX=$(PREFIX)

.PHONY: install-safety uninstall-safety
install-safety:
	$(safety_alone) install

uninstall-safety:
	$(safety_alone) uninstall

# On this machine itself, as root: also updates the linker's cache, the group and udev.
install-activate: install-lib install-cli install-packaging install-dkms
ifeq ($(DESTDIR),)
	@[ "$$(id -u)" != 0 ] || packaging/activate $(PREFIX) $(LIB_VERSION)
endif

# Installs again into a temporary directory to list the files. Also removes directories that are
# empty then, except those that every system has in /usr and /usr/local.
PREFIX_DEPTH = $(words $(subst /, ,$(PREFIX)))
KEPT_DEPTH = $(shell expr $(PREFIX_DEPTH) $(if $(SYSTEM_PREFIX),+,-) 1)
uninstall:
	$(call say,REMOVE,$(DESTDIR)$(PREFIX))
	@staged=$$(mktemp -d) && trap 'rm -rf "$$staged"' EXIT && \
	$(MAKE) -s install install-luajit DESTDIR="$$staged" >/dev/null && \
	find "$$staged" -mindepth 1 -depth -printf '%y %d %P\n' | while read -r type depth path; do \
		if [ "$$type" != d ]; then \
			rm -f "$(DESTDIR)/$$path"; \
		elif [ "/$$path" != /usr/local/share/man ] && \
				{ [ "$$depth" -gt $(KEPT_DEPTH) ] || [[ $$path == *syscript* ]]; }; then \
			rmdir "$(DESTDIR)/$$path" 2>/dev/null || :; \
		fi; \
	done
	@[ -n "$(DESTDIR)" ] || for name in syscript-luajit syscript; do \
		[ ! -e /var/lib/dkms/$$name ] || \
			echo "the module is still with DKMS: sudo dkms remove $$name/$(LIB_VERSION) --all"; \
	done

# The modules for one kernel as packages, signed if there is a key: docs/fleet.md.
MODULE_KEY ?=
MODULE_CERT ?=
.PHONY: module-deb
module-deb: module
	for module in $(KMODULE) $(KMODULE_LUAJIT); do \
		packaging/module-deb $$module $(KDIR) $(LIB_VERSION) $(DEB) \
			$(MODULE_KEY) $(MODULE_CERT) || exit; \
	done

# -- releases ------------------------------------------------------------------

DIST_NAME := syscript-$(LIB_VERSION)
DIST := $(BUILD)/$(DIST_NAME).tar.xz
# The parts of the crates that are compiled, and all licences.
DIST_CRATES := luajit-src core-math-sys/vendor/LICENSE core-math-sys/vendor/src/binary64 \
	softfloat-sys/berkeley-softfloat-3 \
	hdrhistogram-c lua-src/LICENSE lua-src/lua-5.1.5

# The last commit, the third-party sources, and Lua for the confined engine, compiled: building it
# needs no downloads.
dist: $(VENDOR_READY) $(BUILD)/lua-runtime/lua.image
	$(call say,DIST,$(DIST))
	$(Q)rm -rf $(BUILD)/dist && mkdir -p $(BUILD)/dist/$(DIST_NAME)/vendor
	$(Q)git archive HEAD | tar -x -C $(BUILD)/dist/$(DIST_NAME)
	$(Q)cd $(VENDOR) && cp -r --parents $(DIST_CRATES) $(abspath $(BUILD)/dist/$(DIST_NAME))/vendor
	$(Q)cp $(LUA_RUNTIME)/lua.image $(BUILD)/dist/$(DIST_NAME)/vendor
	$(Q)tar -C $(BUILD)/dist --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime=@$$(git log -1 --format=%ct) -c $(DIST_NAME) | xz -T0 >$(DIST)
	$(Q)rm -rf $(BUILD)/dist

# The standalone safety kit of the last commit: with its tests, design pages and manual.
SAFETY_NAME := safety-kit-$(LIB_VERSION)
SAFETY_DIST := $(BUILD)/$(SAFETY_NAME).tar.xz
SAFETY_TOP := $(BUILD)/safety-dist
SAFETY_STAGE = $(SAFETY_TOP)/$(SAFETY_NAME)
# The kit's tests that need the repository.
SAFETY_HERE := published build.mk test_kefence_boots.py test_user_programs.py test_kgcc_scaling.py

.PHONY: safety-dist test-safety-dist
safety-dist:
	$(call say,DIST,$(SAFETY_DIST))
	$(Q)rm -rf $(SAFETY_STAGE) && mkdir -p $(SAFETY_STAGE)
	$(Q)git archive HEAD safety | tar -x -C $(SAFETY_STAGE) --strip-components=1
	$(Q)rm -rf $(SAFETY_STAGE)/bench $(SAFETY_STAGE)/build.mk $(SAFETY_STAGE)/*/build.mk \
		$(SAFETY_HERE:%=$(SAFETY_STAGE)/tests/%)
	$(Q)cp vm/alone vm/kernlog.py $(SAFETY_STAGE)/tests
	$(Q)cp tests/unit/test_safety_reports.py $(SAFETY_STAGE)/tests/test_reports.py
	$(Q)cp -r COPYING LICENSES $(SAFETY_STAGE)
	$(Q)tar -C $(SAFETY_TOP) --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime=@$$(git log -1 --format=%ct) -c $(SAFETY_NAME) | xz -T0 >$(SAFETY_DIST)
	$(Q)rm -rf $(SAFETY_TOP)

# Unpacked, built by its own Makefile, and tested in a guest: without the repository, except for the
# guest.
SAFETY_AWAY := $(abspath $(BUILD))/safety-away
safety_away = env -u MAKEFLAGS make -C $(SAFETY_AWAY)/$(SAFETY_NAME) KDIR=$(KDIR) KREL=$(KREL) \
	PYTEST='$(abspath $(BUILD))/venv/bin/python -m pytest -p no:cacheprovider'
test-safety-dist: safety-dist $(KTREE)/complete
	rm -rf $(SAFETY_AWAY) && mkdir -p $(SAFETY_AWAY)
	tar -xf $(SAFETY_DIST) -C $(SAFETY_AWAY)
	PLUGIN_HEADERS="$$(vm/kernels.py plugin $(KREL))" $(safety_away) check
	vm/guest -k $(KREL) --planted --timeout $(SAFETY_TIME) -- $(safety_away) test-only \
		PYTEST_ARGS='$(PYTEST_ARGS)'

# -- Debian packages: $(BUILD)/deb/*.deb ---------------------------------------

.PHONY: deb test-deb
DEB := $(BUILD)/deb
# The packages' version is the changelog's; a test of upgrades sets another.
DEB_REVISION ?= 1
DEB_VERSION := $(LIB_VERSION)-$(DEB_REVISION)

# The package is not in Debian's archive, so it closes no bug; containers build as root.
LINTIAN := --suppress-tags initial-upload-closes-no-bugs --allow-root

deb: dist $(BUILD)/deps/deb.ready
	$(call say,DEB,$(DEB))
	$(Q)rm -rf $(DEB)/syscript-$(LIB_VERSION) && mkdir -p $(DEB)
	$(Q)cp $(DIST) $(DEB)/syscript_$(LIB_VERSION).orig.tar.xz
	$(Q)tar -xf $(DIST) -C $(DEB)
	$(Q)cp -r packaging/debian $(DEB)/syscript-$(LIB_VERSION)/debian
	$(Q)sed -i '1s/([^)]*)/($(DEB_VERSION))/' $(DEB)/syscript-$(LIB_VERSION)/debian/changelog
	$(Q)cd $(DEB)/syscript-$(LIB_VERSION) && dpkg-buildpackage -us -uc >../build.log 2>&1 || \
		{ tail -50 ../build.log >&2; exit 1; }
	$(Q)cd $(DEB) && lintian --fail-on error,warning $(LINTIAN) syscript_$(DEB_VERSION)_amd64.changes

# Install, use, upgrade and purge, in a clean Debian.
test-deb:
	$(Q)$(MAKE) deb DEB_REVISION=1
	$(Q)$(MAKE) deb DEB_REVISION=2
	packaging/test-deb $(DEB) $(LIB_VERSION)
