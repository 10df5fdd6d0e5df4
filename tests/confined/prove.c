// SPDX-License-Identifier: GPL-2.0
/* The verifier's decoder and its step function, called from prove.py. */
#include <string.h>

#include "../../engine/confined/arch/x86/verify_x86.c"
#include "prove_step.h"

struct found {
	u8 bytes[16];
	struct verify_insn in;
};

/* Placeholder bytes for constants and displacements, and what follows them. */
static const u8 tail[] = { 0x18, 0, 0, 0, 0x28, 0, 0, 0, 0, 0, 0, 0 };
/* Offsets of the fields of struct machine that are checked. */
static const u8 places[] = { 0, 8, 16, 24, 32, 40, 48, 56, 60, 64, 112, 120, 128, 136 };

struct search {
	struct found *found;
	u32 n, most;
};

static void try_bytes(struct search *s, const u8 *bytes)
{
	struct verify_insn in = { .index = NO_INDEX };

	if (!decode_insn(bytes, 16, &in))
		return;
	if (s->n < s->most) {
		memcpy(s->found[s->n].bytes, bytes, 16);
		s->found[s->n].in = in;
	}
	s->n++;
}

/* Does @op (0x100: after 0x0f) have no ModRM byte? Then the bytes after it do not matter. */
static bool is_whole(u32 op)
{
	return (op >= 0x50 && op < 0x60) || (op >= 0x70 && op < 0x80) ||
	       (op >= 0xb8 && op < 0xc0) ||
	       (op >= 0x180 && op < 0x190) || (op >= 0x1c8 && op < 0x1d0);
}

/* Tries all continuations of an opcode of which @at bytes are set. */
static void try_operands(struct search *s, u8 *bytes, u32 at)
{
	u32 modrm, sib, i;

	for (modrm = 0; modrm < 256; modrm++) {
		u32 has_sib = modrm < 0xc0 && (modrm & 7) == 4;

		bytes[at] = modrm;
		for (sib = 0; sib < (has_sib ? 256 : 1); sib++) {
			u32 end = at + 1 + has_sib;

			if (has_sib)
				bytes[at + 1] = sib;
			memcpy(bytes + end, tail, 16 - end < sizeof(tail) ? 16 - end : sizeof(tail));
			try_bytes(s, bytes);
			/* Fields, and the constants of divisions and landing pads. */
			for (i = 0; modrm >= 0x40 && modrm < 0xc0 && (modrm & 7) == 1 &&
				    i < sizeof(places); i++) {
				bytes[end] = places[i];
				if (places[i] != tail[0])
					try_bytes(s, bytes);
			}
			if (modrm >= 0xc0) {
				bytes[end] = 0xff;
				try_bytes(s, bytes);
			}
		}
	}
}

/* Finds all accepted single instructions, regardless of constants; returns their number. */
PUBLIC u32 prove_search(struct found *found, u32 most);
u32 prove_search(struct found *found, u32 most)
{
	static const u8 prefixes[] = { 0, 0x66, 0xf0, 0xf2, 0xf3, 0x67, 0x2e, 0x65 };
	struct search s = { .found = found, .most = most };
	u32 p, rex, two, op;

	for (p = 0; p < sizeof(prefixes); p++)
		for (rex = 0x3f; rex < 0x50; rex++)
			for (two = 0; two < 2; two++)
				for (op = 0; op < 256; op++) {
					u8 bytes[16] = { 0 };
					u32 at = 0;

					if (prefixes[p])
						bytes[at++] = prefixes[p];
					if (rex > 0x3f)
						bytes[at++] = rex;
					if (two)
						bytes[at++] = 0x0f;
					bytes[at++] = op;
					if (is_whole(op | two << 8))
						try_bytes(&s, bytes);
					else
						try_operands(&s, bytes, at);
				}
	return s.n;
}

/* The bytes of row @i; values above 0xff are wildcards; NULL: no such row. */
PUBLIC const u16 *prove_row(u32 i, u32 *len);
const u16 *prove_row(u32 i, u32 *len)
{
	u32 first;

	for (first = 0; first < sizeof(patterns) / sizeof(*patterns); first++) {
		if (i < patterns[first].n) {
			*len = patterns[first].rows[i].len;
			return patterns[first].rows[i].bytes;
		}
		i -= patterns[first].n;
	}
	return NULL;
}
