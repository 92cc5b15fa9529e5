// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/domain_events.h"

#include "guest/domain/libvirt.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEPALIVE_S 5
#define KEEPALIVE_COUNT 3
#define N_EVENTS 7

struct listener {
    domain_event_handler handler;
    void *context;
};

struct domain_subscription {
    virConnectPtr conn;
    int callback[N_EVENTS]; /* -1: not registered */
};

static void hand_on(void *opaque, struct domain_event *event, virDomainPtr domain)
{
    const struct listener *listener = opaque;

    if (domain && virDomainGetUUIDString(domain, event->uuid) < 0)
        return;
    if (domain)
        snprintf(event->name, sizeof(event->name), "%s", virDomainGetName(domain));
    listener->handler(event, listener->context);
}

static void tell_change(void *opaque, enum domain_change change, virDomainPtr domain,
                        uint64_t bytes)
{
    struct domain_event event = {.change = change, .bytes = bytes};

    hand_on(opaque, &event, domain);
}

static enum domain_move how_moved(int event, int detail)
{
    if (event == VIR_DOMAIN_EVENT_STOPPED)
        return detail == VIR_DOMAIN_EVENT_STOPPED_MIGRATED ? DOMAIN_MIGRATED_OUT
               : detail == VIR_DOMAIN_EVENT_STOPPED_SAVED  ? DOMAIN_SAVED
                                                           : DOMAIN_STOPPED;
    if (event == VIR_DOMAIN_EVENT_STARTED && detail == VIR_DOMAIN_EVENT_STARTED_MIGRATED)
        return DOMAIN_ARRIVES;
    if (event == VIR_DOMAIN_EVENT_STARTED && detail == VIR_DOMAIN_EVENT_STARTED_RESTORED)
        return DOMAIN_RESTORED;
    return event == VIR_DOMAIN_EVENT_RESUMED || event == VIR_DOMAIN_EVENT_SUSPENDED
               ? DOMAIN_RUNS_OR_WAITS
               : DOMAIN_STAYS;
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int event, int detail,
                        void *opaque)
{
    /* the handler asks for the present state, because another event may have come since */
    struct domain_event change = {.change = DOMAIN_CHANGE_STATE, .move = how_moved(event, detail)};

    (void)conn;
    hand_on(opaque, &change, domain);
    return 0;
}

static void on_reboot(virConnectPtr conn, virDomainPtr domain, void *opaque)
{
    (void)conn;
    tell_change(opaque, DOMAIN_CHANGE_REBOOT, domain, 0);
}

static void on_balloon(virConnectPtr conn, virDomainPtr domain, unsigned long long actual_kib,
                       void *opaque)
{
    (void)conn;
    tell_change(opaque, DOMAIN_CHANGE_BALLOON, domain, actual_kib * 1024);
}

static void on_device(virConnectPtr conn, virDomainPtr domain, const char *alias, void *opaque)
{
    (void)conn;
    (void)alias;
    tell_change(opaque, DOMAIN_CHANGE_DEVICES, domain, 0);
}

static void on_iteration(virConnectPtr conn, virDomainPtr domain, int iteration, void *opaque)
{
    (void)conn;
    (void)iteration;
    tell_change(opaque, DOMAIN_CHANGE_JOB, domain, 0);
}

static void on_job_completed(virConnectPtr conn, virDomainPtr domain, virTypedParameterPtr params,
                             int n, void *opaque)
{
    int operation = VIR_DOMAIN_JOB_OPERATION_UNKNOWN;

    (void)conn;
    virTypedParamsGetInt(params, n, VIR_DOMAIN_JOB_OPERATION, &operation);
    if (libvirt_reads_ram(operation))
        tell_change(opaque, DOMAIN_CHANGE_JOB, domain, 0);
}

static void on_close(virConnectPtr conn, int reason, void *opaque)
{
    (void)conn;
    (void)reason;
    tell_change(opaque, DOMAIN_CHANGE_CLOSED, NULL, 0);
}

int domain_events_init(struct error *error)
{
    /* otherwise an embedded driver logs to stderr */
    setenv("LIBVIRT_LOG_OUTPUTS", "4:file:/dev/null", 0);
    if (virEventRegisterDefaultImpl() < 0)
        return error_set(error, -EIO, "libvirt's event loop: %s", virGetLastErrorMessage());
    return 0;
}

int domain_events_run_once(void)
{
    return virEventRunDefaultImpl() < 0 ? -EIO : 0;
}

static int register_all(struct domain_subscription *subscription, const struct listener *listener)
{
    static const struct {
        int id;
        virConnectDomainEventGenericCallback callback;
    } wanted[N_EVENTS] = {
        {VIR_DOMAIN_EVENT_ID_LIFECYCLE, VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle)},
        {VIR_DOMAIN_EVENT_ID_REBOOT, VIR_DOMAIN_EVENT_CALLBACK(on_reboot)},
        {VIR_DOMAIN_EVENT_ID_BALLOON_CHANGE, VIR_DOMAIN_EVENT_CALLBACK(on_balloon)},
        {VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, VIR_DOMAIN_EVENT_CALLBACK(on_device)},
        {VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, VIR_DOMAIN_EVENT_CALLBACK(on_device)},
        {VIR_DOMAIN_EVENT_ID_MIGRATION_ITERATION, VIR_DOMAIN_EVENT_CALLBACK(on_iteration)},
        {VIR_DOMAIN_EVENT_ID_JOB_COMPLETED, VIR_DOMAIN_EVENT_CALLBACK(on_job_completed)},
    };

    for (size_t i = 0; i < N_EVENTS; i++) {
        struct listener *own = malloc(sizeof(*own));

        if (!own)
            return -ENOMEM;
        *own = *listener;
        subscription->callback[i] = virConnectDomainEventRegisterAny(
            subscription->conn, NULL, wanted[i].id, wanted[i].callback, own, free);
        if (subscription->callback[i] < 0) {
            free(own);
            return -EIO;
        }
    }
    return 0;
}

static int register_close(virConnectPtr conn, const struct listener *listener)
{
    struct listener *own = malloc(sizeof(*own));

    if (!own)
        return -ENOMEM;
    *own = *listener;
    if (virConnectRegisterCloseCallback(conn, on_close, own, free) == 0)
        return 0;
    free(own);
    return -EIO;
}

void domain_keep_alive(struct domain_connection *connection)
{
    /* embedded drivers have no keep-alive */
    virConnectSetKeepAlive(connection->conn, KEEPALIVE_S, KEEPALIVE_COUNT);
}

int domain_events_subscribe(struct domain_connection *connection, domain_event_handler handler,
                            void *context, struct domain_subscription **out, struct error *error)
{
    struct domain_subscription *subscription = calloc(1, sizeof(*subscription));
    const struct listener listener = {.handler = handler, .context = context};

    if (!subscription)
        return error_set(error, -ENOMEM, "%s: out of memory", connection->uri);
    subscription->conn = connection->conn;
    for (size_t i = 0; i < N_EVENTS; i++)
        subscription->callback[i] = -1;

    int rc = register_all(subscription, &listener);

    if (rc == 0)
        rc = register_close(connection->conn, &listener);
    if (rc < 0) {
        error_set(error, rc, "%s: events: %s", connection->uri, virGetLastErrorMessage());
        domain_events_unsubscribe(subscription);
        return rc;
    }
    domain_keep_alive(connection);
    *out = subscription;
    return 0;
}

void domain_events_unsubscribe(struct domain_subscription *subscription)
{
    if (!subscription)
        return;
    for (size_t i = 0; i < N_EVENTS; i++)
        if (subscription->callback[i] >= 0)
            virConnectDomainEventDeregisterAny(subscription->conn, subscription->callback[i]);
    virConnectUnregisterCloseCallback(subscription->conn, on_close);
    free(subscription);
}
