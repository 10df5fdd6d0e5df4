# SPDX-License-Identifier: GPL-2.0
"""Published modules: source, build, and workload of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import exercises as do

TOOLS = ["", "kgcc", "evmon", "kefence", "racewatch"]


class Published(NamedTuple):
    name: str
    source: str  # a package of Debian, or a directory of the kernel's source
    load: str  # its modules in load order, parameters after :
    exercise: Callable[[Path], None]
    below: str = ""  # directory of the modules in the package's source
    needs: str = ""  # kernel modules that it needs but does not declare
    settings: tuple[str, ...] = ()  # make variables; @ stands for the source directory
    kbuild: str = ""  # replaces the source's own makefile
    prepare: str = ""  # a shell command run in a copy of its source
    programs: str = ""  # Debian packages with programs for its workload

    @property
    def is_kernel(self) -> bool:
        return not self.source.endswith("-dkms")


XTABLES = (
    "xt_length2 xt_ipv4options xt_lscan xt_psd xt_condition xt_fuzzy xt_quota2 xt_TARPIT "
    "xt_ECHO xt_LOGMARK ACCOUNT/xt_ACCOUNT xt_DELUDE xt_CHAOS"
)

# The command in its package's dkms.conf.
NETFLOW = """./configure --from-dkms-conf=$KDIR --ipt-bin=/usr/sbin/iptables-legacy \\
--ipt-inc=$FETCHED/libxtables-dev/usr/include \\
--enable-natevents --enable-macaddress --enable-vlan --enable-direction --enable-sampler \\
--enable-physdev --enable-promisc --promisc-mpls && make version.h compat_def.h"""

# A kernel function has gained a parameter since.
RAZER = """! grep -qs 'size_t bufsize' ${KDIR%-*}-*/include/linux/hid.h ||
sed -i 's/xdata, sizeof(xdata), 0/xdata, sizeof(xdata), sizeof(xdata), 0/' razerkbd_driver.c"""

# Joins its three directories, whose makefiles build one module each.
JOOL = """
include $(src)/mod/common/Kbuild
jool_common-objs := $(addprefix mod/common/,$(jool_common-objs))
jool-objs := mod/nat64/jool.o
jool_siit-objs := mod/siit/jool_siit.o
obj-m := jool_common.o jool.o jool_siit.o
ccflags-y := -I$(src)
"""

PUBLISHED = [
    # -- of the kernel's own tree
    Published(
        *("ecryptfs", "fs/ecryptfs", "ecryptfs", do.ecryptfs),
        settings=("CONFIG_ECRYPT_FS=m", "CONFIG_ECRYPT_FS_MESSAGING=y"),
    ),
    Published(
        *("reiserfs", "fs/reiserfs", "reiserfs", do.reiserfs),
        settings=(
            *("CONFIG_REISERFS_FS=m", "CONFIG_REISERFS_PROC_INFO="),
            *("CONFIG_REISERFS_FS_XATTR=y", "CONFIG_REISERFS_FS_POSIX_ACL=y"),
            "CONFIG_REISERFS_FS_SECURITY=y",
        ),
    ),
    Published("minix", "fs/minix", "minix", do.minix, settings=("CONFIG_MINIX_FS=m",)),
    Published("bfs", "fs/bfs", "bfs", do.bfs, settings=("CONFIG_BFS_FS=m",)),
    Published("overlay", "fs/overlayfs", "overlay", do.overlay, settings=("CONFIG_OVERLAY_FS=m",)),
    Published("veth", "drivers/net", "veth", do.veth, kbuild="obj-m := veth.o"),
    Published("dummy", "drivers/net", "dummy:numdummies=0", do.dummy, kbuild="obj-m := dummy.o"),
    Published("ifb", "drivers/net", "ifb:numifbs=0", do.ifb, kbuild="obj-m := ifb.o"),
    Published(
        "macvlan", "drivers/net", "macvlan", do.macvlan, kbuild="obj-m := macvlan.o", needs="dummy"
    ),
    Published("tun", "drivers/net", "tun", do.tun, kbuild="obj-m := tun.o"),
    Published(
        *("dm", "drivers/md", "dm-delay dm-flakey dm-zero dm-crypt dm-writecache", do.mapper),
        kbuild="obj-m := dm-delay.o dm-flakey.o dm-zero.o dm-crypt.o dm-writecache.o",
    ),
    Published(
        *("zram", "drivers/block/zram", "zram", do.zram),
        settings=("CONFIG_ZRAM=m",),
    ),
    Published(
        *("null_blk", "drivers/block/null_blk", "null_blk:nr_devices=0", do.null_block),
        settings=("CONFIG_BLK_DEV_NULL_BLK=m",),
    ),
    Published(
        *("ciphers", "crypto", "serpent_generic twofish_common twofish_generic", do.ciphers),
        kbuild="obj-m := serpent_generic.o twofish_common.o twofish_generic.o",
        needs="algif_skcipher cbc ecb blowfish_generic",
    ),
    Published(
        *("hashes", "crypto", "wp512 rmd160 md4", do.hashes),
        kbuild="obj-m := wp512.o rmd160.o md4.o",
        needs="algif_hash",
    ),
    # -- Debian's packages for DKMS
    Published("acpi_call", "acpi-call-dkms", "acpi_call", do.acpi_call),
    Published("apfs", "apfs-dkms", "apfs", do.apfs, programs="apfsprogs"),
    Published(
        *("dahdi", "dahdi-dkms", "dahdi dahdi_echocan_mg2 dahdi_dynamic dahdi_dynamic_loc"),
        *(do.dahdi, "drivers/dahdi"),
        settings=(
            *("DAHDI_INCLUDE=@/include", "CONFIG_DAHDI=m", "CONFIG_DAHDI_DYNAMIC=m"),
            *("CONFIG_DAHDI_DYNAMIC_LOC=m", "CONFIG_DAHDI_ECHOCAN_MG2=m"),
        ),
    ),
    Published(
        "ddcci", "ddcci-dkms", "ddcci", do.ddcci, below="ddcci", settings=("KCPPFLAGS=-I@/include",)
    ),
    Published("digimend", "digimend-dkms", "hid-kye hid-uclogic hid-polostar", do.digimend),
    Published("dm-writeboost", "dm-writeboost-dkms", "dm-writeboost", do.writeboost),
    Published(
        *("gost-crypto", "gost-crypto-dkms"),
        *("gost28147_generic gosthash94_generic kuznyechik_generic magma_generic", do.gost),
        needs="algif_hash algif_skcipher ecb cbc",
        settings=("KCPPFLAGS=-I@",),
    ),
    Published("igb_uio", "dpdk-kmods-dkms", "igb_uio", do.igb_uio, needs="uio"),
    Published(
        *("ipt_NETFLOW", "iptables-netflow-dkms", "ipt_NETFLOW:destination=127.0.0.1:2055"),
        do.netflow,
        prepare=NETFLOW,
        programs="libxtables-dev",
    ),
    Published(
        *("jool", "jool-dkms", "jool_common jool jool_siit", do.jool, "src"),
        kbuild=JOOL,
        programs="jool-tools libnl-3-200 libnl-genl-3-200",
    ),
    Published("lime", "lime-forensics-dkms", "lime:path=/dev/null:format=raw", do.lime),
    Published(
        *("nat-rtsp", "nat-rtsp-dkms", "nf_conntrack_rtsp nf_nat_rtsp", do.nat_rtsp),
    ),
    Published(
        *("openrazer", "openrazer-driver-dkms", "razerkbd razermouse razeraccessory"),
        *(do.openrazer, "driver"),
        prepare=RAZER,
    ),
    Published(
        *("ovpn-dco", "openvpn-dco-dkms", "ovpn-dco-v2", do.ovpn, "drivers/net/ovpn-dco"),
        settings=(
            "CONFIG_OVPN_DCO_V2=m",
            "KCPPFLAGS=-I@/include -include @/linux-compat.h -I@/compat-include "
            r"-DOVPN_DCO_VERSION=\"1\"",
        ),
    ),
    Published("rapiddisk", "rapiddisk-dkms", "rapiddisk rapiddisk-cache", do.rapiddisk),
    Published(
        *("rtpengine", "rtpengine-kernel-dkms", "xt_RTPENGINE", do.rtpengine),
        settings=("RTPENGINE_VERSION=1",),
    ),
    Published("scap", "falcosecurity-scap-dkms", "scap", do.scap),
    Published("v4l2loopback", "v4l2loopback-dkms", "v4l2loopback", do.loopback_video),
    Published("vpoll", "vpoll-dkms", "vpoll", do.vpoll),
    Published(
        *("xtables-addons", "xtables-addons-dkms", f"compat_xtables {XTABLES}", do.xtables),
        below="extensions",
        settings=("XA_ABSTOPSRCDIR=@", "XA_TOPSRCDIR=@"),
        programs="xtables-addons-common",
    ),
    # evdi breaks the guest even without a tool.
    Published("evdi", "evdi-dkms", "evdi", do.evdi, settings=("DKMS_BUILD=1",)),
]

# Debian's other packages for DKMS.
NOT_EXERCISED = {
    "adv-17v35x": "drives serial cards on PCI that no guest has",
    "bbswitch": "loads only on a laptop with two graphics cards",
    "langford": "drives a board on PCI; without it there is only its registration",
    "librem-ec-acpi": "does not build for this kernel (its battery hooks have another type)",
    "lttng-modules": "40 modules that only its session daemon uses together",
    "openafs-modules": "a source to configure, and a cell of AFS to mount",
    "tp-smapi": "talks to a ThinkPad's controller",
    "west-chamber": "rules for an xtables-addons of 2011",
    "xtrx": "drives a board on PCI; without it there is only its registration",
}
