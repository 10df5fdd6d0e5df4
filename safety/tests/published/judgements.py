# SPDX-License-Identifier: GPL-2.0
"""Manual judgements of the reports about published modules.

(module, text in the report, "bug" or "false", explanation)
"""

JUDGEMENTS: list[tuple[str, str, str, str]] = [
    (
        *("apfs", r"order of locks: &nxs_mutex", "bug"),
        "`super.c:1532`: a mount takes `nx_big_sem` (`inode.c:802`) under `nxs_mutex`, a "
        "transaction takes them in the other order (`transaction.c:424`): a second volume's "
        "mount and a write to the first may wait for each other for ever",
    ),
    (
        *("dm-writeboost", r"leak[\s\S]*try_alloc_writeback_ios|try_alloc_writeback_ios", "bug"),
        "`dm-writeboost-metadata.c:1127`: free_writeback_ios() frees as many segments as were "
        "written back last (`nr_cur_batched_writeback`), not as many as there are; the others, "
        "with their arrays, leak when the target goes",
    ),
    (
        *("xtables-addons", r"dst\.h:\d+ (delude|tarpit|xttarpit)", "bug"),
        "`xt_DELUDE.c:131`: dst_metric() is asked for RTAX_HOPLIMIT, of which the kernel warns: "
        "ip4_dst_hoplimit() is for that",
    ),
    (
        *("evdi", r"RIP: \S*iommu_", "bug"),
        "`evdi_platform_dev.c:79`: the probe has `pdev->dev.iommu` point to a local of its own, "
        "and the kernel reads what is there on the stack by then when the device goes "
        "(iommu_release_device()), which ends the guest",
    ),
    (
        *("evdi", r"evdi_(painter|crtc)", "bug"),
        "`evdi_drm_drv.c:299`: drm_dev_unplug() unloads the device, which frees it "
        "(`evdi_drm_drv.c:234`), and drm_atomic_helper_shutdown() in the next line uses it "
        "(`evdi_modeset.c:82`)",
    ),
    (
        *("rapiddisk", r"mutex taken with preemption off: &resize_mutex", "bug"),
        "`rapiddisk.c:382`: copy_to_rdsk() takes `resize_mutex`, and may sleep, while its caller "
        "has the page mapped by kmap_atomic() (`rapiddisk.c:489`), which turns preemption off",
    ),
    (
        *("xtables-addons", r"memory allocated that may sleep[\s\S]*counter_list_lock", "bug"),
        "`xt_quota2.c:164`: q2_get_counter() holds `counter_list_lock` while it allocates with "
        "GFP_KERNEL (q2_new_counter()) and makes an entry of /proc, both of which may sleep",
    ),
]
