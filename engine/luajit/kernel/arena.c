// SPDX-License-Identifier: GPL-2.0
/*
 * Implements arena.h.
 *
 * The kernel exports no function that flushes a range from other CPUs' TLBs, so they are flushed
 * completely, and rarely: unmapped address space is not reused before the next flush, which comes
 * when 1 GiB is waiting (or a VM needs memory that it gave up). Page frames are freed at once, as
 * vfree() does.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/cpufeature.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/static_call.h>
#include <linux/vmalloc.h>
#include <asm/invpcid.h>
#include <asm/pgalloc.h>
#include <asm/pgtable.h>
#include <asm/special_insns.h>

#include "arena.h"
#include "symbols.h"

#define HOLE_START	0xffffff8000000000UL
#define HOLE_END	0xffffffef00000000UL

#define ARENA_PUDS	32		/* GiB */
#define ARENA_GRANULES	(ARENA_PUDS << (PUD_SHIFT - ARENA_GRANULE_SHIFT))
#define GRANULE_ORDER	(ARENA_GRANULE_SHIFT - PAGE_SHIFT)
#define GRANULE_PAGES	(1U << GRANULE_ORDER)
#define TABLE_GRANULES	(1U << (PMD_SHIFT - ARENA_GRANULE_SHIFT))
#define STALE_MAX	(1U << (PUD_SHIFT - ARENA_GRANULE_SHIFT))

static unsigned long base;		/* random start within the hole */
static pud_t *puds;			/* the entries of [base, base + ARENA_PUDS) */

/* Guards all variables below, and the page tables above the last level. */
static DEFINE_SPINLOCK(arena_lock);
static unsigned long *taken;		/* granules: in use, or stale */
static unsigned long *stale;		/* granules: unmapped since the last flush */
static unsigned int stale_count;
static u64 flushes;

static unsigned int granule_of(unsigned long addr)
{
	return (addr - base) >> ARENA_GRANULE_SHIFT;
}

/* -- TLBs ------------------------------------------------------------------ */

/* Flushes all of this CPU's translations, whatever their PCID, global ones included. */
static void flush_this_cpu(void *unused)
{
	unsigned long cr4;

	if (boot_cpu_has(X86_FEATURE_INVPCID)) {
		invpcid_flush_all();
		return;
	}
	/* Interrupts are off: nothing else changes CR4 in between. */
	cr4 = native_read_cr4();
	asm volatile("mov %0, %%cr4" : : "r" (cr4 ^ X86_CR4_PGE) : "memory");
	asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
}

/* -- Page tables ----------------------------------------------------------- */

/*
 * IOMMUs that share processes' page tables may cache the tables of the kernel's half. Newer
 * kernels flush IOMMUs before such a table is freed, by a function that is not exported.
 */
#ifdef CONFIG_ASYNC_KERNEL_PGTABLE_FREE
static void free_at_once(struct ptdesc *table)
{
	__free_page(ptdesc_page(table));
}

DEFINE_STATIC_CALL(arena_free_table, free_at_once);

static void free_table(unsigned long table)
{
	static_call(arena_free_table)(virt_to_ptdesc((void *)table));
}

static void find_free_table(void)
{
	void *found = symbols_find("pagetable_free_kernel");

	if (found)
		static_call_update(arena_free_table, found);
}
#else
static void free_table(unsigned long table)
{
	free_page(table);
}

static void find_free_table(void)
{
}
#endif

static pud_t *pud_of(unsigned long addr)
{
	return &puds[(addr - base) >> PUD_SHIFT];
}

static pmd_t *pmd_of(unsigned long addr)
{
	return pmd_offset(pud_of(addr), addr);
}

static pte_t *pte_of(unsigned long addr)
{
	return pte_offset_kernel(pmd_of(addr), addr);
}

static bool put_pmds(unsigned long addr, unsigned long table)
{
	lockdep_assert_held(&arena_lock);
	if (!pud_none(*pud_of(addr)))
		return false;
	set_pud(pud_of(addr), __pud(_KERNPG_TABLE | __pa(table)));
	return true;
}

static bool put_ptes(unsigned long addr, unsigned long table)
{
	lockdep_assert_held(&arena_lock);
	if (!pmd_none(*pmd_of(addr)))
		return false;
	set_pmd(pmd_of(addr), __pmd(_KERNPG_TABLE | __pa(table)));
	return true;
}

/*
 * Makes page tables down to the last level, which stay for later windows. Memory is allocated
 * without the lock: a task at its cgroup's limit may wait for memory as long as its user likes.
 */
static int make_table(unsigned long addr, gfp_t gfp,
		      bool (*put)(unsigned long addr, unsigned long table))
{
	unsigned long table = get_zeroed_page(gfp);
	bool used;

	if (!table)
		return -ENOMEM;
	spin_lock(&arena_lock);
	used = put(addr, table);
	spin_unlock(&arena_lock);
	if (!used)
		free_page(table);
	return 0;
}

/* For an open window, whose tables flush() keeps. */
static int make_tables(unsigned long addr, unsigned long end)
{
	int ret = 0;

	for (; addr < end && !ret; addr = (addr & PMD_MASK) + PMD_SIZE) {
		if (pud_none(*pud_of(addr)))
			ret = make_table(addr, GFP_KERNEL, put_pmds);
		if (!ret && pmd_none(*pmd_of(addr)))
			ret = make_table(addr, GFP_KERNEL_ACCOUNT, put_ptes);
	}
	return ret;
}

static bool has_tables(unsigned long addr)
{
	return !pud_none(*pud_of(addr)) && !pmd_none(*pmd_of(addr));
}

/* Unlinks a last-level table in which nothing is mapped. */
static void drop_table(unsigned long addr, struct list_head *dropped)
{
	struct page *table;

	lockdep_assert_held(&arena_lock);
	if (!has_tables(addr))
		return;
	table = virt_to_page(pmd_page_vaddr(*pmd_of(addr)));
	set_pmd(pmd_of(addr), __pmd(0));
	list_add(&table->lru, dropped);
}

static void free_dropped(struct list_head *dropped)
{
	struct page *table, *next;

	list_for_each_entry_safe(table, next, dropped, lru)
		free_table((unsigned long)page_address(table));
}

/* Makes stale address space usable again, and frees page tables that lie entirely in it. */
static void flush(void)
{
	unsigned int i = 0;
	LIST_HEAD(dropped);

	lockdep_assert_held(&arena_lock);
	bitmap_andnot(taken, taken, stale, ARENA_GRANULES);
	while ((i = find_next_bit(stale, ARENA_GRANULES, i)) < ARENA_GRANULES) {
		i = round_down(i, TABLE_GRANULES);
		if (find_next_bit(taken, i + TABLE_GRANULES, i) == i + TABLE_GRANULES)
			drop_table(base + i * ARENA_GRANULE, &dropped);
		i += TABLE_GRANULES;
	}
	on_each_cpu(flush_this_cpu, NULL, 1);
	flushes++;
	free_dropped(&dropped);
	bitmap_zero(stale, ARENA_GRANULES);
	stale_count = 0;
}

static void free_tables(void)
{
	unsigned long tables[ARENA_PUDS];
	unsigned int i, j;
	pmd_t *pmd;

	for (i = 0; i < ARENA_PUDS; i++) {
		tables[i] = 0;
		if (pud_none(puds[i]))
			continue;
		tables[i] = (unsigned long)pud_pgtable(puds[i]);
		set_pud(&puds[i], __pud(0));
	}
	/* CPUs cache page table entries of upper levels, too. */
	on_each_cpu(flush_this_cpu, NULL, 1);
	for (i = 0; i < ARENA_PUDS; i++) {
		if (!tables[i])
			continue;
		pmd = (pmd_t *)tables[i];
		for (j = 0; j < PTRS_PER_PMD; j++)
			if (!pmd_none(pmd[j]))
				free_table(pmd_page_vaddr(pmd[j]));
		free_table(tables[i]);
	}
}

/* -- Granules -------------------------------------------------------------- */

static void granule_unmap(unsigned long addr)
{
	pte_t *pte = pte_of(addr);
	struct page *page;
	unsigned int i;
	bool whole;

	if (pte_none(*pte))
		return;
	whole = PageHead(pte_page(*pte));
	for (i = 0; i < GRANULE_PAGES && !pte_none(pte[i]); i++) {
		page = pte_page(pte[i]);
		set_pte(&pte[i], __pte(0));
		if (!whole)
			__free_page(page);
		else if (i == GRANULE_PAGES - 1)
			__free_pages(compound_head(page), GRANULE_ORDER);
	}
}

static int granule_map(unsigned long addr, gfp_t gfp)
{
	pte_t *pte = pte_of(addr);
	struct page *page, *whole;
	unsigned int i;

	/* Allocates in one piece if that succeeds without reclaim. */
	whole = alloc_pages(gfp | __GFP_COMP | __GFP_NORETRY, GRANULE_ORDER);
	for (i = 0; i < GRANULE_PAGES; i++) {
		page = whole ? whole + i : alloc_page(gfp);
		if (!page)
			break;
		set_pte(&pte[i], pfn_pte(page_to_pfn(page), PAGE_KERNEL));
	}
	if (i == GRANULE_PAGES)
		return 0;
	granule_unmap(addr);
	return -ENOMEM;
}

static void unmap_granules(const struct arena_window *window, unsigned int first,
			   unsigned int n)
{
	for (; n; first++, n--) {
		granule_unmap((unsigned long)arena_address(window, first));
		cond_resched();
	}
}

int arena_map(struct arena_window *window, unsigned int first, unsigned int n,
	      gfp_t zero)
{
	unsigned long addr = (unsigned long)arena_address(window, first);
	unsigned int i;
	int ret;

	spin_lock(&arena_lock);
	if (window->stale == flushes)
		flush();
	spin_unlock(&arena_lock);
	ret = make_tables(addr, addr + n * ARENA_GRANULE);
	for (i = 0; i < n && !ret; i++) {
		ret = granule_map(addr + i * ARENA_GRANULE,
				  GFP_KERNEL_ACCOUNT | __GFP_NOWARN | zero);
		cond_resched();
	}
	if (ret)
		arena_unmap(window, first, i);
	return ret;
}

void arena_unmap(struct arena_window *window, unsigned int first, unsigned int n)
{
	unmap_granules(window, first, n);
	/* Waits for a flush after the current one, which may have begun too early. */
	spin_lock(&arena_lock);
	window->stale = flushes;
	spin_unlock(&arena_lock);
}

int arena_tables(struct arena_window *window)
{
	return make_tables(window->start,
			   (unsigned long)arena_address(window, window->granules));
}

void arena_alias(struct arena_window *window, unsigned int index, struct page *page,
		 bool writable)
{
	unsigned long addr = window->start + ((unsigned long)index << PAGE_SHIFT);
	pte_t pte = __pte(0);

	if (page)
		pte = pfn_pte(page_to_pfn(page), writable ? PAGE_KERNEL : PAGE_KERNEL_RO);
	set_pte(pte_of(addr), pte);
	asm volatile("invlpg (%0)" : : "r" (addr) : "memory");
}

/* -- Windows --------------------------------------------------------------- */

/* A random position with @n free granules, or ARENA_GRANULES. */
static unsigned int find_place(unsigned int n)
{
	unsigned int from = get_random_u32() % ARENA_GRANULES;
	unsigned int place;

	place = bitmap_find_next_zero_area(taken, ARENA_GRANULES, from, n, 0);
	if (place >= ARENA_GRANULES)
		place = bitmap_find_next_zero_area(taken, ARENA_GRANULES, 0, n, 0);
	return min_t(unsigned int, place, ARENA_GRANULES);
}

int arena_open(struct arena_window *window, unsigned int granules)
{
	unsigned int place, n = granules + 1;	/* plus a guard before them */

	spin_lock(&arena_lock);
	if (stale_count > STALE_MAX)
		flush();
	place = find_place(n);
	if (place == ARENA_GRANULES && stale_count) {
		flush();
		place = find_place(n);
	}
	if (place < ARENA_GRANULES) {
		bitmap_set(taken, place, n);
		window->start = base + (place + 1) * ARENA_GRANULE;
		window->granules = granules;
		window->stale = U64_MAX;
	}
	spin_unlock(&arena_lock);
	return place < ARENA_GRANULES ? 0 : -ENOMEM;
}

void arena_close(struct arena_window *window)
{
	unsigned int place = granule_of(window->start) - 1;
	unsigned int i, n = window->granules + 1;

	if (!window->granules)
		return;
	for (i = 0; i < window->granules; i++)
		if (has_tables((unsigned long)arena_address(window, i)))
			unmap_granules(window, i, 1);
	spin_lock(&arena_lock);
	bitmap_set(stale, place, n);
	stale_count += n;
	spin_unlock(&arena_lock);
	window->granules = 0;
}

/* -- The hole -------------------------------------------------------------- */

/* Finds consecutive unused entries in the table that also maps the kernel's text. */
static int find_hole(void)
{
	unsigned int n = (HOLE_END - HOLE_START) >> PUD_SHIFT;
	unsigned int i, from = get_random_u32() % (n - ARENA_PUDS + 1);
	p4d_t *p4d;

	BUILD_BUG_ON((HOLE_START ^ __START_KERNEL_map) >> 39);
	base = HOLE_START + ((unsigned long)from << PUD_SHIFT);
	p4d = p4d_offset(pgd_offset(current->mm, base), base);
	if (p4d_none(*p4d))
		return -ENODEV;
	puds = pud_offset(p4d, base);
	for (i = 0; i < ARENA_PUDS; i++)
		if (!pud_none(puds[i]))
			return -EBUSY;
	return 0;
}

int arena_init(void)
{
	int ret;

	if (cpu_feature_enabled(X86_FEATURE_XENPV) || !current->mm)
		return -EOPNOTSUPP;
	ret = find_hole();
	if (ret)
		return ret;
	find_free_table();
	taken = vzalloc(BITS_TO_LONGS(ARENA_GRANULES) * sizeof(long));
	stale = vzalloc(BITS_TO_LONGS(ARENA_GRANULES) * sizeof(long));
	if (taken && stale)
		return 0;
	vfree(taken);
	vfree(stale);
	return -ENOMEM;
}

void arena_exit(void)
{
	free_tables();
	vfree(taken);
	vfree(stale);
}
