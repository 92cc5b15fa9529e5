// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/resctrl_read.h"

#include "base/cleanup.h"
#include "base/compare.h"
#include "measure/cache/resctrl_dir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CONFIG_BYTES_MAX 65536
#define MON_INFO RESCTRL "/info/L3_MON"
/* The largest bandwidth value, which means no limit: percent on Intel, 1/8 GB/s on AMD, MB/s under
 * mba_MBps. */
#define MB_PERCENT 100
#define MB_AMD 2048
#define MB_MBPS UINT32_MAX

/* --- counters --------------------------------------------------------------------------------- */

static uint64_t read_counter(const struct fsroot *root, const char *path, const char *cache,
                             const char *counter)
{
    char text[64];
    uint64_t value;

    if (fsroot_read(root, text, sizeof(text), "%s/mon_data/%s/%s", path, cache, counter) < 0 ||
        resctrl_parse_counter(text, &value) < 0)
        return CACHE_UNKNOWN;
    return value;
}

struct collecting {
    const char *path;
    struct resctrl_reading *reading;
};

static int collect(const struct fsroot *root, const char *name, void *context)
{
    const struct collecting *collecting = context;
    struct resctrl_reading *reading = collecting->reading;
    unsigned id;
    char rest;

    if (sscanf(name, "mon_L3_%u%c", &id, &rest) != 1)
        return 0;
    if (reading->n == CACHES_MAX)
        return -E2BIG;
    reading->caches[reading->n++] = (struct resctrl_cache){
        .id = id,
        .occupied = read_counter(root, collecting->path, name, "llc_occupancy"),
        .total = read_counter(root, collecting->path, name, "mbm_total_bytes"),
        .local = read_counter(root, collecting->path, name, "mbm_local_bytes"),
    };
    return 0;
}

COMPARE_BY(by_id, struct resctrl_cache, id)

int resctrl_read(const struct fsroot *root, const char *path, struct resctrl_reading *reading)
{
    struct collecting collecting = {path, reading};
    char data[1024];

    reading->n = 0;
    snprintf(data, sizeof(data), "%s/mon_data", path);

    int rc = resctrl_each_dir(root, data, collect, &collecting);

    qsort(reading->caches, reading->n, sizeof(reading->caches[0]), by_id);
    return rc;
}

/* --- shares and limits ------------------------------------------------------------------------ */

/* NULL if the file does not exist or is not text. */
static char *read_text(const struct fsroot *root, const char *control, const char *file)
{
    char *text = NULL;
    ssize_t n = fsroot_read_all(root, &text, CONFIG_BYTES_MAX, RESCTRL "%s%s/%s",
                                *control ? "/" : "", control, file);

    if (n >= 0 && strlen(text) == (size_t)n)
        return text;
    free(text);
    return NULL;
}

static bool is_throttled(const char *schemata, const struct cpu_facts *facts, bool mbps)
{
    struct resctrl_shares shares;
    int rc = schemata ? resctrl_parse_shares(schemata, "MB", &shares) : -ENOENT;

    if (rc == -ENOENT)
        return false;
    for (size_t i = 0; rc == 0 && i < shares.n; i++) {
        uint64_t value = shares.domains[i].value;

        if (!(value >= MB_MBPS || (!mbps && facts->intel && value == MB_PERCENT) ||
              (!mbps && facts->amd && value >= MB_AMD)))
            return true;
    }
    return rc < 0;
}

static bool is_mbps(const struct fsroot *root)
{
    cleanup_free char *mounts = NULL;

    return fsroot_read_all(root, &mounts, 4UL << 20, "proc/mounts") < 0 ||
           strstr(mounts, "mba_MBps");
}

static int find_cpus(const struct fsroot *root, const char *name, void *context)
{
    char text[16];
    ssize_t n;

    (void)context;
    if (!resctrl_is_control(name))
        return 0;
    n = fsroot_read(root, text, sizeof(text), RESCTRL "/%s/cpus_list", name);
    return n > 0 || n == -EFBIG;
}

/* Threads of the root group use the share of their CPU's group ("Resource allocation rules",
 * resctrl.rst). */
static bool cpus_decide(const struct fsroot *root, const char *control)
{
    return !*control && resctrl_each_dir(root, RESCTRL, find_cpus, NULL) > 0;
}

static bool is_filtered(const struct fsroot *root)
{
    char text[4096];
    ssize_t n = fsroot_read(root, text, sizeof(text), MON_INFO "/mbm_total_bytes_config");

    if (n != -ENOENT && (n < 0 || !resctrl_counts_all_reads(text)))
        return true;
    n = fsroot_read(root, text, sizeof(text),
                    MON_INFO "/event_configs/mbm_total_bytes/event_filter");
    return n != -ENOENT && (n < 0 || !resctrl_filter_has_reads(text));
}

static void read_shares(struct resctrl_config *config)
{
    struct resctrl_shares ignored;

    if (!config->size)
        return;

    int rc = resctrl_parse_shares(config->size, "L3", &config->shares);

    /* a file that cannot be read has no domain, so its sizes are unknown */
    config->has_shares = rc != -ENOENT;
    if (rc == -EBADMSG)
        config->shares.n = 0;
    if (resctrl_parse_shares(config->size, "L3DATA", &ignored) != -ENOENT ||
        resctrl_parse_shares(config->size, "L3CODE", &ignored) != -ENOENT)
        config->flags |= CACHE_CDP;
}

void resctrl_config_read(const struct fsroot *root, const char *control,
                         const struct cpu_facts *facts, struct resctrl_config *config)
{
    *config = (struct resctrl_config){
        .size = read_text(root, control, "size"),
        .schemata = read_text(root, control, "schemata"),
    };
    read_shares(config);
    if (is_throttled(config->schemata, facts, is_mbps(root)))
        config->flags |= CACHE_MBA;
    if (cpus_decide(root, control))
        config->flags |= CACHE_CPU_GROUPS;
    if (is_filtered(root))
        config->flags |= CACHE_MBM_FILTERED;
}

void resctrl_config_free(struct resctrl_config *config)
{
    free(config->size);
    free(config->schemata);
}

uint64_t resctrl_config_share(const struct resctrl_config *config, unsigned id, uint64_t bytes)
{
    return config->has_shares ? resctrl_share(&config->shares, id) : bytes;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool resctrl_config_changed(const struct fsroot *root, const char *control,
                            const struct resctrl_config *config)
{
    cleanup_free char *size = read_text(root, control, "size");
    cleanup_free char *schemata = read_text(root, control, "schemata");

    return !same_text(size, config->size) || !same_text(schemata, config->schemata) ||
           (!(config->flags & CACHE_CPU_GROUPS) && cpus_decide(root, control)) ||
           (!(config->flags & CACHE_MBM_FILTERED) && is_filtered(root));
}
