// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/suspend.h"

#include "guest/domain/libvirt.h"
#include "guest/domain/qmp.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define CONNECT_MS 1000
#define QUERY_MS 2000

/* Requests to a slow disk may be under way; QEMU waits for them. */
#define STOP_MS 30000

enum run_state {
    STATE_RUNS,
    STATE_OURS, /* suspended by our request */
    STATE_ELSE,
};

static int not_running(const struct suspender *suspender, struct error *error)
{
    return error_set(error, -ENODEV,
                     "process %d: its guest does not run, so it is not suspended for measuring",
                     (int)suspender->where.pid);
}

/* --- QMP -------------------------------------------------------------------------------------- */

static int qmp_state(struct suspender *suspender, enum run_state *state, struct error *error)
{
    json_t *result = NULL;
    int rc = qmp_execute(suspender->qmp, "query-status", QUERY_MS, &result, error);

    if (rc < 0)
        return rc;

    const char *status = json_string_value(json_object_get(result, "status"));

    *state = STATE_ELSE;
    if (status && strcmp(status, "running") == 0)
        *state = STATE_RUNS;
    else if (status && strcmp(status, "paused") == 0)
        *state = STATE_OURS;
    json_decref(result);
    return 0;
}

static void qmp_drop(struct suspender *suspender)
{
    qmp_close(suspender->qmp);
    suspender->qmp = NULL;
}

/* Connects if necessary, and queries the state. */
static int qmp_ask(struct suspender *suspender, enum run_state *state, struct error *error)
{
    int rc = 0;

    if (!suspender->qmp)
        rc = qmp_open(&suspender->root, &suspender->process, CONNECT_MS, &suspender->qmp, error);
    if (rc == 0)
        rc = qmp_state(suspender, state, error);
    if (rc < 0)
        qmp_drop(suspender);
    return rc;
}

/* Leaves the message as it is. */
static int not_sent(struct error *error)
{
    if (error)
        error->code = -ENODEV;
    return -ENODEV;
}

static int qmp_suspend(struct suspender *suspender, struct error *error)
{
    enum run_state state = STATE_ELSE;
    int rc = qmp_ask(suspender, &state, error);

    if (rc < 0) /* no stop command was sent */
        return not_sent(error);
    if (state != STATE_RUNS) {
        qmp_drop(suspender);
        return not_running(suspender, error);
    }
    rc = qmp_execute(suspender->qmp, "stop", STOP_MS, NULL, error);
    if (rc < 0)
        qmp_drop(suspender);
    return rc;
}

/* Closes the connection at once: QEMU serves one client, and others may be waiting. */
static int qmp_resume(struct suspender *suspender, struct error *error)
{
    enum run_state state = STATE_ELSE;
    int rc = qmp_ask(suspender, &state, error);

    if (rc == 0 && state == STATE_OURS)
        rc = qmp_execute(suspender->qmp, "cont", QUERY_MS, NULL, error);
    qmp_drop(suspender);
    return rc;
}

/* --- libvirt ---------------------------------------------------------------------------------- */

static virDomainPtr look_up(struct suspender *suspender, struct error *error)
{
    virDomainPtr domain = NULL;

    if (!suspender->connection)
        return NULL;
    domain = virDomainLookupByUUIDString(suspender->connection->conn, suspender->where.uuid);
    if (!domain)
        libvirt_failed(suspender->connection, suspender->where.uuid, error);
    return domain;
}

static int libvirt_state(const struct suspender *suspender, virDomainPtr domain,
                         enum run_state *state, struct error *error)
{
    int now;
    int reason;

    if (virDomainGetState(domain, &now, &reason, 0) < 0)
        return libvirt_failed(suspender->connection, virDomainGetName(domain), error);
    *state = STATE_ELSE;
    if (now == VIR_DOMAIN_RUNNING || now == VIR_DOMAIN_BLOCKED)
        *state = STATE_RUNS;
    else if (now == VIR_DOMAIN_PAUSED && reason == VIR_DOMAIN_PAUSED_USER)
        *state = STATE_OURS;
    return 0;
}

/* libvirtd may have been restarted. */
static int reconnect(struct suspender *suspender, struct error *error)
{
    if (suspender->connection && virConnectIsAlive(suspender->connection->conn) == 1)
        return 0;
    domain_disconnect(suspender->connection);
    suspender->connection = NULL;
    return domain_connect_writable(suspender->where.uri, &suspender->connection, error);
}

static int libvirt_ask(struct suspender *suspender, enum run_state *state, struct error *error)
{
    int rc = reconnect(suspender, error);

    if (rc < 0)
        return rc;

    cleanup_domain virDomainPtr domain = look_up(suspender, error);

    return domain ? libvirt_state(suspender, domain, state, error) : -EIO;
}

static int libvirt_suspend(struct suspender *suspender, struct error *error)
{
    cleanup_domain virDomainPtr domain = look_up(suspender, error);
    enum run_state state = STATE_ELSE;

    if (!domain || libvirt_state(suspender, domain, &state, error) < 0)
        return not_sent(error);
    if (state != STATE_RUNS)
        return not_running(suspender, error);
    if (virDomainSuspend(domain) < 0)
        return libvirt_failed(suspender->connection, virDomainGetName(domain), error);
    return 0;
}

static int libvirt_resume(struct suspender *suspender, struct error *error)
{
    int rc = reconnect(suspender, error);

    if (rc < 0)
        return rc;

    cleanup_domain virDomainPtr domain = look_up(suspender, error);
    enum run_state state = STATE_ELSE;

    if (!domain)
        return -EIO;
    rc = libvirt_state(suspender, domain, &state, error);
    if (rc == 0 && state == STATE_OURS && virDomainResume(domain) < 0)
        rc = libvirt_failed(suspender->connection, virDomainGetName(domain), error);
    return rc;
}

/* --- libvirt or QMP --------------------------------------------------------------------------- */

static int open_process(struct suspender *suspender, struct error *error)
{
    int rc = qemu_process_open(&suspender->root, suspender->where.pid, &suspender->process, error);

    if (rc == 0 && suspender->process.start_ticks != suspender->where.start_ticks)
        return error_set(error, -ESRCH, "process %d: has ended, another one has its pid now",
                         (int)suspender->where.pid);
    return rc;
}

int suspender_prove(struct suspender *suspender, struct error *error)
{
    enum run_state state = STATE_ELSE;
    int rc = suspender->where.by_libvirt ? libvirt_ask(suspender, &state, error)
                                         : qmp_ask(suspender, &state, error);

    qmp_drop(suspender);
    return rc == 0 && state != STATE_RUNS ? not_running(suspender, error) : rc;
}

int suspender_open(struct suspender *suspender, const struct suspend_where *where,
                   struct error *error)
{
    memset(suspender, 0, sizeof(*suspender));
    suspender->where = *where;
    suspender->process.pidfd = -1;

    int rc = fsroot_open_host(&suspender->root, error);

    if (rc == 0)
        rc = open_process(suspender, error);
    if (rc < 0)
        suspender_close(suspender);
    return rc;
}

void suspender_close(struct suspender *suspender)
{
    qmp_drop(suspender);
    domain_disconnect(suspender->connection);
    suspender->connection = NULL;
    qemu_process_close(&suspender->process);
    fsroot_close(&suspender->root);
}

int suspender_suspend(struct suspender *suspender, struct error *error)
{
    return suspender->where.by_libvirt ? libvirt_suspend(suspender, error)
                                       : qmp_suspend(suspender, error);
}

int suspender_resume(struct suspender *suspender, struct error *error)
{
    int rc = suspender->where.by_libvirt ? libvirt_resume(suspender, error)
                                         : qmp_resume(suspender, error);

    if (rc < 0 && qemu_process_verify(&suspender->root, &suspender->process, NULL) == -ESRCH)
        return error_set(error, -ESRCH, "process %d: has ended", (int)suspender->where.pid);
    return rc;
}
