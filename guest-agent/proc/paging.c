// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/paging.h"

#include "proc/hidden.h"
#include "proc/keyed.h"

#include <stddef.h>

#define ROW(key, member)                              \
    {                                                 \
        key, offsetof(struct paging, member), #member \
    }
/* Names in kernels 4.19 to 6.12. Counters of one member are added up: allocstall has one per zone,
 * and a kernel has either one refault counter (before 5.9, only files) or two. */
static const struct keyed_field fields[] = {
    ROW("pswpin", swap_in_pages),
    ROW("pswpout", swap_out_pages),
    ROW("pgmajfault", major_faults),
    ROW("pgscan_kswapd", scanned_kswapd_pages),
    ROW("pgscan_direct", scanned_direct_pages),
    ROW("pageoutrun", kswapd_runs),
    ROW("allocstall_dma", direct_stalls),
    ROW("allocstall_dma32", direct_stalls),
    ROW("allocstall_normal", direct_stalls),
    ROW("allocstall_movable", direct_stalls),
    ROW("allocstall_device", direct_stalls),
    ROW("workingset_refault", refault_file_pages),
    ROW("workingset_refault_anon", refault_anon_pages),
    ROW("workingset_refault_file", refault_file_pages),
    ROW("workingset_activate", activate_file_pages),
    ROW("workingset_activate_anon", activate_anon_pages),
    ROW("workingset_activate_file", activate_file_pages),
    ROW("oom_kill", oom_kills),
};
#undef ROW

const char *paging_counter_name(size_t i)
{
    const struct keyed_field *field = fields;

    while (field->offset != i * sizeof(uint64_t))
        field++;
    return field->name;
}

int paging_read(const struct fsroot *root, struct paging *paging, struct error *error)
{
    int rc = keyed_read(root, fields, COUNT(fields), paging, "proc/vmstat");

    return rc < 0 ? proc_error(root, error, rc, "proc/vmstat") : 0;
}

uint64_t paging_scanned_pages(const struct fsroot *root)
{
    uint64_t scanned[3]; /* older kernels count the third kind as direct */
    static const struct keyed_field counters[] = {{"pgscan_kswapd", 0, NULL},
                                                  {"pgscan_direct", sizeof(uint64_t), NULL},
                                                  {"pgscan_khugepaged", 2 * sizeof(uint64_t), NULL},
                                                  {"pgscan_proactive", 2 * sizeof(uint64_t), NULL}};

    keyed_read(root, counters, COUNT(counters), scanned, "proc/vmstat");
    return scanned[0] == KEYED_UNKNOWN || scanned[1] == KEYED_UNKNOWN
               ? KEYED_UNKNOWN
               : scanned[0] + scanned[1] + (scanned[2] == KEYED_UNKNOWN ? 0 : scanned[2]);
}

json_t *paging_json(const struct paging *paging)
{
    return keyed_json(fields, COUNT(fields), paging);
}
