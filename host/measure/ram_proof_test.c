// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_proof_test.c  The test of a hypothesis; see ram_proof.h. */
#include "measure/ram_proof_private.h"

#include "base/bytes.h"
#include "base/debug.h"
#include "base/random.h"

#include <inttypes.h>
#include <math.h>

#define MAX_COINS 24 /* pages in a test */
#define MAX_ROUNDS 200
#define MAX_EMPTY_ROUNDS 10
#define ROUND_STEPS 20
#define CHANCE 1e-12
#define NEIGHBOUR_TRIES 8

struct coin {
    uint64_t hva, gpa; /* begin of the unit */
    bool heads;        /* dropped in this round */
    bool pending;      /* dropped, and not seen since */
    bool faulted;
};

struct test {
    const struct candidate *candidate;
    const struct hypothesis *by;
    size_t n;
    struct coin coins[MAX_COINS];
    unsigned with, against; /* faults with the page dropped, and not dropped */
};

/* The probability that by chance at least so many faults are at dropped pages. */
static double chance_of(unsigned with, unsigned against)
{
    const unsigned n = with + against;
    double sum = 0;

    for (unsigned k = 0; k <= against; k++)
        sum += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) - n * log(2));
    return sum;
}

static void choose_coins(const struct proof *proof, struct test *test)
{
    uint64_t last = UINT64_MAX;

    for (size_t i = 0; i < proof->n_faults && test->n < MAX_COINS; i++) {
        const uint64_t gpa = proof_down(proof->faults[i], test->by->unit);

        if (gpa != last && proof_explains(proof, test->by, gpa))
            test->coins[test->n++] = (struct coin){.hva = gpa + test->by->offset, .gpa = gpa};
        last = gpa;
    }
}

static void note_faulted(const struct proof *proof, struct test *test)
{
    for (size_t c = 0; c < test->n; c++)
        for (size_t i = 0; i < proof->n_faults; i++)
            test->coins[c].faulted |= proof_down(proof->faults[i], test->by->unit) ==
                                      test->coins[c].gpa;
}

static bool all_came(const struct test *test)
{
    for (size_t c = 0; c < test->n; c++)
        if (test->coins[c].heads && !test->coins[c].faulted)
            return false;
    return true;
}

static bool is_coin(const struct test *test, uint64_t hva)
{
    for (size_t c = 0; c < test->n; c++)
        if (test->coins[c].hva == proof_down(hva, test->by->unit))
            return true;
    return false;
}

/* Drops, instead of a unit, another one in the same huge page of the host: if KVM maps both by one
 * mapping, dropping either makes the unit's page fault, and this unit size is wrong. */
static int drop_neighbour(struct proof *proof, const struct test *test, uint64_t hva)
{
    const struct vma *whole = &test->candidate->whole;
    const uint64_t block = larger(proof_unit(test->candidate), huge_page_bytes());

    for (unsigned i = 0; i < NEIGHBOUR_TRIES && test->by->unit < block; i++) {
        const uint64_t other = proof_down(hva, block) +
                               random_below(&proof->random, base_pages(block)) * base_page_bytes();

        if (other >= whole->start && other < whole->end && !is_coin(test, other))
            return proof_drop(proof, other);
    }
    return 0;
}

/* Excludes a page that was dropped until it has faulted, because its fault may come in any
 * round. */
static int throw_coins(struct proof *proof, struct test *test)
{
    int rc = 0;

    for (size_t c = 0; rc == 0 && c < test->n; c++) {
        struct coin *coin = &test->coins[c];

        coin->faulted = false;
        coin->heads = !coin->pending && random_below(&proof->random, 2);
        if (!coin->pending)
            rc = coin->heads ? proof_drop(proof, coin->hva)
                             : drop_neighbour(proof, test, coin->hva);
    }
    return rc;
}

static unsigned count_round(struct test *test)
{
    unsigned faults = 0;

    for (size_t c = 0; c < test->n; c++) {
        struct coin *coin = &test->coins[c];

        faults += coin->faulted;
        if (!coin->pending && coin->faulted) {
            test->with += coin->heads;
            test->against += !coin->heads;
        }
        coin->pending = (coin->pending || coin->heads) && !coin->faulted;
    }
    return faults;
}

/* Faults of the previous round may still be reported in this one, when a vCPU faults at the same
 * address as another. */
static int test_round(struct proof *proof, struct test *test, unsigned *faults)
{
    proof_wait(proof);
    note_faulted(proof, test);
    for (size_t c = 0; c < test->n; c++)
        test->coins[c].pending &= !test->coins[c].faulted;
    proof_forget(proof);

    int rc = throw_coins(proof, test);

    for (unsigned i = 0; rc == 0 && i < ROUND_STEPS && (i == 0 || !all_came(test)); i++) {
        proof_wait(proof);
        note_faulted(proof, test);
    }
    *faults = count_round(test);
    proof->cost.rounds++;
    return rc;
}

/* Returns 1 if the hypothesis is proved, 0 if it is not, or a negative errno. */
int proof_test(struct proof *proof, const struct candidate *c, const struct hypothesis *h)
{
    struct test test = {.candidate = c, .by = h};
    unsigned empty = 0;

    proof->cost.hypotheses++;
    choose_coins(proof, &test);
    for (unsigned round = 0; round < MAX_ROUNDS && empty < MAX_EMPTY_ROUNDS; round++) {
        unsigned faults = 0;
        int rc = test_round(proof, &test, &faults);

        if (rc < 0)
            return rc;
        empty = faults ? 0 : empty + 1;
        if (chance_of(test.with, test.against) * MAX_ROUNDS *
                (PROOF_MAX_TRIES + proof->cost.hypotheses) <
            CHANCE)
            return 1;
        if (test.against >= 3 && 4 * test.against > test.with)
            break;
    }
    debug_log("no proof: offset %" PRIx64 " in units of %" PRIu64
              ", %zu votes, %u with, %u against",
              h->offset, h->unit, h->votes, test.with, test.against);
    return 0;
}
