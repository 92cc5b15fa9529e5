// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_proof_private.h  For the files of the proof only; see ram_proof.h. */
#pragma once

#include "guest/arch/arch.h"
#include "guest/ram/candidates.h"
#include "measure/kernel/fault_trace.h"
#include "measure/ram_proof.h"

#define PROOF_FIRST_SAMPLE 64
#define PROOF_MAX_SAMPLE 16384
#define PROOF_MAX_FAULTS 256 /* maximum of different addresses stored for a sample */
#define PROOF_MAX_TRIES 32   /* maximum of hypotheses tested for a sample */
#define PROOF_MAX_SLOTS 64

/** The cost of the proof. */
struct ram_proof_cost {
    uint64_t dropped_pages, faults;
    unsigned hypotheses, rounds;
};

/* A hypothesis. Addresses are compared in units: a base page, or a huge page that KVM may map as a
 * whole. */
struct hypothesis {
    uint64_t offset; /* HVA - GPA, of the units' begins, modulo 2^64 */
    uint64_t unit;   /* bytes */
    size_t votes;
};

/* The part of a slot that is proved. */
struct proved {
    size_t candidate;
    struct hypothesis by;
    uint64_t first_hva, end_hva; /* range of the pages whose faults were seen */
};

struct proof {
    const struct target *target;
    const struct ram_config *config;
    struct gpa_layout layout; /* of that configuration; all zero: it is not known */
    struct candidates *candidates;
    struct fault_trace *trace;
    int pagemap_fd;
    uint64_t random;
    size_t n_faults;
    uint64_t faults[PROOF_MAX_FAULTS]; /* guest-physical addresses, ascending once sorted */
    size_t n_pages;
    uint64_t pages[PROOF_MAX_SAMPLE]; /* dropped, ascending */
    size_t n_slots;
    struct proved slots[PROOF_MAX_SLOTS];
    struct ram_proof_cost cost;
};

/** The beginning of the unit that contains @p address. */
static inline uint64_t proof_down(uint64_t address, uint64_t unit)
{
    return address & ~(unit - 1);
}

/** Drops KVM's mapping of the page at @p hva. 0 or a negative errno. */
int proof_drop(struct proof *proof, uint64_t hva);

/** Sleeps for some milliseconds, and reads the faults of that time. */
void proof_wait(struct proof *proof);

/** Discards the faults so far. */
void proof_forget(struct proof *proof);

/** The size of the largest units of a candidate. */
uint64_t proof_unit(const struct candidate *c);

/** Draws and drops up to @p n pages of the candidate, and waits as long as more faults come. 0 or a
 * negative errno. */
int proof_sample(struct proof *proof, const struct candidate *c, size_t n);

/** Addresses of faults that no slot explains. */
struct unexplained {
    size_t n;
    uint64_t gpa[PROOF_MAX_FAULTS];
};

/** Adds those of the sample. Returns true if any is new, so that a slot may be missing. */
bool proof_note_unexplained(const struct proof *proof, struct unexplained *known);

/** Returns true if this hypothesis maps a page of the sample to the fault at @p gpa. */
bool proof_explains(const struct proof *proof, const struct hypothesis *h, uint64_t gpa);

/** Makes hypotheses from the sample, and adds the best new ones to @p best. */
void proof_hypotheses(const struct proof *proof, uint64_t unit,
                      struct hypothesis best[PROOF_MAX_TRIES]);

/** Tests a hypothesis on @p c. Replaces the sample's faults. 1: it is proved; 0: it is not; or a
 * negative errno. */
int proof_test(struct proof *proof, const struct candidate *c, const struct hypothesis *h);
