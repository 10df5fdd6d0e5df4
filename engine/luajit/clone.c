/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A new VM with its libraries open costs far more than a copy of one: see vm_make_original(). */
#define clone_c
#define LUA_LIB

#include <errno.h>

#include "lua.h"
#include "lauxlib.h"

#include "lj_obj.h"
#include "lj_dispatch.h"
#include "lj_alloc.h"

#include "clone.h"
#include "lib.h"

/*
** A new VM with its libraries open is always the same, except for its address.
** So it is made once, and copied. The words to relocate in a copy are found
** by making two VMs and comparing them: a word that differs by their distance
** is a pointer, tagged or not.
*/
static struct {
  const uint64_t *image;	/* The original's heap. */
  const uint16_t *moved;	/* Indexes of the words that are pointers. */
  unsigned int words, nmoved;	/* Numbers of words in use, and of pointers among them. */
  unsigned long memory;
  ptrdiff_t L, heap;		/* Offsets in the heap. */
} original;

#define HEAP_SIZE	(64u << 10)	/* lj_alloc's first size. */
#define HEAP_WORDS	(HEAP_SIZE / 8)
#define FOOT_WORDS	8u		/* The foot of the heap's top chunk, at its end. */

/*
** Stores the VM in L, and then L in the VM, in this order: from then on a tick
** may interrupt L at any time, and vm_interrupt() needs L's fields.
*/
void vm_publish(struct vm *vm, lua_State *L)
{
  global_State *g = G(L);
  g->allocd = vm;
  g->cstklim = (uintptr_t)vm->stack + VM_STACK_RESERVE;
  lj_alloc_setprng(vm->heap, (PRNGState *)(void *)vm);
  __atomic_store_n(&vm->L, L, __ATOMIC_RELEASE);
}

static void disown(struct vm *vm)
{
  G(vm->L)->allocd = NULL;
  G(vm->L)->cstklim = 0;
  lj_alloc_setprng(vm->heap, NULL);
}

/* Restores the lock as if no interrupt had come; no later interrupt finds it free. */
static void settle(struct vm *vm)
{
  global_State *g = G(vm->L);
  for (;;) {
    vm_interrupted(vm);
    if (__atomic_exchange_n(&vm->lock, 1, __ATOMIC_ACQUIRE))
      continue;
    if (!vm->poll)
      break;
    __atomic_store_n(&vm->lock, 0, __ATOMIC_RELEASE);
  }
  g->hookcount = g->hookcstart = 0;
  lj_dispatch_init_hotcount(g);
}

/* The heap must be in its first chunk, or the copy would miss a part. */
static uint64_t *heap_of(struct vm *vm)
{
  uint64_t *base = (uint64_t *)((uintptr_t)vm->heap & ~(uintptr_t)4095);
  return vm->stats.memory < HEAP_SIZE - 4096 &&
	 (char *)vm->L - (char *)base < (ptrdiff_t)HEAP_SIZE ? base : NULL;
}

long vm_make_original(void *arg)
{
  struct vm **pair = (struct vm **)arg;
  uint64_t *a, *b;
  uint16_t *moved;
  uint64_t distance;
  unsigned int i, n = 0, words = 0;
  a = heap_of(pair[0]);
  b = heap_of(pair[1]);
  if (!a || !b)
    return -ENOBUFS;
  for (i = 0; i < 2; i++) {
    settle(pair[i]);
    disown(pair[i]);
  }
  distance = (uint64_t)(uintptr_t)b - (uint64_t)(uintptr_t)a;
  moved = (uint16_t *)(void *)b;  /* After the words that are still to be compared. */
  for (i = 0; i < HEAP_WORDS; i++) {
    uint64_t from = a[i], to = b[i];
    if (to - from == distance)
      moved[n++] = (uint16_t)i;
    else if (to != from)
      return -EINVAL;
    if (from && i < HEAP_WORDS - FOOT_WORDS)
      words = i + 1;
  }
  original.image = a;
  original.moved = moved;
  original.words = (words + 7) & ~7u;
  original.nmoved = n;
  original.memory = pair[0]->stats.memory;
  original.L = (char *)pair[0]->L - (char *)a;
  original.heap = (char *)pair[0]->heap - (char *)a;
  return 0;
}

static void copywords(uint64_t *to, const uint64_t *from, unsigned int n)
{
  typedef uint64_t v2 __attribute__((vector_size(16), aligned(8)));
  unsigned int i;
  for (i = 0; i < n; i += 4) {
    v2 x = *(const v2 *)(from + i), y = *(const v2 *)(from + i + 2);
    *(v2 *)(to + i) = x;
    *(v2 *)(to + i + 2) = y;
  }
}

int vm_canclone(struct vm *vm)
{
  return original.image && vm->memory_limit > original.memory;
}

/* The original's tables have no objects as keys. */
static void key_tables(struct vm *vm)
{
  GCobj *o;
  for (o = gcref(G(vm->L)->gc.root); o; o = gcnext(o))
    if (o->gch.gct == ~LJ_TTAB)
      gco2tab(o)->hkey = vm->hash_key;
}

int vm_clone(struct vm *vm)
{
  uint64_t *base = (uint64_t *)port_pages(vm, HEAP_SIZE);
  const uint16_t *moved = original.moved;
  unsigned int i, foot = HEAP_WORDS - FOOT_WORDS;
  uint64_t distance;
  if (!base) {
    vm_settext(vm, "no memory for a new script");
    return -ENOMEM;
  }
  copywords(base, original.image, original.words);
  copywords(base + foot, original.image + foot, FOOT_WORDS);
  distance = (uint64_t)(uintptr_t)base -
	     (uint64_t)(uintptr_t)original.image;
  for (i = 0; i < original.nmoved; i++)
    base[moved[i]] += distance;
  vm->heap = (char *)base + original.heap;
  vm->stats.memory = vm->stats.memory_peak = original.memory;
  vm_publish(vm, (lua_State *)(void *)((char *)base + original.L));
  key_tables(vm);
  G(vm->L)->prng.u[0] ^= vm->prng_key;
  vm_usejit(vm);
  return 0;
}
