// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ageing.c  See ageing.h. */
#include "sample/ageing.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LRU_GEN "sys/kernel/debug/lru_gen"
#define MAX_TEXT (8UL << 20)
#define RECENT_MS 3600000

static bool mglru_is_on(const struct fsroot *root)
{
    char text[16];

    return fsroot_read(root, text, sizeof(text), "sys/kernel/mm/lru_gen/enabled") > 0 &&
           (strtoul(text, NULL, 16) & 1);
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* --- control groups ---------------------------------------------------------------------------- */

struct group {
    const char *mount; /* below /sys/fs/cgroup */
    char path[4096];   /* "/machine.slice/..."; "/" for the root */
};

/* From the line of /proc/PID/cgroup that has @p begin in it: "0::/a/b", "4:memory:/a/b". */
static bool take_path(const char *text, const char *begin, struct group *group)
{
    const char *at = strstr(text, begin);

    if (!at)
        return false;
    at += strlen(begin);
    snprintf(group->path, sizeof(group->path), "%.*s", (int)strcspn(at, "\n"), at);
    return *group->path == '/';
}

static bool has_stat(const struct fsroot *root, const struct group *group)
{
    return fsroot_exists(root, "sys/fs/cgroup%s%s/memory.stat", group->mount, group->path);
}

/* A process's memory is charged to the nearest group upwards that has the memory controller. */
static bool find_group(const struct target *target, struct group *group)
{
    cleanup_free char *text = NULL;

    if (fsroot_read_all(target->root, &text, MAX_TEXT, "proc/%d/cgroup", target->process->pid) < 0)
        return false;
    group->mount = "/memory";
    if (!take_path(text, ":memory:", group)) {
        group->mount = "";
        if (!take_path(text, "0::", group))
            return false;
    }
    while (!has_stat(target->root, group)) {
        char *slash = strrchr(group->path, '/');

        if (!group->path[1])
            return false;
        slash[slash == group->path] = '\0';
    }
    return true;
}

/* --- counters ---------------------------------------------------------------------------------- */

/* The sum of the lines "NAME NUMBER" whose names are among @p names, NULL-terminated. */
static uint64_t sum_lines(const char *text, const char *const *names)
{
    uint64_t sum = 0;

    for (const char *line = text; *line; line = next_line(line))
        for (size_t i = 0; names[i]; i++) {
            size_t length = strlen(names[i]);

            if (!strncmp(line, names[i], length) && line[length] == ' ')
                sum += strtoull(line + length, NULL, 10);
        }
    return sum;
}

static uint64_t scanned_in(const struct fsroot *root, const struct group *group)
{
    static const char *const names[] = {"pgscan", "pgrefill", NULL};
    cleanup_free char *text = NULL;

    if (fsroot_read_all(root, &text, MAX_TEXT, "sys/fs/cgroup%s%s/memory.stat", group->mount,
                        group->path) < 0)
        return 0;
    return sum_lines(text, names);
}

/* The last two, of Linux 5.8, also count what a group reclaims for itself, and what the two before them do. */
static uint64_t scanned_anywhere(const struct fsroot *root)
{
    static const char *const names[] = {"pgrefill",    "pgscan_kswapd", "pgscan_direct",
                                        "pgscan_anon", "pgscan_file",   NULL};
    cleanup_free char *text = NULL;

    if (fsroot_read_all(root, &text, MAX_TEXT, "proc/vmstat") < 0)
        return 0;
    return sum_lines(text, names);
}

/* --- generations ------------------------------------------------------------------------------- */

struct generations {
    bool known;
    uint64_t sum;         /* of the youngest one's number, over the nodes */
    uint64_t youngest_ms; /* how long ago one began last, on whichever node */
    bool aged; /* it began after others did: at the start all of a group's begin at once */
};

/* Those of one node, from the line after "node N" on. Where they end. */
static const char *read_node(const char *line, struct generations *out)
{
    uint64_t number;
    uint64_t ms;
    uint64_t last = 0;
    uint64_t oldest_ms = 0;
    uint64_t youngest_ms = UINT64_MAX;

    for (; sscanf(line, " %" SCNu64 " %" SCNu64, &number, &ms) == 2; line = next_line(line)) {
        last = number;
        oldest_ms = ms > oldest_ms ? ms : oldest_ms;
        youngest_ms = ms < youngest_ms ? ms : youngest_ms;
    }
    out->known = true;
    out->sum += last;
    out->aged |= youngest_ms < oldest_ms;
    if (youngest_ms < out->youngest_ms)
        out->youngest_ms = youngest_ms;
    return line;
}

static bool is_group(const char *line, const char *path)
{
    unsigned id;
    int begin = 0;

    if (sscanf(line, "memcg %u %n", &id, &begin) != 1 || begin == 0)
        return false;
    line += begin;
    return strcspn(line, "\n") == strlen(path) && !strncmp(line, path, strlen(path));
}

static struct generations read_generations(const struct fsroot *root, const struct group *group)
{
    struct generations out = {.youngest_ms = UINT64_MAX};
    cleanup_free char *text = NULL;
    bool ours = false;

    if (fsroot_read_all(root, &text, MAX_TEXT, LRU_GEN) < 0)
        return out;
    for (const char *line = text; *line;) {
        unsigned node;
        bool begins = ours && sscanf(line, " node %u", &node) == 1;

        if (!strncmp(line, "memcg", 5))
            ours = is_group(line, group->path);
        line = next_line(line);
        if (begins)
            line = read_node(line, &out);
    }
    return out;
}

/* --- what is asked ----------------------------------------------------------------------------- */

struct ageing {
    struct generations generations;
    uint64_t scanned;
};

static struct ageing look(const struct target *target, enum method_signal signal)
{
    bool mglru = signal != SIGNAL_MMU && mglru_is_on(target->root);
    struct ageing ageing = {0};
    struct group group;

    if (signal == SIGNAL_MMU || (signal == SIGNAL_IDLE_FLAG && !mglru))
        return ageing;

    bool found = find_group(target, &group);

    if (found && mglru)
        ageing.generations = read_generations(target->root, &group);
    if (found)
        ageing.scanned = scanned_in(target->root, &group);
    /* In version 1 of control groups memory.stat counts no scans. */
    if (!found || *group.mount || (mglru && !ageing.generations.known))
        ageing.scanned += scanned_anywhere(target->root);
    return ageing;
}

uint64_t ageing_odometer(const struct target *target, enum method_signal signal)
{
    struct ageing ageing = look(target, signal);

    return ageing.generations.sum + ageing.scanned;
}

bool ageing_goes_on(const struct target *target, enum method_signal signal)
{
    struct ageing ageing = look(target, signal);

    if (!ageing.generations.known)
        return ageing.scanned > 0;
    return ageing.generations.aged && ageing.generations.youngest_ms <= RECENT_MS;
}

void ageing_doubt(struct tally *tally)
{
    tally_doubt(tally, DOUBT_AGEING, HIDDEN_ANY);
}
