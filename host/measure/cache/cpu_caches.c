// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/cpu_caches.h"

#include "base/cleanup.h"
#include "base/kernel_number.h"
#include "base/open_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CPUS "sys/devices/system/cpu"
#define INDEXES_MAX 16
/* The first processor of /proc/cpuinfo has some 2 KiB, most of it flags. */
#define CPUINFO_BYTES 16384

/* --- sizes ------------------------------------------------------------------------------------ */

/* "32768K" */
static uint64_t parse_cache_size(const char *text)
{
    uint64_t number;
    const char *end = kernel_u64(text, &number);

    if (!end)
        return CACHE_UNKNOWN;

    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;

    if (shift)
        end++;
    return *end || number == 0 || number > (1ULL << 40) >> shift ? CACHE_UNKNOWN : number << shift;
}

/* Two CPUs that share a cache must report the same size. */
static int add_cache(struct cpu_caches *out, uint64_t id, uint64_t bytes)
{
    for (size_t i = 0; i < out->n; i++)
        if (out->caches[i].id == id) {
            if (out->caches[i].bytes != bytes)
                out->caches[i].bytes = CACHE_UNKNOWN;
            return 0;
        }
    if (out->n == CACHES_MAX)
        return -E2BIG;
    out->caches[out->n++] = (struct cpu_cache){(unsigned)id, bytes};
    return 0;
}

/* A cache of a higher level replaces all lower ones. */
static int read_index(const struct fsroot *root, unsigned cpu, unsigned index,
                      struct cpu_caches *out)
{
    uint64_t level, id;
    char type[32], size[32];

    if (fsroot_read_u64(root, &level, CPUS "/cpu%u/cache/index%u/level", cpu, index) < 0)
        return -ENOENT;
    if (level < out->level || level > 9 ||
        fsroot_read(root, type, sizeof(type), CPUS "/cpu%u/cache/index%u/type", cpu, index) < 0 ||
        strcmp(type, "Unified") != 0 ||
        fsroot_read_u64(root, &id, CPUS "/cpu%u/cache/index%u/id", cpu, index) < 0 ||
        id > UINT32_MAX ||
        fsroot_read(root, size, sizeof(size), CPUS "/cpu%u/cache/index%u/size", cpu, index) < 0)
        return 0;
    if (level > out->level)
        *out = (struct cpu_caches){.level = (unsigned)level};
    return add_cache(out, id, parse_cache_size(size));
}

static int read_cpu(const struct fsroot *root, unsigned cpu, struct cpu_caches *out)
{
    int rc = 0;

    for (unsigned index = 0; rc == 0 && index < INDEXES_MAX; index++)
        rc = read_index(root, cpu, index, out);
    return rc == -ENOENT ? 0 : rc;
}

int cpu_caches_read(const struct fsroot *root, struct cpu_caches *out, struct error *error)
{
    cleanup_dir DIR *dir = NULL;
    const struct dirent *entry;
    int rc = 0;

    *out = (struct cpu_caches){0};
    if (fsroot_opendir(root, &dir, CPUS) < 0)
        return error_set(error, -ENOENT, "/" CPUS ": it cannot be read");
    while (rc == 0 && (entry = readdir(dir))) {
        unsigned cpu;
        char rest;

        if (sscanf(entry->d_name, "cpu%u%c", &cpu, &rest) == 1)
            rc = read_cpu(root, cpu, out);
    }
    if (rc < 0)
        return error_set(error, rc, "/" CPUS ": more than %d caches", CACHES_MAX);
    return out->n ? 0 : error_set(error, -ENOENT, "/" CPUS "/*/cache: no cache is described");
}

uint64_t cpu_caches_bytes(const struct cpu_caches *caches, unsigned id)
{
    for (size_t i = 0; i < caches->n; i++)
        if (caches->caches[i].id == id)
            return caches->caches[i].bytes;
    return CACHE_UNKNOWN;
}

/* --- /proc/cpuinfo ---------------------------------------------------------------------------- */

/* Returns true if @p word is one of the words of @p line. */
static bool has_word(const char *line, const char *word)
{
    const size_t length = strlen(word);
    const char *end = strchrnul(line, '\n');

    for (const char *at = line; (at = strstr(at, word)) && at < end; at += length)
        if (at > line && strchr(" \t:", at[-1]) && strchr(" \n", at[length]))
            return true;
    return false;
}

static bool line_has(const char *text, const char *key, const char *word)
{
    const char *line = strstr(text, key);

    return line && has_word(line + strlen(key), word);
}

void cpu_facts_read(const struct fsroot *root, struct cpu_facts *out)
{
    cleanup_free char *text = calloc(1, CPUINFO_BYTES);
    cleanup_close int fd = fsroot_openf(root, O_RDONLY, "proc/cpuinfo");

    *out = (struct cpu_facts){0};
    if (!text || fd < 0 || read(fd, text, CPUINFO_BYTES - 1) <= 0)
        return;
    out->intel = line_has(text, "vendor_id", "GenuineIntel");
    out->amd = line_has(text, "vendor_id", "AuthenticAMD") ||
               line_has(text, "vendor_id", "HygonGenuine");
    out->level = out->intel ? COUNTED_LLC : out->amd ? COUNTED_L2 : COUNTED_UNKNOWN;
    out->nested = line_has(text, "\nflags", "hypervisor");
    out->occupancy = line_has(text, "\nflags", "cqm_occup_llc");
    out->bandwidth = line_has(text, "\nflags", "cqm_mbm_total");
}
