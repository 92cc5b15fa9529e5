// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/ageing.h"

#include "base/bytes.h"
#include "measure/kernel/carried_bits.h"
#include "measure/kernel/lru_gen.h"
#include "measure/kernel/memcg.h"
#include "measure/kernel/numa_balancing.h"
#include "measure/kernel/vmstat.h"

#include <stdio.h>

#define RECENT_MS 3600000

/* --- counters --------------------------------------------------------------------------------- */

/* The last two, since Linux 5.8, include a group's own reclaim, and the counts of the two before
 * them. */
static uint64_t scanned_anywhere(const struct fsroot *root)
{
    static const char *const names[] = {"pgrefill",    "pgscan_kswapd", "pgscan_direct",
                                        "pgscan_anon", "pgscan_file",   NULL};

    return vmstat_sum(root, names);
}

/* --- generations ------------------------------------------------------------------------------ */

struct generations {
    bool known;
    uint64_t sum;         /* sum of the youngest generations' numbers over the nodes */
    uint64_t youngest_ms; /* time since the last generation began, on any node */
    /* the last generation began after others; at the start all generations of a group begin at
     * once */
    bool aged;
};

static void add_node(struct generations *out, const struct lru_gen_node *node)
{
    uint64_t oldest_ms = 0;
    uint64_t youngest_ms = UINT64_MAX;

    for (unsigned i = 0; i < node->n; i++) {
        oldest_ms = larger(oldest_ms, node->generations[i].age_ms);
        youngest_ms = smaller(youngest_ms, node->generations[i].age_ms);
    }
    out->known = true;
    out->sum += lru_gen_youngest(node)->number;
    out->aged |= youngest_ms < oldest_ms;
    out->youngest_ms = smaller(out->youngest_ms, youngest_ms);
}

static struct generations read_generations(const struct fsroot *root, const struct memcg *group)
{
    struct generations out = {.youngest_ms = UINT64_MAX};
    struct lru_gen found;

    if (lru_gen_read(root, group->path, false, &found, NULL) == 0)
        for (unsigned i = 0; i < found.n_nodes; i++)
            add_node(&out, &found.nodes[i]);
    return out;
}

/* --- answers ---------------------------------------------------------------------------------- */

struct ageing {
    struct generations generations;
    uint64_t scanned;
};

/* NUMA balancing drops KVM's mappings, and their accessed bits unless the kernel carries them
 * over. */
static bool unmapping_takes_bits(const struct target *target, enum method_signal signal)
{
    return signal == SIGNAL_IDLE_FLAG && target->process->accel == ACCEL_KVM &&
           !accessed_bits_are_carried(target);
}

static bool is_of_bits(enum method_signal signal)
{
    return signal == SIGNAL_IDLE_FLAG || signal == SIGNAL_REFERENCED;
}

static struct ageing ageing_read(const struct target *target, enum method_signal signal)
{
    bool mglru = is_of_bits(signal) && (lru_gen_enabled(target->root) & LRU_GEN_ON);
    struct ageing ageing = {0};
    struct memcg group;

    if (!is_of_bits(signal) || (signal == SIGNAL_IDLE_FLAG && !mglru))
        return ageing;

    bool found = memcg_find(target->root, target->process->pid, &group);

    if (found && mglru)
        ageing.generations = read_generations(target->root, &group);
    if (found)
        ageing.scanned = memcg_scanned_pages(target->root, &group);
    /* with cgroup v1, memory.stat counts no scans */
    if (!found || *group.mount || (mglru && !ageing.generations.known))
        ageing.scanned += scanned_anywhere(target->root);
    return ageing;
}

uint64_t ageing_odometer(const struct target *target, enum method_signal signal)
{
    struct ageing ageing = ageing_read(target, signal);
    uint64_t unmapped = unmapping_takes_bits(target, signal) ? numa_balancing_unmapped(target->root)
                                                             : 0;

    return ageing.generations.sum + ageing.scanned + unmapped;
}

uint64_t ageing_group_odometer(const struct fsroot *root, const char *path)
{
    struct memcg group = {.mount = ""};
    struct generations generations;
    bool counts;

    if (!(lru_gen_enabled(root) & LRU_GEN_ON))
        return 0;
    snprintf(group.path, sizeof(group.path), "%s", path);
    generations = read_generations(root, &group);
    /* with cgroup v1, memory.stat is elsewhere and counts no scans */
    counts = fsroot_exists(root, "sys/fs/cgroup%s/memory.stat", path);
    return generations.sum + memcg_scanned_pages(root, &group) +
           (generations.known && counts ? 0 : scanned_anywhere(root));
}

bool ageing_goes_on(const struct target *target, enum method_signal signal)
{
    struct ageing ageing = ageing_read(target, signal);

    if (unmapping_takes_bits(target, signal) && numa_balancing_on(target->root))
        return true;
    if (!ageing.generations.known)
        return ageing.scanned > 0;
    return ageing.generations.aged && ageing.generations.youngest_ms <= RECENT_MS;
}

void ageing_doubt(struct tally *tally)
{
    tally_doubt(tally, DOUBT_AGEING, HIDDEN_ANY);
}
