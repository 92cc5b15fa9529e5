// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/reclaimer.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc_pid.h"
#include "base/service/log.h"
#include "base/service/privileges.h"
#include "base/utf8.h"
#include "measure/kernel/memcg_reclaim.h"
#include "measure/kernel/swaps.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

/* --- the process ------------------------------------------------------------------------------ */

#define MAX_CMDLINE (1UL << 20)
#define REST_MAX_S 1.0
#define KNOWN 4000

/* A process found before: it is the same if its start time is the same. */
struct known {
    char uuid[37];
    pid_t pid;
    uint64_t start_ticks;
    uint64_t left_bytes; /* of its allowance, at that time */
    uint64_t left_ns;
};

static bool is_emulator(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    return !strncmp(name, "qemu-system-", 12) || !strcmp(name, "qemu-kvm") || !strcmp(name, "kvm");
}

/* Checks its command line, which every user may read; /proc/PID/exe needs CAP_SYS_PTRACE. */
static bool is_guest(const struct fsroot *root, pid_t pid, const char *uuid)
{
    cleanup_free char *text = NULL;
    ssize_t n = fsroot_read_all(root, &text, MAX_CMDLINE, "proc/%d/cmdline", (int)pid);
    bool next = false;

    if (n <= 0 || !is_emulator(text))
        return false;
    for (const char *word = text; word < text + n; word += strlen(word) + 1) {
        if (next)
            return !strcasecmp(word, uuid);
        next = !strcmp(word, "-uuid");
    }
    return false;
}

static bool is_running(const struct fsroot *root, pid_t pid, uint64_t *start_ticks)
{
    struct proc_stat stat;

    if (proc_stat_read(root, pid, &stat) < 0 || stat.state == 'Z')
        return false;
    *start_ticks = stat.start_ticks;
    return true;
}

/* Returns the process whose group says most of it, and in @p other one of which it says as much, or
 * 0: a guest that is being migrated within this machine has two. */
static pid_t best_process(const struct fsroot *root, const char *uuid, uint64_t *start_ticks,
                          pid_t *other)
{
    cleanup_free pid_t *pids = NULL;
    ssize_t n = proc_numbers(root, "proc", &pids);
    enum memcg_standing best = MEMCG_USERS;
    pid_t found = 0;

    *other = 0;
    for (ssize_t i = 0; i < n; i++) {
        enum memcg_standing standing;
        uint64_t ticks;

        if (!is_guest(root, pids[i], uuid) || !is_running(root, pids[i], &ticks))
            continue;
        standing = memcg_reclaim_standing(root, pids[i]);
        if (standing == MEMCG_USERS || standing < best)
            continue;
        *other = standing == best ? found : 0;
        best = standing;
        found = pids[i];
        *start_ticks = ticks;
    }
    return found;
}

static pid_t search_process(const struct fsroot *root, const char *uuid, uint64_t *start_ticks,
                            struct error *error)
{
    pid_t other;
    const pid_t pid = best_process(root, uuid, start_ticks, &other);

    if (!pid)
        return error_set(error, -ESRCH, "its QEMU process was not found");
    return !other ? pid
                  : error_set(error, -EAGAIN, "processes %d and %d are both this guest's",
                              (int)other, (int)pid);
}

static struct known known[KNOWN];

/* Returns the guest's entry, or NULL. As on a command line, the case of letters does not count. */
static struct known *entry_of(const char *uuid)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (!strcasecmp(known[i].uuid, uuid))
            return &known[i];
    return NULL;
}

/* Only a guest that runs has an entry: otherwise requests for invented guests would take the entry
 * of another, and so renew its allowance. */
static struct known *entry_make(const char *uuid)
{
    static unsigned next;
    struct known *entry = &known[next++ % KNOWN];

    *entry = (struct known){.left_bytes = RECLAIMER_MAX_BYTES, .left_ns = clock_ns()};
    snprintf(entry->uuid, sizeof(entry->uuid), "%s", uuid);
    return entry;
}

/* A captured tree may change between two calls. */
static int find_process(const struct fsroot *root, const char *uuid, struct known **found,
                        struct error *error)
{
    struct known *entry = entry_of(uuid);
    uint64_t start_ticks;
    pid_t pid;

    *found = entry;
    if (root->live && entry && is_running(root, entry->pid, &start_ticks) &&
        start_ticks == entry->start_ticks)
        return 0;
    pid = search_process(root, uuid, &start_ticks, error);
    if (pid < 0)
        return pid;
    *found = entry ? entry : entry_make(uuid);
    (*found)->pid = pid;
    (*found)->start_ticks = start_ticks;
    return 0;
}

/* Returns how much of @p bytes the guest's allowance permits now. */
static uint64_t allowed_bytes(struct known *guest, uint64_t bytes)
{
    const uint64_t now_ns = clock_ns();
    const double more = (double)less(now_ns, guest->left_ns) / 1e9 * RECLAIMER_BYTES_PER_S;
    const double left = fmin((double)guest->left_bytes + more, (double)RECLAIMER_MAX_BYTES);

    guest->left_bytes = (uint64_t)left;
    guest->left_ns = now_ns;
    return smaller(bytes, guest->left_bytes);
}

/* --- one request ------------------------------------------------------------------------------ */

/* Finds the process, opens and checks its group, and verifies that it is still the same process. */
static int open_group(const struct fsroot *root, const char *uuid, struct memcg_reclaim *group,
                      struct known **guest, struct error *error)
{
    uint64_t start_ticks;
    int rc = find_process(root, uuid, guest, error);

    if (rc == 0)
        rc = memcg_reclaim_open(root, (*guest)->pid, group, error);
    if (rc == 0 &&
        (!is_running(root, (*guest)->pid, &start_ticks) || start_ticks != (*guest)->start_ticks)) {
        memcg_reclaim_close(group);
        rc = error_set(error, -ESRCH, "its QEMU process has ended");
    }
    return rc;
}

/* If swap is full the kernel can only kill processes. */
static uint64_t room_above_kept(const struct swap_room *room)
{
    return less(room->free_bytes, room->total_bytes / RECLAIM_SWAP_KEPT);
}

static int look(const struct fsroot *root, bool any_swap, const struct memcg_reclaim *group,
                struct memcg_counters *counters, struct reclaim_group *out, struct error *error)
{
    struct swap_room room = {0};
    int rc = memcg_reclaim_read(group, counters, error);

    if (rc == 0)
        rc = swap_room(root, any_swap, &room);
    if (rc < 0 && !error->code)
        error_set(error, rc, "/proc/swaps: %s", strerror(-rc));
    if (rc < 0)
        return rc;
    out->swap_room_bytes = smaller(room_above_kept(&room), counters->swap_left_bytes);
    out->refault_bytes = counters->refault_bytes;
    out->pressure_s = counters->pressure_s;
    return 0;
}

static int serve_group(const struct fsroot *root, bool any_swap, uint64_t bytes,
                       const struct memcg_reclaim *group, struct reclaimer_answer *answer,
                       struct error *error)
{
    struct memcg_counters before, after;
    bool is_cut;
    int rc = look(root, any_swap, group, &before, &answer->group, error);

    answer->asked_bytes = smaller(smaller(bytes, RECLAIMER_MAX_BYTES),
                                  answer->group.swap_room_bytes);
    if (rc < 0 || answer->asked_bytes == 0)
        return rc;
    rc = memcg_reclaim_write(group, answer->asked_bytes, error);
    is_cut = rc == 1;
    if (rc >= 0)
        rc = look(root, any_swap, group, &after, &answer->group, error);
    if (rc < 0)
        return rc;
    answer->got_bytes = less(before.current_bytes, after.current_bytes);
    if (is_cut)
        answer->asked_bytes = answer->got_bytes;
    return 0;
}

void reclaimer_serve(const struct fsroot *root, bool any_swap,
                     const struct reclaimer_request *request, struct reclaimer_answer *answer)
{
    struct memcg_reclaim group;
    struct known *guest;
    struct error error = {0};
    int rc;

    *answer = (struct reclaimer_answer){.group.pressure_s = NAN};
    memcpy(answer->uuid, request->uuid, sizeof(answer->uuid));
    answer->uuid[sizeof(answer->uuid) - 1] = '\0';
    rc = open_group(root, answer->uuid, &group, &guest, &error);
    if (rc == 0) {
        rc = serve_group(root, any_swap, allowed_bytes(guest, request->bytes), &group, answer,
                         &error);
        guest->left_bytes = less(guest->left_bytes, answer->asked_bytes);
        memcg_reclaim_close(&group);
    }
    if (rc < 0) /* a process chooses its own name */
        utf8_printable_copy(answer->group.refused, sizeof(answer->group.refused),
                            error.text[0] ? error.text : "unknown");
}

/* --- the process ------------------------------------------------------------------------------ */

static void wake(int signal)
{
    (void)signal;
}

/* The alarm repeats: the first may come before the write has begun. 0: stops it. */
static void set_alarm(int seconds)
{
    const struct itimerval timer = {.it_value = {.tv_sec = seconds},
                                    .it_interval = {.tv_usec = seconds ? 200000 : 0}};

    setitimer(ITIMER_REAL, &timer, NULL);
}

bool reclaimer_request_valid(const void *message, size_t size)
{
    const struct reclaimer_request *request = message;

    return size == sizeof(*request) && memchr(request->uuid, '\0', sizeof(request->uuid)) &&
           strspn(request->uuid, "0123456789abcdefABCDEF-") == strlen(request->uuid);
}

/* Rests three times as long as the request took in CPU time, but no longer than a second: a search
 * for a guest reads all of /proc. */
static void rest_after(double spent_s)
{
    clock_sleep((uint64_t)(fmin(3 * spent_s, REST_MAX_S) * 1e9));
}

static int serve_all(int fd, bool any_swap)
{
    struct reclaimer_request request;
    struct reclaimer_answer answer;
    struct fsroot root;

    if (fsroot_open(&root, "/") < 0)
        return 1;
    for (;;) {
        ssize_t n = recv(fd, &request, sizeof(request), MSG_TRUNC);
        double began_s;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || !reclaimer_request_valid(&request, (size_t)n)) /* 0: the end */
            return n != 0;
        began_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
        set_alarm(RECLAIMER_WRITE_S);
        reclaimer_serve(&root, any_swap, &request, &answer);
        set_alarm(0);
        if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
            return 1;
        rest_after(clock_s(CLOCK_PROCESS_CPUTIME_ID) - began_s);
    }
}

static int run_process(int fd, const struct reclaimer_plan *plan)
{
    const struct sigaction action = {.sa_handler = wake}; /* interrupts a system call */
    struct error error = {0};
    int rc;

    prctl(PR_SET_NAME, "vmwss-reclaimer");
    /* The descriptors include the lock of vmwss-balloond, which must be released when that process
     * ends. */
    if (dup2(fd, 3) < 0 || syscall(SYS_close_range, 4, ~0U, 0) < 0)
        return 1;
    sigaction(SIGALRM, &action, NULL);
    rc = plan->act ? privileges_drop_reclaimer(&error)
                   : privileges_drop_rest(plan->account, &error);
    if (rc == 0 && !plan->act) /* the dry run's user owns the journal */
        rc = privileges_limit_writes(&error);
    if (rc < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "the reclaimer: %s", error.text);
        return 1;
    }
    return serve_all(3, plan->any_swap);
}

/* --- the other end ---------------------------------------------------------------------------- */

int reclaimer_start(struct reclaimer *reclaimer, const struct reclaimer_plan *plan,
                    struct error *error)
{
    int fds[2];

    *reclaimer = RECLAIMER_NONE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return error_set(error, -errno, "the reclaimer: %s", strerror(errno));
    reclaimer->pid = fork();
    if (reclaimer->pid == 0) {
        close(fds[0]);
        _exit(run_process(fds[1], plan));
    }
    close(fds[1]);
    reclaimer->fd = fds[0];
    if (reclaimer->pid > 0)
        return 0;
    close(fds[0]);
    reclaimer->fd = -1;
    return error_set(error, -errno, "the reclaimer: %s", strerror(errno));
}

int reclaimer_ask(struct reclaimer *reclaimer, const struct reclaimer_request *request,
                  double now_s)
{
    if (reclaimer->fd < 0)
        return -EPIPE;
    if (reclaimer->waiting)
        return -EBUSY;
    if (send(reclaimer->fd, request, sizeof(*request), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        (ssize_t)sizeof(*request))
        return -EPIPE;
    reclaimer->waiting = true;
    reclaimer->asked_s = now_s;
    return 0;
}

static bool is_valid(const struct reclaimer_answer *answer)
{
    return memchr(answer->uuid, '\0', sizeof(answer->uuid)) &&
           memchr(answer->group.refused, '\0', sizeof(answer->group.refused));
}

int reclaimer_hear(struct reclaimer *reclaimer, int timeout_ms, struct reclaimer_answer *answer)
{
    struct pollfd ready = {.fd = reclaimer->fd, .events = POLLIN};
    ssize_t n;

    if (reclaimer->fd < 0)
        return -EPIPE;
    if (!reclaimer->waiting) /* it sends nothing without a request */
        return poll(&ready, 1, 0) > 0 ? -EPIPE : 0;
    if (poll(&ready, 1, timeout_ms) <= 0)
        return 0;
    n = recv(reclaimer->fd, answer, sizeof(*answer), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n != (ssize_t)sizeof(*answer) || !is_valid(answer))
        return -EPIPE;
    reclaimer->waiting = false;
    return 1;
}

/* It ends at once, or after its current write; it is never signalled. */
void reclaimer_end(struct reclaimer *reclaimer)
{
    if (reclaimer->fd < 0)
        return;
    close(reclaimer->fd);
    reclaimer->fd = -1;
    for (int ms = 0; ms < 1500 * RECLAIMER_WRITE_S; ms += 5) {
        if (waitpid(reclaimer->pid, NULL, WNOHANG) != 0)
            return;
        usleep(5000);
    }
}
