// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/scanner_private.h"

#include "base/clock.h"
#include "programs/vmwssd/scanner/scan_socket.h"
#include "programs/vmwssd/scanner/scan_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The caller's timeout is as long as ours. */
#define ASKS_IN_PATIENCE 8

/* --- channels --------------------------------------------------------------------------------- */

static int scanner_new(struct scanner **out)
{
    struct scanner *scanner = calloc(1, sizeof(*scanner));

    if (!scanner)
        return -ENOMEM;
    scanner->channel_fd = -1;
    atomic_init(&scanner->files, UINT32_MAX);
    atomic_init(&scanner->lane_ns, 0);
    atomic_init(&scanner->turn_ns, 0);
    pthread_mutex_init(&scanner->mutex, NULL);

    int rc = -pthread_key_create(&scanner->lane, scanner_lane_close);

    if (rc < 0) {
        free(scanner);
        return rc;
    }
    *out = scanner;
    return 0;
}

int scanner_local(struct scanner **out, const struct fsroot *root)
{
    int rc = scanner_new(out);

    if (rc < 0)
        return rc;
    (*out)->table = scan_table_new(root, getppid());
    return (*out)->table ? 0 : -ENOMEM;
}

int scanner_beyond(struct scanner **out, int channel_fd, pid_t pid)
{
    int rc = scanner_new(out);

    if (rc < 0)
        return rc;
    (*out)->channel_fd = channel_fd;
    return -clock_getcpuclockid(pid, &(*out)->cpu_clock);
}

void scanner_begin(struct scan_request *request, enum scan_op op, uint64_t guest)
{
    memset(request, 0, scan_request_size(op));
    request->op = op;
    request->guest = guest;
}

static const char *why(int rc)
{
    return rc == -ESHUTDOWN ? "the scanner is about to end" : strerror(-rc);
}

int scanner_result(struct scanner *scanner, int rc, const struct scan_reply *reply,
                   struct error *error)
{
    if (rc < 0)
        return error_set(error, rc, "the scanner does not answer: %s", strerror(-rc));
    atomic_store(&scanner->files, reply->files);
    if (reply->rc < 0)
        error_set(error, reply->rc, "%s", *reply->error ? reply->error : why(reply->rc));
    return reply->rc;
}

/* Returns the reply's own result; @p fd: the descriptor that came with it, closed if it is not
 * wanted. A domain's XML may make an invalid request, for which the scanner would close the
 * channel. */
static int scanner_ask(struct scanner *scanner, const struct scan_request *request,
                       struct scan_reply *reply, int *fd, struct error *error)
{
    int came = -1;
    int rc = 0;

    if (fd)
        *fd = -1;
    scan_reply_begin(reply, request->op);
    if (!scan_request_valid(request, scan_request_size(request->op)))
        return error_set(error, -EINVAL,
                         "the scanner is not asked: a name or a number is out of range");
    if (scanner->table)
        scan_table_answer(scanner->table, request, reply, &came);
    else
        rc = scanner_exchange(scanner, request, reply, &came);
    if (fd)
        *fd = came;
    else if (came >= 0)
        close(came);
    return scanner_result(scanner, rc, reply, error);
}

/* --- liveness --------------------------------------------------------------------------------- */

/* A thread that waits for a lane holds the mutex, and waits for the scanner as this one would. */
static int alive_by_lane(struct scanner *scanner, uint64_t now_ns, bool stopped,
                         uint64_t patience_ns)
{
    unsigned long long since_ns = atomic_load(&scanner->lane_ns);

    if (stopped && since_ns) /* unless it has just been answered */
        atomic_compare_exchange_strong(&scanner->lane_ns, &since_ns, now_ns);
    return !stopped && since_ns && now_ns > since_ns + patience_ns ? -ETIMEDOUT : 0;
}

int scanner_alive(struct scanner *scanner, uint64_t patience_ns)
{
    struct scan_request request;
    uint64_t now_ns = clock_ns();
    uint64_t turn_ns = atomic_exchange(&scanner->turn_ns, now_ns);
    bool stopped = turn_ns && now_ns > turn_ns + SCANNER_STOPPED_NS;
    int rc;

    if (scanner->table)
        return 0;
    if (pthread_mutex_trylock(&scanner->mutex) != 0)
        return alive_by_lane(scanner, now_ns, stopped, patience_ns);
    if (stopped && scanner->asked_ns)
        scanner->asked_ns = now_ns;
    rc = scanner_receive(scanner, N_SCAN_OPS, NULL, MSG_DONTWAIT);
    if (rc == -EAGAIN && scanner->asked_ns != 0) {
        rc = now_ns > scanner->asked_ns + patience_ns ? -ETIMEDOUT : 0;
    } else if (rc == -EAGAIN && now_ns < scanner->ask_ns) {
        rc = 0;
    } else if (rc == -EAGAIN) {
        scanner_begin(&request, SCAN_ALIVE, 0);
        rc = scan_socket_send(scanner->channel_fd, &request, scan_request_size(request.op), -1);
        scanner->asked_ns = now_ns;
        scanner->ask_ns = now_ns + patience_ns / ASKS_IN_PATIENCE;
    }
    pthread_mutex_unlock(&scanner->mutex);
    return rc;
}

int scanner_fd(const struct scanner *scanner)
{
    return scanner->channel_fd;
}

void scanner_leave(struct scanner *scanner)
{
    if (scanner->channel_fd >= 0)
        shutdown(scanner->channel_fd, SHUT_RDWR);
}

double scanner_cpu_s(const struct scanner *scanner)
{
    return scanner->table ? 0 : clock_s(scanner->cpu_clock);
}

uint32_t scanner_files(const struct scanner *scanner)
{
    return atomic_load(&scanner->files);
}

bool scanner_is_gone(int rc)
{
    return rc == -EPIPE || rc == -ESHUTDOWN;
}

/* --- questions -------------------------------------------------------------------------------- */

ssize_t scanner_list(struct scanner *scanner, pid_t **pids)
{
    struct scan_request request;
    struct scan_reply reply;
    int rc;

    scanner_begin(&request, SCAN_LIST, 0);
    rc = scanner_ask(scanner, &request, &reply, NULL, NULL);
    if (rc < 0)
        return rc;
    *pids = calloc(reply.list.n + 1, sizeof(**pids));
    if (!*pids)
        return -ENOMEM;
    for (uint32_t i = 0; i < reply.list.n; i++)
        (*pids)[i] = reply.list.pids[i];
    return reply.list.n;
}

static int put_domain(struct scan_domain *out, const struct domain_name *domain)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->pid_dir, sizeof(out->pid_dir), "%s", domain->pid_dir);
    snprintf(out->name, sizeof(out->name), "%s", domain->name);
    snprintf(out->uuid, sizeof(out->uuid), "%s", domain->uuid);
    return strstr(out->pid_dir, "..") || strchr(out->name, '/') ? -EINVAL : 0;
}

pid_t scanner_find(const struct domain_name *domain, void *context)
{
    struct scan_request request;
    struct scan_reply reply;

    scanner_begin(&request, SCAN_FIND, 0);

    int rc = put_domain(&request.find, domain);

    if (rc == 0)
        rc = scanner_ask(context, &request, &reply, NULL, NULL);
    if (rc == -EINVAL) /* no process has such a name */
        return 0;
    return rc < 0 ? DOMAIN_PID_UNKNOWN : reply.pid;
}

int scanner_start_ticks(struct scanner *scanner, pid_t pid, uint64_t *start_ticks)
{
    struct scan_request request;
    struct scan_reply reply;
    int rc;

    scanner_begin(&request, SCAN_START, 0);
    request.pid = pid;
    rc = scanner_ask(scanner, &request, &reply, NULL, NULL);
    *start_ticks = reply.start_ticks;
    return rc;
}

static int open_guest(struct scanner *scanner, const struct scan_request *request,
                      struct scan_guest_ref *out, struct error *error)
{
    struct scan_reply reply;
    int fd;

    int rc = scanner_ask(scanner, request, &reply, &fd, error);

    if (rc < 0) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *out = (struct scan_guest_ref){.guest = reply.opened.guest,
                                   .pid = reply.opened.pid,
                                   .pidfd = fd,
                                   .start_ticks = reply.opened.start_ticks};
    memcpy(out->name, reply.opened.name, sizeof(out->name));
    memcpy(out->uuid, reply.opened.uuid, sizeof(out->uuid));
    out->owner = reply.opened.owner;
    return 0;
}

int scanner_open_domain(struct scanner *scanner, const char *pid_dir,
                        const struct domain_info *info, const struct ram_config *ram,
                        struct scan_guest_ref *out, struct error *error)
{
    const struct domain_name name = {.pid_dir = pid_dir, .name = info->name, .uuid = info->uuid};
    struct scan_request request = {.op = SCAN_OPEN, .open.migrating = info->migrating};
    int rc = put_domain(&request.open.domain, &name);

    if (rc == 0)
        rc = scan_ram_put(&request.open.ram, ram);
    if (rc < 0)
        return error_set(error, rc, "domain %s: %s", info->name, strerror(-rc));
    rc = open_guest(scanner, &request, out, error);
    if (rc < 0)
        return rc;
    out->from_libvirt = true;
    memcpy(out->name, info->name, sizeof(out->name));
    memcpy(out->uuid, info->uuid, sizeof(out->uuid));
    return 0;
}

int scanner_open_process(struct scanner *scanner, pid_t pid, struct scan_guest_ref *out,
                         struct error *error)
{
    struct scan_request request = {.op = SCAN_OPEN, .open.pid = pid};

    return open_guest(scanner, &request, out, error);
}

int scanner_adopt(struct scanner *scanner, struct guest *guest, struct scan_guest_ref *out)
{
    *out = (struct scan_guest_ref){.pid = guest->process.pid,
                                   .pidfd = dup(guest->process.pidfd),
                                   .start_ticks = guest->process.start_ticks,
                                   .owner = guest->owner,
                                   .from_libvirt = guest->from_libvirt};
    memcpy(out->name, guest->name, sizeof(out->name));
    memcpy(out->uuid, guest->uuid, sizeof(out->uuid));
    out->guest = scan_table_add(scanner->table, guest);
    if (out->guest)
        return 0;
    if (out->pidfd >= 0)
        close(out->pidfd);
    return -ENOMEM;
}

bool scanner_has_ram(struct scanner *scanner, uint64_t guest, const struct ram_config *xml)
{
    struct scan_request request = {.op = SCAN_HAS_RAM, .guest = guest};
    struct scan_reply reply;

    if (scan_ram_put(&request.has_ram, xml) < 0)
        return false;

    int rc = scanner_ask(scanner, &request, &reply, NULL, NULL);

    return rc == 0 ? reply.has_ram : scanner_is_gone(rc);
}

int scanner_jobs(struct scanner *scanner, uint64_t guest, unsigned *jobs, double *cpu_s)
{
    struct scan_request request;
    struct scan_reply reply;

    scanner_begin(&request, SCAN_JOBS, guest);

    int rc = scanner_ask(scanner, &request, &reply, NULL, NULL);

    *jobs = reply.jobs.jobs;
    /* otherwise it is included in this thread's time */
    *cpu_s = scanner->table ? 0 : reply.jobs.cpu_s;
    return rc;
}

int scanner_writes(struct scanner *scanner, uint64_t guest, const struct scan_writes *params,
                   struct write_curve *curve, double *cpu_s, struct error *error)
{
    struct scan_request request;
    struct scan_reply reply;
    int rc;

    scanner_begin(&request, SCAN_WRITES, guest);
    request.writes = *params;
    rc = scanner_ask(scanner, &request, &reply, NULL, error);
    *cpu_s = reply.written.cpu_s;
    if (rc == 0)
        scan_curve_take(&reply.written, curve);
    return rc;
}

void scanner_close(struct scanner *scanner, struct scan_guest_ref *ref)
{
    struct scan_request request;
    struct scan_reply reply;

    if (ref->guest == 0)
        return;
    scanner_begin(&request, SCAN_CLOSE, ref->guest);
    scanner_ask(scanner, &request, &reply, NULL, NULL);
    if (ref->pidfd >= 0)
        close(ref->pidfd);
    *ref = (struct scan_guest_ref){.pidfd = -1};
}

int scanner_connect(const struct agent_endpoint *endpoint, void *context, struct error *error)
{
    struct scan_request request;
    struct scan_reply reply;
    char name[300];
    int fd = -1;

    scanner_begin(&request, SCAN_CONNECT, 0);
    request.connect.vsock_cid = endpoint->vsock_cid;
    memcpy(request.connect.path, endpoint->path, sizeof(request.connect.path));
    memcpy(request.connect.uuid, endpoint->uuid, sizeof(request.connect.uuid));

    if (!scan_request_valid(&request, scan_request_size(request.op)))
        return error_set(error, -EINVAL,
                         "%s: not an agent's: a path must be absolute, and not the monitor's",
                         agent_endpoint_name(endpoint, name, sizeof(name)));

    int rc = scanner_ask(context, &request, &reply, &fd, error);

    if (rc < 0 && fd >= 0)
        close(fd);
    if (rc < 0)
        return rc;
    return fd >= 0 ? fd : error_set(error, -EBADMSG, "the scanner has no socket");
}
