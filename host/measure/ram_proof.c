// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/ram_proof_private.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/debug.h"
#include "base/random.h"
#include "guest/arch/arch.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/kernel/kvm_stats.h"
#include "measure/kernel/pagemap.h"
#include "measure/kernel/trace_event.h"
#include "measure/method.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RING_BYTES (256UL << 10)
#define ENOUGH_FAULTS 48
/* A small slot has few huge pages, so one sample may leave its faults unexplained (2 of 11 starts
 * of proof.sh on a busy machine). Faults of devices' registers always are, at the same addresses.
 */
#define ENOUGH_SAMPLES 2
/* KVM may map some slots of a mapping by huge pages, whose faults are many, and others by base
 * pages, of which a guest touches few. So a sample of base pages is large. */
#define FINE_SAMPLE (PROOF_MAX_SAMPLE / 4)
#define FEWEST_VOTES 3

/* --- slots ------------------------------------------------------------------------------------ */

static void widen(struct proved *slot, uint64_t hva)
{
    slot->first_hva = smaller(slot->first_hva, hva);
    slot->end_hva = larger(slot->end_hva, hva + slot->by.unit);
}

/* Removes the faults that a slot explains from the sample. */
static void take_explained(struct proof *proof, struct proved *slot)
{
    size_t left = 0;

    for (size_t i = 0; i < proof->n_faults; i++) {
        const uint64_t gpa = proof->faults[i];

        if (proof_explains(proof, &slot->by, gpa))
            widen(slot, proof_down(gpa, slot->by.unit) + slot->by.offset);
        else
            proof->faults[left++] = gpa;
    }
    proof->n_faults = left;
}

/* The same offset may be proved by base pages and by huge ones: that is one slot. */
static struct proved *add_slot(struct proof *proof, size_t candidate, const struct hypothesis *by)
{
    struct proved *slot = proof->slots;

    while (slot < proof->slots + proof->n_slots &&
           (slot->candidate != candidate || slot->by.offset != by->offset))
        slot++;
    if (slot == proof->slots + PROOF_MAX_SLOTS)
        return NULL;
    if (slot == proof->slots + proof->n_slots) {
        proof->n_slots++;
        *slot = (struct proved){.candidate = candidate, .first_hva = UINT64_MAX};
    }
    slot->by = *by;
    return slot;
}

/* Base pages, huge pages, and larger ones of hugetlb. */
static uint64_t next_unit(const struct candidate *c, uint64_t unit)
{
    if (unit < huge_page_bytes() && huge_page_bytes() <= proof_unit(c))
        return huge_page_bytes();
    return unit < proof_unit(c) ? proof_unit(c) : UINT64_MAX;
}

/* With base pages, many of the thousands of pairs with a few faults agree by chance. Huge pages are
 * few, and a guest may touch a single one. */
static bool is_worth(const struct hypothesis *h)
{
    return h->votes >= (h->unit > base_page_bytes() ? 1 : FEWEST_VOTES);
}

/* Tests the sample's best hypotheses until one is proved: then it returns 1. Keeps the sample. */
static int find_slot(struct proof *proof, size_t candidate)
{
    const size_t n_faults = proof->n_faults;
    uint64_t faults[PROOF_MAX_FAULTS];
    struct hypothesis best[PROOF_MAX_TRIES] = {0};
    const struct candidate *c = &proof->candidates->at[candidate];
    int rc = 0;

    memcpy(faults, proof->faults, sizeof(faults));
    for (uint64_t unit = base_page_bytes(); unit <= proof_unit(c); unit = next_unit(c, unit))
        proof_hypotheses(proof, unit, best);
    for (size_t i = 0; rc == 0 && i < PROOF_MAX_TRIES && is_worth(&best[i]); i++) {
        rc = proof_test(proof, c, &best[i]);
        memcpy(proof->faults, faults, sizeof(faults));
        proof->n_faults = n_faults;
        if (rc == 1) {
            struct proved *slot = add_slot(proof, candidate, &best[i]);

            if (slot)
                take_explained(proof, slot);
        }
    }
    return rc;
}

/* Finds all slots that explain the sample. */
static int explain(struct proof *proof, size_t candidate)
{
    int rc = 1;

    while (rc == 1 && proof->n_faults > 0 && proof->n_slots < PROOF_MAX_SLOTS)
        rc = find_slot(proof, candidate);
    return rc < 0 ? rc : 0;
}

static int find_slots(struct proof *proof, size_t candidate)
{
    const struct candidate *c = &proof->candidates->at[candidate];
    struct unexplained known = {.n = 0};
    const size_t begin = proof->n_slots;
    const size_t fine = proof_unit(c) > base_page_bytes() ? FINE_SAMPLE : 0;
    unsigned enough = 0; /* samples with enough faults */
    int rc = 0;

    for (size_t n = PROOF_FIRST_SAMPLE; rc == 0 && n <= PROOF_MAX_SAMPLE; n *= 4) {
        rc = proof_sample(proof, c, n);
        enough += proof->n_faults >= ENOUGH_FAULTS;
        for (size_t s = begin; s < proof->n_slots; s++)
            take_explained(proof, &proof->slots[s]);

        const bool news = proof_note_unexplained(proof, &known);

        if (rc == 0 && (news || enough <= ENOUGH_SAMPLES))
            rc = explain(proof, candidate);
        if ((n >= fine && enough > 0 &&
             (proof->n_faults == 0 || (enough >= ENOUGH_SAMPLES && !news))) ||
            n > base_pages(c->whole.end - c->whole.start))
            break;
    }
    return rc;
}

/* KVM flushes for dropping a range only if it maps some of it. So if a mapping causes no flush, KVM
 * maps nothing of it, and nothing was dropped. Where KVM does not count the flushes of a drop, each
 * mapping may be RAM. */
static bool may_be_ram(const struct proof *proof, const struct candidate *c)
{
    uint64_t before;
    uint64_t after;
    int rc = kvm_tlb_flushes(proof->target, &before);

    if (!arch_host()->drop_flushes_vm)
        return true;
    for (uint64_t at = c->whole.start; rc == 0 && at < c->whole.end; at += huge_page_bytes()) {
        rc = pagemap_invalidate(proof->pagemap_fd, at,
                                smaller(huge_page_bytes(), c->whole.end - at));
        if (rc == 0)
            rc = kvm_tlb_flushes(proof->target, &after);
        if (rc == 0 && after != before)
            return true;
    }
    return rc < 0;
}

/* --- what was found --------------------------------------------------------------------------- */

static uint64_t slot_gpa(const struct proved *slot, uint64_t hva)
{
    return hva - slot->by.offset;
}

/* Limits a slot's range in one address space by another slot's proved range there. */
static void limit(struct ram_slot *range, const struct proved *slot, uint64_t other_first,
                  uint64_t other_end)
{
    const uint64_t end = smaller(range->hva + range->bytes,
                                 other_first >= slot->end_hva ? other_first : UINT64_MAX);

    range->hva = larger(range->hva, other_end <= slot->first_hva ? other_end : 0);
    range->bytes = end - range->hva;
}

/* A slot may extend beyond its mapping's proved pages: from the last page seen of the previous slot
 * to the first of the next, in either address space, but not below address 0. */
static struct ram_slot extent(const struct proof *proof, const struct proved *slot)
{
    const struct vma *whole = &proof->candidates->at[slot->candidate].whole;
    struct ram_slot range = {.hva = whole->start, .bytes = whole->end - whole->start};

    if (slot_gpa(slot, range.hva) > slot_gpa(slot, slot->first_hva))
        limit(&range, slot, UINT64_MAX, slot->by.offset);
    for (size_t i = 0; i < proof->n_slots; i++) {
        const struct proved *other = &proof->slots[i];
        const uint64_t shift = slot->by.offset - other->by.offset;

        if (other == slot)
            continue;
        if (other->candidate == slot->candidate)
            limit(&range, slot, other->first_hva, other->end_hva);
        limit(&range, slot, other->first_hva + shift, other->end_hva + shift);
    }
    range.gpa = slot_gpa(slot, range.hva);
    return range;
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* Two slots of one machine do not overlap, in either address space. */
static bool contradict(const struct proved *a, const struct proved *b)
{
    return overlap(slot_gpa(a, a->first_hva), a->end_hva - a->first_hva, slot_gpa(b, b->first_hva),
                   b->end_hva - b->first_hva) ||
           (a->candidate == b->candidate && overlap(a->first_hva, a->end_hva - a->first_hva,
                                                    b->first_hva, b->end_hva - b->first_hva));
}

static int refuse_several(struct error *error)
{
    return error_set(error, -ENOTUNIQ,
                     "it has several virtual machines, or memory that has two guest-physical "
                     "addresses: neither can be measured");
}

/* The guest-physical address at which a QEMU's RAM begins: hw/i386/pc.c, hw/arm/virt.c. */
#ifdef __aarch64__
#define RAM_GPA (1ULL << 30)
#else
#define RAM_GPA 0
#endif

static uint64_t boot_gpa(const struct gpa_layout *layout, uint64_t offset)
{
    return offset < layout->low_bytes ? layout->low_begin + offset
                                      : layout->high_begin + (offset - layout->low_bytes);
}

/* Returns true if the configuration has RAM of this size at this address: that of a NUMA node. */
static bool is_configured(const struct proof *proof, uint64_t gpa, uint64_t bytes)
{
    uint64_t offset = 0;

    for (size_t i = 0; proof->layout.boot_bytes && i < proof->config->n_backends; i++) {
        const struct ram_backend *b = &proof->config->backends[i];

        if (b->dimm)
            continue;
        if (boot_gpa(&proof->layout, offset) == gpa && b->size_bytes == bytes)
            return true;
        offset += b->size_bytes;
    }
    return false;
}

/* A QEMU also maps graphics memory for its guest. So only the mapping with the first address is
 * RAM for certain, and those of NUMA nodes whose sizes are known. Others stay unclaimed: a guest
 * may put a device's memory right behind its RAM. */
static bool is_ram(const struct proof *proof, const struct proved *slot)
{
    const struct candidate *c = &proof->candidates->at[slot->candidate];
    const uint64_t gpa = slot_gpa(slot, c->whole.start);

    return proof->target->process->other_vmm || gpa == RAM_GPA ||
           is_configured(proof, gpa, candidate_bytes(c));
}

static bool has_ram(const struct proof *proof)
{
    for (size_t i = 0; i < proof->n_slots; i++)
        if (is_ram(proof, &proof->slots[i]))
            return true;
    return false;
}

static int check_slots(const struct proof *proof, struct error *error)
{
    for (size_t i = 0; i < proof->n_slots; i++)
        for (size_t j = 0; j < i; j++)
            if (contradict(&proof->slots[i], &proof->slots[j]))
                return refuse_several(error);
    if (has_ram(proof))
        return 0;
    return error_set(
        error, -ENXIO,
        "%" PRIu64 " pages were dropped and %" PRIu64
        " faults seen, too few for a proof: is its guest idle? Try again when it works",
        proof->cost.dropped_pages, proof->cost.faults);
}

static bool is_proved(const struct proof *proof, size_t candidate)
{
    const struct candidate *c = &proof->candidates->at[candidate];

    for (size_t i = 0; i < proof->n_slots; i++) {
        const struct vma *other = &proof->candidates->at[proof->slots[i].candidate].whole;

        if (!proof->candidates->at[proof->slots[i].candidate].taken)
            continue;
        if (proof->slots[i].candidate == candidate ||
            (c->whole.inode && c->whole.inode == other->inode &&
             device_number_equal(c->whole.device, other->device)))
            return true;
    }
    return false;
}

/* The address of guest-physical 0 in a mapping. What lies below is no RAM: kvmtool maps some MiB
 * more than it uses, to align its RAM. */
static void cut_below_zero(struct proof *proof, const struct proved *slot)
{
    struct vma *whole = &proof->candidates->at[slot->candidate].whole;
    const uint64_t zero_hva = slot->by.offset;

    if (whole->inode != 0 || zero_hva <= whole->start || zero_hva > slot->first_hva)
        return;
    for (size_t i = 0; i < proof->n_slots; i++)
        if (proof->slots[i].candidate == slot->candidate && proof->slots[i].first_hva < zero_hva)
            return;
    whole->start = zero_hva;
}

static void mark_candidates(struct proof *proof)
{
    for (size_t i = 0; i < proof->n_slots; i++)
        proof->candidates->at[proof->slots[i].candidate].taken |= is_ram(proof, &proof->slots[i]);
    for (size_t i = 0; i < proof->n_slots; i++)
        cut_below_zero(proof, &proof->slots[i]);
    for (size_t i = 0; i < proof->candidates->n; i++)
        proof->candidates->at[i].unclaimed &= !is_proved(proof, i);
}

static int make_ram(struct proof *proof, struct guest_ram *out, struct error *error)
{
    const struct target *target = proof->target;
    int rc = check_slots(proof, error);

    if (rc < 0)
        return rc;
    mark_candidates(proof);
    debug_log("proof: %" PRIu64 " pages dropped, %" PRIu64 " faults, %u hypotheses, %u rounds",
              proof->cost.dropped_pages, proof->cost.faults, proof->cost.hypotheses,
              proof->cost.rounds);
    rc = guest_ram_of_candidates(target->root, target->process, proof->candidates, out, error);
    if (rc < 0)
        return rc;
    out->slots = calloc(proof->n_slots, sizeof(*out->slots));
    if (!out->slots) {
        guest_ram_free(out);
        return error_set(error, -ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < proof->n_slots; i++) {
        struct ram_slot *slot = &out->slots[out->n_slots];

        if (!proof->candidates->at[proof->slots[i].candidate].taken)
            continue;
        out->n_slots++;
        *slot = extent(proof, &proof->slots[i]);
        debug_log("slot: %" PRIu64 " bytes at GPA %" PRIx64 ", HVA %" PRIx64, slot->bytes,
                  slot->gpa, slot->hva);
    }
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int open_trace(struct proof *proof, int wake_fd, struct error *error)
{
    char filter[FAULT_FILTER_BYTES];

    snprintf(filter, sizeof(filter), "%s < 0x%llx", arch_host()->fault_field, 1ULL << 52);

    int rc = fault_trace_open(proof->target, filter, RING_BYTES, wake_fd, &proof->trace, error);

    return rc < 0 ? rc : fault_trace_enable(proof->trace, true, error);
}

static int prove(struct proof *proof, struct guest_ram *out, struct error *error)
{
    cleanup_close int wake_fd = trace_wake_open();
    int rc = wake_fd < 0 ? error_set(error, wake_fd, "epoll: %s", strerror(-wake_fd))
                         : open_trace(proof, wake_fd, error);

    for (size_t i = 0; rc == 0 && i < proof->candidates->n; i++) {
        struct candidate *c = &proof->candidates->at[i];

        c->unclaimed = (proof->target->process->other_vmm || !candidate_is_auxiliary(c)) &&
                       may_be_ram(proof, c);
        rc = c->unclaimed ? find_slots(proof, i) : 0;
        if (rc < 0)
            error_set(error, rc, "pagemap: %s", strerror(-rc));
    }
    if (rc == 0)
        rc = make_ram(proof, out, error);
    fault_trace_free(proof->trace);
    return rc;
}

/* Where the machine type has the RAM of the configuration. */
static struct gpa_layout lay_out(const struct target *target, const struct ram_config *config)
{
    const struct arch *arch = arch_of_emulator(target->process->exe);
    struct gpa_layout layout = {0};

    for (size_t i = 0; i < config->n_backends; i++)
        layout.boot_bytes += config->backends[i].dimm ? 0 : config->backends[i].size_bytes;
    if (!arch || arch->lay_out(target->root, &target->process->config, &layout, NULL) < 0)
        layout.boot_bytes = 0;
    return layout;
}

static int find_by_proof(const struct target *target, const struct ram_config *config,
                         struct guest_ram *out, struct error *error)
{
    struct candidates candidates = {0};
    cleanup_free struct proof *proof = calloc(1, sizeof(*proof));
    cleanup_close int fd = pagemap_open(target, error);
    int rc = fd < 0 ? fd : method_zap.host(target->root, error);

    if (!proof)
        return error_set(error, -ENOMEM, "out of memory");
    if (rc == 0 && process_holds_several_vms(target->root, target->process->pid))
        rc = refuse_several(error);
    if (rc == 0)
        rc = (target->process->other_vmm ? candidates_collect_any : candidates_collect)(
            target->root, target->process->pid, &candidates, error);
    if (rc == 0) {
        *proof = (struct proof){.target = target,
                                .config = config,
                                .layout = lay_out(target, config),
                                .candidates = &candidates,
                                .pagemap_fd = fd,
                                .random = random_seed()};
        rc = prove(proof, out, error);
    }
    candidates_free(&candidates);
    return rc;
}

#define FIRST_WAIT_NS 30000000000ULL
#define LAST_WAIT_NS 600000000000ULL

static int try_proof(const struct target *target, const struct ram_config *config,
                     struct guest_ram *out, struct ram_trial *trial, struct error *error)
{
    if (trial->why.code != 0 && clock_ns() < trial->until_ns) {
        *error = trial->why;
        return error->code;
    }

    int rc = find_by_proof(target, config, out, error);

    if (rc < 0) {
        trial->why = *error;
        trial->why.code = rc;
        trial->wait_ns = trial->wait_ns ? smaller(2 * trial->wait_ns, LAST_WAIT_NS) : FIRST_WAIT_NS;
        trial->until_ns = clock_ns() + trial->wait_ns;
    }
    return rc;
}

/* A QEMU's configuration proposes. Where it does not tell which mapping is the RAM, the guest's
 * faults do. */
static bool may_prove(const struct guest *guest, int rc)
{
    return (rc == -ENXIO || rc == -ENOTUNIQ) &&
           (guest->process.other_vmm || guest->process.accel == ACCEL_KVM);
}

int ram_find(const struct fsroot *root, const struct guest *guest, struct guest_ram *out,
             struct ram_trial *trial, struct error *error)
{
    struct ram_trial none = {0};
    const struct target target = {.root = root, .process = &guest->process};
    struct error unknown = {0};
    struct error unproved = {0};
    int rc = guest->process.other_vmm && !guest->ram.in_guest_memfd
                 ? error_set(&unknown, -ENXIO, "process %d: %s", (int)guest->process.pid,
                             guest->ram.unknown)
                 : guest_ram_locate(root, &guest->process, &guest->ram, out, &unknown);

    if (!may_prove(guest, rc))
        return rc < 0 ? error_set(error, rc, "%s", unknown.text) : 0;

    const int proved = try_proof(&target, &guest->ram, out, trial ? trial : &none, &unproved);

    return proved < 0 ? error_set(error, guest->process.other_vmm ? proved : rc, "%s: %s",
                                  unknown.text, unproved.text)
                      : proved;
}
