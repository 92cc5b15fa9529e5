// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sources/processes.h"

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/proc_pid.h"
#include "base/service/log.h"
#include "programs/vmwssd/sources/open_queue.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct processes {
    unsigned number;
    const struct fsroot *root;
    struct fleet *fleet;
    pthread_mutex_t mutex; /* protects the fields below */
    pthread_cond_t happened;
    bool wanted;
    /* used only by the thread: */
    struct open_queue open_queue; /* keys are pids, as text */
    uint64_t scan_ns;             /* when to read /proc again */
    uint64_t open_ns;             /* when the budget allows the next process to be opened */
    uint64_t opened_ns;           /* when the last was opened; 0: none was */
    bool logged_unlisted;
};

/* --- names of guests -------------------------------------------------------------------------- */

static uint64_t fnv1a(const char *text, uint64_t hash)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
    return hash;
}

void processes_uuid(const char *text, char *uuid)
{
    const uint64_t a = fnv1a(text, 0xcbf29ce484222325ULL);
    const uint64_t b = fnv1a(text, a ^ 0x9e3779b97f4a7c15ULL);

    snprintf(uuid, 37, "%08x-%04x-8%03x-%04x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff,
             0x8000 | ((unsigned)(b >> 48) & 0x3fff), (unsigned long long)(b & 0xffffffffffffULL));
}

/* If another measured process has the UUID, it is taken: of two guests with one name, the second is
 * identified by its process. */
static void name_guest(const struct processes *processes, struct scan_guest_ref *guest)
{
    char text[320];

    if (!*guest->name)
        snprintf(guest->name, sizeof(guest->name), "process-%d", guest->pid);
    if (strlen(guest->uuid) != sizeof(guest->uuid) - 1)
        processes_uuid(guest->name, guest->uuid);
    if (!fleet_has(processes->fleet, guest->uuid, false))
        return;
    snprintf(text, sizeof(text), "%s %d %llu", guest->name, guest->pid,
             (unsigned long long)guest->start_ticks);
    processes_uuid(text, guest->uuid);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void key_of(pid_t pid, char key[37])
{
    memset(key, 0, 37);
    snprintf(key, 37, "%d", pid);
}

/* Returns true if libvirt has yet to open it, or if it is the other end of a migration between two
 * libvirtds of this machine. */
static bool may_be_libvirts(const struct processes *processes, const char *uuid)
{
    return *uuid && (fleet_waiting_elsewhere(processes->fleet, processes->number) > 0 ||
                     fleet_has(processes->fleet, uuid, true));
}

/* Returns 0; -EAGAIN: later; or as scanner_open_process(). */
static int open_and_add(struct processes *processes, pid_t pid, struct error *error)
{
    struct scanner *scanner = fleet_scanner(processes->fleet);
    struct scan_guest_ref guest;
    int rc = scanner_open_process(scanner, pid, &guest, error);

    if (rc < 0)
        return rc;
    if (fleet_watches(processes->fleet, pid, guest.start_ticks)) {
        scanner_close(scanner, &guest);
        return 0;
    }
    if (may_be_libvirts(processes, guest.uuid)) {
        scanner_close(scanner, &guest);
        return -EAGAIN;
    }
    name_guest(processes, &guest);
    fleet_add(processes->fleet, processes->number, &guest);
    return 0;
}

static double wait_to_open(struct processes *processes)
{
    return fleet_wait_to_open(processes->fleet, processes->number,
                              open_queue_ready(&processes->open_queue, clock_ns()),
                              processes->opened_ns);
}

/* Opens one of the waiting processes, if the budget allows it. */
static void open_next(struct processes *processes)
{
    double wait_s = wait_to_open(processes);
    const char *next = wait_s > 0 ? NULL : open_queue_next(&processes->open_queue, clock_ns());
    struct error error = {0};
    char key[37];

    processes->open_ns = cond_in_s(wait_s);
    if (!next)
        return;
    memcpy(key, next, sizeof(key));

    int rc = open_and_add(processes, (pid_t)strtol(key, NULL, 10), &error);

    if (rc == 0 || rc == -ESRCH || rc == -ENOEXEC)
        open_queue_drop(&processes->open_queue, key);
    else
        open_queue_put_off(&processes->open_queue, key, clock_ns());
    if (rc < 0 && rc != -ESRCH && rc != -EAGAIN)
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "%s", error.text);
    processes->opened_ns = clock_ns();
    wait_to_open(processes);
}

/* --- running processes ------------------------------------------------------------------------ */

static bool is_young(uint64_t start_ticks)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)start_ticks / (double)sysconf(_SC_CLK_TCK) + PROCESSES_YOUNG_S >
           (double)now.tv_sec;
}

/* A process that waits already keeps its place, and its delay. */
static void compare_process(struct processes *processes, pid_t pid)
{
    uint64_t start_ticks;
    struct proc_stat stat = {0};
    char key[37];
    int rc = proc_stat_read(processes->root, pid, &stat);

    key_of(pid, key);
    start_ticks = stat.start_ticks;
    if (rc < 0) /* it may be hidden from us by the mount option hidepid */
        rc = scanner_start_ticks(fleet_scanner(processes->fleet), pid, &start_ticks);
    if (rc < 0 || fleet_watches(processes->fleet, pid, start_ticks)) {
        open_queue_drop(&processes->open_queue, key);
        return;
    }
    if (is_young(start_ticks) || open_queue_has(&processes->open_queue, key))
        return;
    if (!open_queue_put(&processes->open_queue, key))
        log_line(LOG_CLASS_GUEST, LOG_ERR, "process %d: out of memory", pid);
}

double processes_wait_s(double took_s)
{
    return fmin(fmax(50 * took_s, PROCESSES_EVERY_S), PROCESSES_SELDOM_S);
}

static void scan(struct processes *processes)
{
    const uint64_t began_ns = clock_ns();
    cleanup_free pid_t *pids = NULL;
    ssize_t n = scanner_list(fleet_scanner(processes->fleet), &pids);

    processes->scan_ns = cond_in_s(processes_wait_s((double)(clock_ns() - began_ns) / 1e9));
    if (n < 0 && !processes->logged_unlisted)
        log_line(LOG_CLASS_CONNECTION, LOG_WARNING,
                 "/proc: processes are not known: %s; trying again", strerror((int)-n));
    processes->logged_unlisted = n < 0;
    for (ssize_t i = 0; i < n; i++)
        compare_process(processes, pids[i]);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Waits until there is something to do; returns true if processes are to be followed. */
static bool wait_for_work(struct processes *processes)
{
    uint64_t until_ns = open_queue_at_ns(&processes->open_queue);

    if (until_ns < processes->open_ns)
        until_ns = processes->open_ns;
    if (until_ns > processes->scan_ns)
        until_ns = processes->scan_ns;
    HOLD(&processes->mutex);
    if (processes->wanted)
        cond_wait_until(&processes->happened, &processes->mutex, until_ns);

    return processes->wanted;
}

static void let_all_go(struct processes *processes)
{
    open_queue_free(&processes->open_queue);
    fleet_wait_to_open(processes->fleet, processes->number, 0, 0);
    fleet_keep_only(processes->fleet, processes->number, NULL, 0);
    pthread_mutex_lock(&processes->mutex);
    while (!processes->wanted)
        pthread_cond_wait(&processes->happened, &processes->mutex);
    pthread_mutex_unlock(&processes->mutex);
    processes->scan_ns = 0;
}

static void *follow_processes(void *context)
{
    struct processes *processes = context;

    for (;;) {
        if (!wait_for_work(processes)) {
            let_all_go(processes);
            continue;
        }
        if (clock_ns() >= processes->scan_ns)
            scan(processes);
        open_next(processes);
    }
    return NULL;
}

struct processes *processes_start(unsigned number, const struct fsroot *root, struct fleet *fleet)
{
    struct processes *processes = calloc(1, sizeof(*processes));
    pthread_t thread;

    if (!processes)
        return NULL;
    processes->number = number;
    processes->root = root;
    processes->fleet = fleet;
    processes->wanted = true;
    pthread_mutex_init(&processes->mutex, NULL);
    cond_init(&processes->happened);
    if (pthread_create(&thread, NULL, follow_processes, processes) != 0) {
        free(processes);
        return NULL;
    }
    pthread_detach(thread);
    return processes;
}

void processes_use(struct processes *processes, bool wanted)
{
    HOLD(&processes->mutex);
    processes->wanted = wanted;
    pthread_cond_signal(&processes->happened);
}
