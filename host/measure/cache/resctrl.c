// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/resctrl.h"

#include "base/cleanup.h"
#include "measure/cache/resctrl_dir.h"
#include "measure/cache/resctrl_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#define FEATURES RESCTRL "/info/L3_MON/mon_features"
#define TASKS_BYTES_MAX (4UL << 20)
#define TASKS_MAX 65536
#define FIRST_TRIES 10
#define FIRST_WAIT_MS 20

struct resctrl_group {
    struct fsroot root; /* borrowed */
    pid_t pid;
    size_t n_tids;
    pid_t *tids;
    unsigned flags;
    char control[RESCTRL_NAME_BYTES];
    char path[2 * RESCTRL_NAME_BYTES + 64]; /* path of the group that is read */
    struct resctrl_dir *own;                /* NULL: the group belongs to another program */
    struct resctrl_reading first, last;
    struct resctrl_config config; /* configuration when the measurement began */
    /* loaded bytes when the cache became full; CACHE_UNKNOWN if it is not full */
    uint64_t full_since[CACHES_MAX];
};

/* --- abilities of this host ------------------------------------------------------------------- */

static bool kernel_has_resctrl(const struct fsroot *root)
{
    char text[4096];

    return fsroot_read(root, text, sizeof(text), "proc/filesystems") > 0 &&
           strstr(text, "\tresctrl");
}

int resctrl_check(const struct fsroot *root, const struct cpu_facts *facts, struct error *error)
{
    char text[1024];
    ssize_t n = fsroot_read(root, text, sizeof(text), FEATURES);

    if (n >= 0 && strstr(text, "llc_occupancy") && strstr(text, "mbm_total_bytes"))
        return 0;
    if (n >= 0)
        return error_set(error, -ENOTSUP,
                         "resctrl: this CPU counts not both the occupancy of its cache and the "
                         "memory bandwidth (/" FEATURES ")");
    if (n == -EACCES)
        return error_set(error, -ENOTSUP, "resctrl: /" FEATURES ": not permitted: run as root");
    if (!facts->occupancy || !facts->bandwidth)
        return error_set(error, -ENOTSUP,
                         "resctrl: this CPU cannot monitor its cache (no cqm_occup_llc and "
                         "cqm_mbm_total in /proc/cpuinfo)");
    if (!kernel_has_resctrl(root))
        return error_set(error, -ENOTSUP, "resctrl: this kernel has none (CONFIG_X86_CPU_RESCTRL)");
    if (fsroot_exists(root, RESCTRL "/tasks"))
        return error_set(error, -ENOTSUP,
                         "resctrl: it is mounted, but without monitoring of the L3 cache (boot "
                         "option rdt=)");
    return error_set(error, -ENOTSUP,
                     "resctrl: it is not mounted: mount -t resctrl resctrl /sys/fs/resctrl");
}

/* --- choosing the group ----------------------------------------------------------------------- */

static int read_place(const struct resctrl_group *group, pid_t tid, struct resctrl_place *place)
{
    char text[1024];
    ssize_t n = fsroot_read(&group->root, text, sizeof(text), "proc/%d/task/%d/cpu_resctrl_groups",
                            (int)group->pid, (int)tid);

    return n < 0 ? (int)n : resctrl_parse_place(text, place);
}

/* Finds the group that contains all vCPUs. */
static int find_place(const struct resctrl_group *group, struct resctrl_place *all,
                      struct error *error)
{
    for (size_t i = 0; i < group->n_tids; i++) {
        struct resctrl_place place;
        int rc = read_place(group, group->tids[i], &place);

        if (rc < 0)
            return error_set(error, rc == -ENODEV ? -ENOTSUP : rc,
                             "resctrl: in which group thread %d is cannot be read "
                             "(/proc/%d/task/%d/cpu_resctrl_groups: %s)",
                             (int)group->tids[i], (int)group->pid, (int)group->tids[i],
                             strerror(-rc));
        if (i == 0)
            *all = place;
        if (strcmp(place.control, all->control) != 0)
            return error_set(error, -EBUSY,
                             "resctrl: the vCPUs are in several control groups ('%s', '%s'): "
                             "one monitoring group cannot have them",
                             all->control, place.control);
        if (strcmp(place.monitor, all->monitor) != 0)
            return error_set(error, -EBUSY,
                             "resctrl: some vCPUs are in the monitoring group '%s' of another "
                             "program, others are not: they are not taken out of it",
                             *place.monitor ? place.monitor : all->monitor);
    }
    return 0;
}

/* --- its threads ------------------------------------------------------------------------------ */

static bool is_vcpu(const struct resctrl_group *group, pid_t tid)
{
    for (size_t i = 0; i < group->n_tids; i++)
        if (group->tids[i] == tid)
            return true;
    return false;
}

/* Counts threads in the group: @p vcpus of this guest, and @p others. */
static int count_tasks(const struct resctrl_group *group, size_t *vcpus, size_t *others)
{
    cleanup_free char *text = NULL;
    cleanup_free pid_t *tids = calloc(TASKS_MAX, sizeof(*tids));
    ssize_t n = fsroot_read_all(&group->root, &text, TASKS_BYTES_MAX, "%s/tasks", group->path);

    if (!tids)
        return -ENOMEM;
    if (n >= 0)
        n = strlen(text) == (size_t)n ? resctrl_parse_tasks(text, tids, TASKS_MAX) : -EBADMSG;
    *vcpus = *others = 0;
    for (ssize_t i = 0; i < n; i++)
        ++*(is_vcpu(group, tids[i]) ? vcpus : others);
    return n < 0 ? (int)n : 0;
}

/* Moves one thread per write, because kernels before 6.7 take no list. Fails if another program has
 * moved the thread since find_place(). */
static int move_thread(const struct resctrl_group *group, int tasks_fd, pid_t tid,
                       struct error *error)
{
    struct resctrl_place place = {0};
    char text[32];
    int length = snprintf(text, sizeof(text), "%d\n", (int)tid);
    int rc = read_place(group, tid, &place);

    if (rc == -ENOENT || rc == -ESRCH)
        return 0;
    if (rc == 0 && (*place.monitor || strcmp(place.control, group->control) != 0))
        return error_set(error, -EBUSY,
                         "resctrl: thread %d was just moved to another group by another program",
                         (int)tid);
    if (rc == 0 && write(tasks_fd, text, (size_t)length) < 0 && errno != ESRCH)
        rc = -errno;
    return rc < 0 ? error_set(error, rc, "/%s/tasks: thread %d: %s", group->path, (int)tid,
                              strerror(-rc))
                  : 0;
}

static int move_threads(const struct resctrl_group *group, struct error *error)
{
    cleanup_close int fd = fsroot_openf(&group->root, O_WRONLY, "%s/tasks", group->path);
    int rc = 0;

    if (fd < 0)
        return error_set(error, fd, "/%s/tasks: %s", group->path, strerror(-fd));
    for (size_t i = 0; rc == 0 && i < group->n_tids; i++)
        rc = move_thread(group, fd, group->tids[i], error);
    return rc;
}

/* --- opening and closing ---------------------------------------------------------------------- */

static int join_foreign(struct resctrl_group *group, const struct resctrl_place *place,
                        struct error *error)
{
    size_t vcpus, others;

    snprintf(group->path, sizeof(group->path), RESCTRL "%s%s/mon_groups/%s",
             *place->control ? "/" : "", place->control, place->monitor);

    int rc = count_tasks(group, &vcpus, &others);

    if (rc < 0)
        return error_set(error, rc, "/%s/tasks: %s", group->path, strerror(-rc));
    group->flags |= CACHE_FOREIGN_GROUP | (others ? (unsigned)CACHE_OTHER_CODE : 0);
    return 0;
}

static int make_own(struct resctrl_group *group, struct error *error)
{
    int rc = resctrl_dir_make(&group->root, group->control, group->pid, &group->own, error);

    if (rc < 0)
        return rc;
    snprintf(group->path, sizeof(group->path), "%s", resctrl_dir_path(group->own));
    return 0;
}

static int open_group(struct resctrl_group *group, const struct cpu_facts *facts,
                      struct error *error)
{
    struct resctrl_place place = {0};
    int rc;

    resctrl_dir_sweep(&group->root, group->pid);
    rc = find_place(group, &place, error);
    if (rc < 0)
        return rc;
    snprintf(group->control, sizeof(group->control), "%s", place.control);
    resctrl_config_read(&group->root, group->control, facts, &group->config);
    group->flags |= group->config.flags;
    return *place.monitor ? join_foreign(group, &place, error) : make_own(group, error);
}

int resctrl_group_open(const struct fsroot *root, const struct cpu_facts *facts,
                       const struct qemu_process *process, struct resctrl_group **out,
                       struct error *error)
{
    int rc = resctrl_check(root, facts, error);

    if (rc < 0)
        return rc;

    struct resctrl_group *group = calloc(1, sizeof(*group));
    pid_t *copy = calloc(process->n_vcpus + 1, sizeof(*copy));

    if (!group || !copy) {
        free(group);
        free(copy);
        return error_set(error, -ENOMEM, "out of memory");
    }
    memcpy(copy, process->vcpus, process->n_vcpus * sizeof(*copy));
    group->root = *root;
    group->pid = process->pid;
    group->tids = copy;
    group->n_tids = process->n_vcpus;
    rc = open_group(group, facts, error);
    if (rc < 0)
        resctrl_group_close(group);
    else
        *out = group;
    return rc;
}

void resctrl_group_close(struct resctrl_group *group)
{
    if (!group)
        return;
    resctrl_dir_remove(group->own);
    resctrl_config_free(&group->config);
    free(group->tids);
    free(group);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void begin_use(const struct resctrl_group *group, const struct cpu_caches *caches,
                      const struct resctrl_cache *now, struct cache_use *use)
{
    const uint64_t bytes = cpu_caches_bytes(caches, now->id);
    const uint64_t share = resctrl_config_share(&group->config, now->id, bytes);

    *use = (struct cache_use){
        .id = now->id,
        .bytes = bytes,
        .usable_bytes = share <= bytes ? share : CACHE_UNKNOWN,
        /* leftover lines of another program's group are not known */
        .leftover_bytes = group->own ? now->occupied : 0,
        .occupied_bytes = now->occupied,
        .loaded_while_full_bytes = CACHE_UNKNOWN,
    };
}

static bool has_totals(const struct resctrl_reading *reading)
{
    for (size_t i = 0; i < reading->n; i++)
        if (reading->caches[i].total == CACHE_UNKNOWN)
            return false;
    return true;
}

/* Some CPUs have no value yet in a new group. */
static int read_first(struct resctrl_group *group, struct error *error)
{
    int rc = resctrl_read(&group->root, group->path, &group->first);

    for (unsigned i = 0; rc == 0 && i < FIRST_TRIES && !has_totals(&group->first); i++) {
        poll(NULL, 0, FIRST_WAIT_MS);
        rc = resctrl_read(&group->root, group->path, &group->first);
    }
    return rc < 0 ? error_set(error, rc, "/%s/mon_data: %s", group->path, strerror(-rc)) : 0;
}

int resctrl_group_begin(struct resctrl_group *group, const struct cpu_caches *caches,
                        struct cache_seen *seen, struct error *error)
{
    int rc = resctrl_read(&group->root, group->path, &group->first);

    if (rc < 0 || group->first.n == 0)
        return error_set(error, rc < 0 ? rc : -EIO, "/%s/mon_data: %s", group->path,
                         rc < 0 ? strerror(-rc) : "no cache is monitored");
    seen->n_caches = group->first.n;
    for (size_t i = 0; i < seen->n_caches; i++) {
        group->full_since[i] = CACHE_UNKNOWN;
        begin_use(group, caches, &group->first.caches[i], &seen->caches[i]);
    }
    if (group->own)
        rc = move_threads(group, error);
    if (rc == 0)
        rc = read_first(group, error);
    if (rc < 0)
        return rc;
    group->last = group->first;
    seen->monitored = true;
    seen->flags |= group->flags;
    return 0;
}

static uint64_t grown(uint64_t from, uint64_t to)
{
    return from == CACHE_UNKNOWN || to == CACHE_UNKNOWN || to < from ? CACHE_UNKNOWN : to - from;
}

/* Counts the bytes that were loaded while the cache was full: while each reading showed that the
 * guest holds nine tenths of it. */
static void follow_full(uint64_t *full_since, struct cache_use *use)
{
    if (!cache_is_full(use) || use->loaded_bytes == CACHE_UNKNOWN) {
        *full_since = CACHE_UNKNOWN;
        use->loaded_while_full_bytes = CACHE_UNKNOWN;
        return;
    }
    if (*full_since == CACHE_UNKNOWN)
        *full_since = use->loaded_bytes;
    use->loaded_while_full_bytes = grown(*full_since, use->loaded_bytes);
}

/* A counter that was unavailable once may have restarted. */
static void sample_use(struct resctrl_group *group, size_t i, const struct resctrl_cache *now,
                       struct cache_use *use)
{
    struct resctrl_cache *first = &group->first.caches[i];

    if (grown(group->last.caches[i].total, now->total) == CACHE_UNKNOWN)
        group->flags |= CACHE_MBM_GAP;
    use->occupied_bytes = now->occupied;
    use->loaded_bytes = group->flags & CACHE_MBM_GAP ? CACHE_UNKNOWN
                                                     : grown(first->total, now->total);
    if (grown(group->last.caches[i].local, now->local) == CACHE_UNKNOWN)
        first->local = CACHE_UNKNOWN; /* stays unknown from now on */
    use->local_bytes = grown(first->local, now->local);
    follow_full(&group->full_since[i], use);
}

static bool same_caches(const struct resctrl_reading *a, const struct resctrl_reading *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->caches[i].id != b->caches[i].id)
            return false;
    return true;
}

void resctrl_group_sample(struct resctrl_group *group, struct cache_seen *seen)
{
    struct resctrl_reading now = {0};

    if (resctrl_read(&group->root, group->path, &now) < 0 || !same_caches(&group->last, &now)) {
        group->flags |= CACHE_GROUP_CHANGED;
    } else {
        for (size_t i = 0; i < now.n; i++)
            sample_use(group, i, &now.caches[i], &seen->caches[i]);
        group->last = now;
    }
    seen->flags |= group->flags;
}

static bool has_moved(const struct resctrl_group *group)
{
    for (size_t i = 0; i < group->n_tids; i++) {
        char name[RESCTRL_NAME_BYTES];
        struct resctrl_place place;

        if (read_place(group, group->tids[i], &place) < 0)
            return true;
        snprintf(name, sizeof(name), "%s", strrchr(group->path, '/') + 1);
        if (strcmp(place.monitor, name) != 0 || strcmp(place.control, group->control) != 0)
            return true;
    }
    return false;
}

void resctrl_group_end(struct resctrl_group *group, struct cache_seen *seen)
{
    size_t vcpus, others;

    if (count_tasks(group, &vcpus, &others) < 0 || vcpus != group->n_tids || has_moved(group) ||
        resctrl_config_changed(&group->root, group->control, &group->config))
        group->flags |= CACHE_GROUP_CHANGED;
    else if (others)
        group->flags |= CACHE_OTHER_CODE;
    seen->flags |= group->flags;
}
