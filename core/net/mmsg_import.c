// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reads the process's struct mmsghdr array for mmsg.h, for both the module and libsyscript: a
 * message is checked once, and received into many times.
 */
#include "mmsg.h"
#include "platform.h"
#include "run.h"
#include "usermem.h"

static int mmsg_copy_in(struct run *run, void *to, unsigned long from, unsigned long n,
			unsigned long *wrong)
{
	int err = usermem_copy_in(run, to, from, n);

	if (err)
		*wrong = from;
	return err;
}

static int mmsg_check_header(const struct mmsg_header *h)
{
	if (h->iovlen > MMSG_IOV)
		return -E2BIG;
	if (h->control && h->controllen)
		return -EOPNOTSUPP;
	return h->name && h->namelen < 0 ? -EINVAL : 0;
}

static int mmsg_import_header(struct run *run, struct mmsg *mmsg, unsigned int i,
			    unsigned long *wrong)
{
	struct mmsg_slot *slot = &mmsg->slot[i];
	struct mmsg_header h;
	int err = mmsg_copy_in(run, &h, mmsg->addr + i * sizeof(h), sizeof(h), wrong);

	if (err)
		return err;
	err = mmsg_check_header(&h);
	if (err) {
		*wrong = i + 1;
		return err;
	}
	slot->iovlen = h.iovlen;
	slot->user_name = h.name;
	slot->name_room = h.namelen;
	return mmsg_copy_in(run, slot->iov, h.iov, h.iovlen * sizeof(slot->iov[0]), wrong);
}

int mmsg_import(struct run *run, struct mmsg *mmsg, unsigned long addr, unsigned int n,
		unsigned long *wrong)
{
	unsigned int i;
	int err = 0;

	mmsg->addr = addr;
	mmsg->n = n;
	for (i = 0; i < n && !err; i++)
		err = mmsg_import_header(run, mmsg, i, wrong);
	return err;
}
