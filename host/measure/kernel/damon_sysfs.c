// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/kernel/damon_sysfs.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/guardian.h"
#include "base/page_sizes.h"
#include "base/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define KDAMONDS "sys/kernel/mm/damon/admin/kdamonds"
#define CONTEXT "contexts/0"
#define TARGET CONTEXT "/targets/0"
#define ATTRS CONTEXT "/monitoring_attrs"

/* The longest sleep is 2^32 - 1 us (kdamond_usleep() converts with usecs_to_jiffies(unsigned int));
 * an hour is below it. In a longer window the kdamond samples, reports and marks again, and the
 * touches of these intervals are added up. */
#define SAMPLE_US "3600000000"

/* An access to DAMON's sysfs fails at once if another access is in progress (mutex_trylock()). */
#define BUSY_TRIES 400
#define BUSY_WAIT_NS 5000000ULL

/* Marking takes microseconds a page; a kdamond that is still awake after this time is stuck behind
 * mmap_lock. */
#define MARK_TRIES 60000
#define MARK_WAIT_NS 500000ULL

#define MIN_REGIONS 3 /* limit of damon_set_attrs() */

struct damon_slot {
    bool taken;
    struct fsroot dir; /* kdamonds/N */
};

struct shared {
    bool taken;     /* nr_kdamonds has been written, or is about to be */
    uint64_t inode; /* inode of our directory kdamonds/0; 0: not known yet */
};

/* The host has only one DAMON. */
static struct {
    unsigned users;
    struct fsroot root; /* root of the tree in which DAMON was taken; borrowed */
    struct run_lock lock;
    int dir_fd; /* kdamonds */
    struct guardian *guardian;
    struct damon_slot slots[DAMON_SLOTS];
} taken = {.lock = {.dir_fd = -1, .file_fd = -1, .apart_fd = -1}, .dir_fd = -1};

/* --- files ------------------------------------------------------------------------------------ */

static int write_once(const struct fsroot *dir, const char *path, const char *value)
{
    cleanup_close int fd = fsroot_openf(dir, O_WRONLY | O_TRUNC, "%s", path);
    size_t length = strlen(value);

    if (fd < 0)
        return fd;
    return write(fd, value, length) == (ssize_t)length ? 0 : -errno;
}

static int put_value(const struct fsroot *dir, const char *path, const char *value)
{
    int rc = write_once(dir, path, value);

    for (unsigned i = 0; rc == -EBUSY && i < BUSY_TRIES; i++) {
        clock_sleep(BUSY_WAIT_NS);
        rc = write_once(dir, path, value);
    }
    return rc;
}

static int put_u64(const struct fsroot *dir, const char *path, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    return put_value(dir, path, text);
}

/* Reads a word; "" if that fails. */
static void get(const struct fsroot *dir, const char *path, char *text, size_t size)
{
    ssize_t n = fsroot_read(dir, text, size, "%s", path);

    for (unsigned i = 0; n == -EBUSY && i < BUSY_TRIES; i++) {
        clock_sleep(BUSY_WAIT_NS);
        n = fsroot_read(dir, text, size, "%s", path);
    }
    if (n < 0)
        text[0] = '\0';
}

static int open_dir(const struct fsroot *parent, const char *path, struct fsroot *out)
{
    out->live = parent->live;
    out->dirfd = fsroot_openf(parent, O_PATH | O_DIRECTORY, "%s", path);
    return out->dirfd < 0 ? out->dirfd : 0;
}

/* --- other users ------------------------------------------------------------------------------ */

/* "kdamond 0 is on and watches process 42 (qemu-system-x86)" */
static bool describe_kdamond(const struct fsroot *root, unsigned number, char *text, size_t size)
{
    struct fsroot dir;
    char path[64];
    char state[8];
    char pid[16];
    char comm[32] = "";

    snprintf(path, sizeof(path), KDAMONDS "/%u", number);
    if (open_dir(root, path, &dir) < 0)
        return false;
    get(&dir, "state", state, sizeof(state));
    get(&dir, TARGET "/pid_target", pid, sizeof(pid));
    fsroot_close(&dir);
    if (strcmp(state, "on") != 0)
        return false;
    if (atoi(pid) > 0 && fsroot_read(root, comm, sizeof(comm), "proc/%d/comm", atoi(pid)) > 0)
        snprintf(text, size, "kdamond %u is on and watches process %s (%s)", number, pid, comm);
    else
        snprintf(text, size, "kdamond %u is on", number);
    return true;
}

static int busy_kdamonds(const struct fsroot *root, uint64_t n, struct error *why)
{
    char text[128];
    unsigned i = 0;

    while (i < n && !describe_kdamond(root, i, text, sizeof(text)))
        i++;
    if (i == n)
        return error_set(why, -EBUSY,
                         "another program has configured DAMON (%" PRIu64
                         " kdamonds, none of them on), "
                         "and it has room for one configuration; if it is not needed: "
                         "echo 0 > /" KDAMONDS "/nr_kdamonds",
                         n);
    return error_set(why, -EBUSY,
                     "another program uses DAMON: %s; end that, or if it is not needed: "
                     "echo off > /" KDAMONDS "/%u/state; echo 0 > /" KDAMONDS "/nr_kdamonds",
                     text, i);
}

static const char *const modules[] = {"damon_stat", "damon_reclaim", "damon_lru_sort"};

static bool is_on(const struct fsroot *root, const char *module)
{
    char text[8];

    return fsroot_read(root, text, sizeof(text), "sys/module/%s/parameters/enabled", module) > 0 &&
           (text[0] == 'Y' || text[0] == '1');
}

unsigned damon_modules_on(const struct fsroot *root)
{
    unsigned n = 0;

    for (size_t i = 0; i < COUNT(modules); i++)
        n += is_on(root, modules[i]);
    return n;
}

const char *damon_module_on(const struct fsroot *root)
{
    for (size_t i = 0; i < COUNT(modules); i++)
        if (is_on(root, modules[i]))
            return modules[i];
    return NULL;
}

/* The modules start DAMON exclusively (damon_start()). */
static int check_modules(const struct fsroot *root, struct error *why)
{
    const char *module = damon_module_on(root);

    if (!module)
        return 0;
    return error_set(why, -EBUSY,
                     "the kernel's module %s uses DAMON, and alone; turn it off meanwhile: "
                     "echo N > /sys/module/%s/parameters/enabled",
                     module, module);
}

/* A process that only checks holds the lock briefly, so it is worth waiting. */
static int lock(struct run_lock *lock, const struct fsroot *root, struct error *why)
{
    const struct lock_wait wait = {.seconds = 0.2, .pidfd = -1};

    if (!fsroot_exists(root, KDAMONDS))
        return error_set(why, -ENOENT,
                         "/" KDAMONDS
                         " is not there: it needs a kernel with CONFIG_DAMON_SYSFS and "
                         "CONFIG_DAMON_VADDR (Debian 13 has them)");
    return run_lock_host(lock, root, "damon", &wait, why);
}

static int check_unused(const struct fsroot *root, struct error *why)
{
    uint64_t n;
    int rc = fsroot_read_u64(root, &n, KDAMONDS "/nr_kdamonds");

    if (rc < 0)
        return error_set(why, rc, "/" KDAMONDS "/nr_kdamonds: %s", strerror(-rc));
    return n > 0 ? busy_kdamonds(root, n, why) : check_modules(root, why);
}

int damon_sysfs_free(const struct fsroot *root, struct error *why)
{
    if (taken.users > 0)
        return 0;

    struct run_lock looking = RUN_LOCK_NONE;
    int rc = lock(&looking, root, why);

    if (rc == 0)
        rc = check_unused(root, why);
    run_lock_release(&looking);
    return rc;
}

bool damon_sysfs_taken(void)
{
    return taken.users > 0;
}

/* --- taking DAMON, and giving it back --------------------------------------------------------- */

static uint64_t inode_of_first(void)
{
    struct stat st;

    return fstatat(taken.dir_fd, "0", &st, 0) == 0 ? st.st_ino : 0;
}

/* Runs in this process, or in the guardian with its copy of the state. It does not touch a
 * configuration that this process did not make. If this process was killed between making the
 * configuration and noting it, the guardian assumes that a configuration of the same size with all
 * kdamonds off is ours. */
static void restore_at(void *at, void *context)
{
    struct shared *shared = at;
    const struct fsroot kdamonds = {.dirfd = taken.dir_fd};
    uint64_t n = 0;

    (void)context;
    if (!shared->taken || fsroot_read_u64(&kdamonds, &n, "nr_kdamonds") < 0 || n != DAMON_SLOTS ||
        (shared->inode && shared->inode != inode_of_first()))
        return;
    for (unsigned i = 0; i < DAMON_SLOTS && shared->inode; i++) {
        char path[16];
        char state[8];

        snprintf(path, sizeof(path), "%u/state", i);
        get(&kdamonds, path, state, sizeof(state));
        if (!strcmp(state, "on"))
            put_value(&kdamonds, path, "off");
    }
    put_value(&kdamonds, "nr_kdamonds", "0");
    shared->taken = false;
}

static int make_kdamonds(struct error *error)
{
    const struct fsroot kdamonds = {.dirfd = taken.dir_fd};
    struct shared *shared = guardian_shared(taken.guardian);

    shared->taken = true;

    int rc = put_u64(&kdamonds, "nr_kdamonds", DAMON_SLOTS);

    shared->inode = rc == 0 ? inode_of_first() : 0;
    return rc < 0 ? error_set(error, rc, "/" KDAMONDS "/nr_kdamonds: %s", strerror(-rc)) : 0;
}

static void let_go(void)
{
    if (taken.guardian)
        restore_at(guardian_shared(taken.guardian), NULL);
    guardian_dismiss(taken.guardian);
    taken.guardian = NULL;
    cleanup_close_at(&taken.dir_fd);
    taken.dir_fd = -1;
    run_lock_release(&taken.lock);
}

static int open_kdamonds(const struct fsroot *root, struct error *error)
{
    int fd = fsroot_openf(root, O_RDONLY | O_DIRECTORY, KDAMONDS);

    taken.dir_fd = fd;
    return fd < 0 ? error_set(error, fd, "/" KDAMONDS ": %s", strerror(-fd)) : 0;
}

static int take_damon(const struct fsroot *root, struct error *error)
{
    taken.root = *root;

    int rc = lock(&taken.lock, root, error);

    if (rc == 0)
        rc = check_unused(root, error);
    if (rc == 0)
        rc = open_kdamonds(root, error);
    if (rc == 0)
        rc = guardian_post(&taken.guardian, sizeof(struct shared), restore_at, NULL, error);
    if (rc == 0)
        rc = make_kdamonds(error);
    if (rc < 0)
        let_go();
    return rc;
}

/* --- one kdamond ------------------------------------------------------------------------------ */

/* Returns 0, or the first error. */
static int configure(const struct fsroot *dir, pid_t pid)
{
    static const struct {
        const char *path;
        const char *value;
    } settings[] = {
        {"contexts/nr_contexts", "1"},
        {CONTEXT "/operations", "fvaddr"},
        {ATTRS "/intervals/sample_us", SAMPLE_US},
        {ATTRS "/intervals/aggr_us", SAMPLE_US}, /* report after each sample */
        {ATTRS "/intervals/update_us", SAMPLE_US},
        {CONTEXT "/targets/nr_targets", "1"},
    };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < COUNT(settings); i++)
        rc = put_value(dir, settings[i].path, settings[i].value);
    return rc < 0 ? rc : put_u64(dir, TARGET "/pid_target", (uint64_t)pid);
}

static int explain_failure(int rc, const char *what, struct error *error)
{
    if (rc == -ENOENT)
        return error_set(error, -EBUSY, "another program has reconfigured DAMON meanwhile (%s)",
                         what);
    return error_set(error, rc, "DAMON: %s: %s", what, strerror(-rc));
}

int damon_slot_take(const struct fsroot *root, pid_t pid, struct damon_slot **out,
                    struct error *error)
{
    unsigned i = 0;
    char path[16];
    int rc = taken.users == 0 ? take_damon(root, error) : 0;

    if (rc < 0)
        return rc;
    while (i < DAMON_SLOTS && taken.slots[i].taken)
        i++;
    if (i == DAMON_SLOTS)
        return error_set(error, -EBUSY, "DAMON: all %d kdamonds are in use", DAMON_SLOTS);

    struct damon_slot *slot = &taken.slots[i];
    const struct fsroot kdamonds = {.dirfd = taken.dir_fd, .live = root->live};

    snprintf(path, sizeof(path), "%u", i);
    slot->taken = true;
    taken.users++;
    rc = open_dir(&kdamonds, path, &slot->dir);
    if (rc == 0)
        rc = configure(&slot->dir, pid);
    if (rc == 0) {
        *out = slot;
        return 0;
    }
    damon_slot_give_back(slot);
    return explain_failure(rc, "configuring a kdamond", error);
}

void damon_slot_give_back(struct damon_slot *slot)
{
    if (!slot)
        return;
    damon_slot_off(slot, NULL);
    /* the regions' directories are thousands; the last slot removes all of them together */
    if (taken.users > 1)
        put_value(&slot->dir, "contexts/nr_contexts", "0");
    fsroot_close(&slot->dir);
    *slot = (struct damon_slot){0};
    if (--taken.users == 0)
        let_go();
}

static int put_region(const struct fsroot *regions, uint64_t number, uint64_t hva)
{
    char path[32];

    snprintf(path, sizeof(path), "%" PRIu64 "/start", number);

    int rc = put_u64(regions, path, hva);

    snprintf(path, sizeof(path), "%" PRIu64 "/end", number);
    return rc < 0 ? rc : put_u64(regions, path, hva + base_page_bytes());
}

int damon_slot_set_pages(struct damon_slot *slot, const uint64_t *hva, uint64_t n,
                         struct error *error)
{
    uint64_t limit = n < MIN_REGIONS ? MIN_REGIONS : n;
    struct fsroot regions;
    int rc = put_u64(&slot->dir, TARGET "/regions/nr_regions", n);

    if (rc == 0)
        rc = put_u64(&slot->dir, ATTRS "/nr_regions/max", limit);
    if (rc == 0)
        rc = put_u64(&slot->dir, ATTRS "/nr_regions/min", limit);
    if (rc == 0)
        rc = open_dir(&slot->dir, TARGET "/regions", &regions);
    if (rc < 0)
        return explain_failure(rc, "making regions", error);
    for (uint64_t i = 0; rc == 0 && i < n; i++)
        rc = put_region(&regions, i, hva[i]);
    fsroot_close(&regions);
    return rc < 0 ? explain_failure(rc, "setting regions", error) : 0;
}

/* State of a thread as in proc(5): 'I' is an idle kernel thread; 0: the thread has ended. */
static char thread_state(const struct fsroot *root, pid_t pid)
{
    char text[512];
    ssize_t n = fsroot_read(root, text, sizeof(text), "proc/%d/stat", (int)pid);
    const char *end = n > 0 ? strrchr(text, ')') : NULL;

    return end && end[1] == ' ' ? end[2] : '\0';
}

/* The kdamond waits on locks in state 'D' and sleeps in state 'I' only in kdamond_usleep(), after
 * all pages are marked. */
static int wait_marked(pid_t kdamond, struct error *error)
{
    char state = thread_state(&taken.root, kdamond);

    for (unsigned i = 0; state && state != 'I' && i < MARK_TRIES; i++) {
        clock_sleep(MARK_WAIT_NS);
        state = thread_state(&taken.root, kdamond);
    }
    if (state == 'I')
        return 0;
    return error_set(error, state ? -ETIMEDOUT : -ESRCH, "DAMON: its thread %d %s", (int)kdamond,
                     state ? "does not finish marking" : "has ended by itself");
}

int damon_slot_on(struct damon_slot *slot, pid_t *kdamond, struct error *error)
{
    char pid[16];
    int rc = put_value(&slot->dir, "state", "on");

    if (rc == -EBUSY)
        return error_set(error, rc, "another program began to use DAMON meanwhile, and alone");
    if (rc == -EINVAL)
        return error_set(error, -ESRCH, "DAMON does not accept the process; has it ended?");
    if (rc < 0)
        return explain_failure(rc, "turning it on", error);
    get(&slot->dir, "pid", pid, sizeof(pid));
    *kdamond = (pid_t)atoi(pid);
    if (*kdamond <= 0)
        return error_set(error, -ESRCH, "DAMON ended by itself");
    return wait_marked(*kdamond, error);
}

int damon_slot_off(struct damon_slot *slot, struct error *error)
{
    char state[8];

    get(&slot->dir, "state", state, sizeof(state));
    if (!strcmp(state, "off"))
        return 0;

    int rc = put_value(&slot->dir, "state", "off");

    /* -EPERM: it ended between the two checks; -EINVAL: it was never on */
    return rc < 0 && rc != -EPERM && rc != -EINVAL ? explain_failure(rc, "turning it off", error)
                                                   : 0;
}
