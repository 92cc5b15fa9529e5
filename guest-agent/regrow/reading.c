// SPDX-License-Identifier: LGPL-2.1-or-later
#include "regrow/reading.h"

#include "base/text/json.h"
#include "proc/hidden.h"
#include "proc/keyed.h"
#include "proc/paging.h"
#include "proc/pressure.h"

#include <errno.h>
#include <string.h>

#define ROW(key, member)                                      \
    {                                                         \
        key, offsetof(struct regrow_reading, member), #member \
    }
static const struct keyed_field meminfo_fields[] = {
    {"Cached", offsetof(struct regrow_reading, cached_bytes), NULL},
    ROW("Shmem", shmem_bytes),
    ROW("Buffers", buffers_bytes),
    ROW("Dirty", dirty_bytes),
    ROW("Writeback", writeback_bytes),
    ROW("Mapped", mapped_bytes),
    ROW("MemFree", free_bytes),
};
/* As in proc/paging.c: before Linux 5.9 there is a single counter of refaults, for files. */
static const struct keyed_field vmstat_fields[] = {
    ROW("pgpgin", disk_read_bytes),
    ROW("workingset_refault", refault_pages),
    ROW("workingset_refault_file", refault_pages),
    ROW("pswpin", swap_in_pages),
};
#undef ROW

static int read_keyed(const struct fsroot *root, const struct keyed_field *fields, size_t n,
                      struct regrow_reading *reading, const char *path, struct error *error)
{
    int rc = keyed_read(root, fields, n, reading, path);

    return rc < 0 ? proc_error(root, error, rc, path) : 0;
}

/* Without these counters, nothing can be measured. */
static int check_known(const struct regrow_reading *reading, struct error *error)
{
    if (reading->cached_bytes == KEYED_UNKNOWN || reading->shmem_bytes == KEYED_UNKNOWN)
        return error_set(error, -ENODATA, "/proc/meminfo: no Cached, or no Shmem");
    if (reading->disk_read_bytes == KEYED_UNKNOWN)
        return error_set(error, -ENODATA, "/proc/vmstat: no pgpgin");
    return 0;
}

int regrow_read(const struct fsroot *root, struct regrow_reading *reading, struct error *error)
{
    struct pressure io;
    struct regrow_reading earlier;
    int rc = read_keyed(root, vmstat_fields, COUNT(vmstat_fields), &earlier, "proc/vmstat", error);

    if (rc == 0)
        rc = read_keyed(root, meminfo_fields, COUNT(meminfo_fields), reading, "proc/meminfo",
                        error);
    if (rc == 0)
        rc = read_keyed(root, vmstat_fields, COUNT(vmstat_fields), reading, "proc/vmstat", error);
    if (rc == 0)
        rc = check_known(reading, error);
    if (rc < 0)
        return rc;
    reading->scanned_pages = paging_scanned_pages(root);
    reading->disk_read_bytes *= 1024;
    reading->disk_read_before_bytes = earlier.disk_read_bytes * 1024;
    pressure_read(root, NULL, "io", &io, NULL); /* unknown if PSI is off */
    reading->io_wait_us = io.some.total_us;
    return 0;
}

uint64_t regrow_cache_bytes(const struct regrow_reading *reading)
{
    /* the two counters are not read at the same moment */
    return reading->cached_bytes > reading->shmem_bytes
               ? reading->cached_bytes - reading->shmem_bytes
               : 0;
}

json_t *regrow_reading_json(const struct regrow_reading *reading)
{
    json_t *object = keyed_json(meminfo_fields, COUNT(meminfo_fields), reading);

    json_set_known(object, "cache_bytes", regrow_cache_bytes(reading));
    return object;
}
