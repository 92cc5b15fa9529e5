// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file libvirt_load.c  Loads libvirt's functions when the first of them is called.
 *
 * libvirt brings some fifty libraries with it. Loading them takes 16 of the 19 ms of CPU time in
 * which vmwss starts (Debian 12; as much as a panel of 2,000 pages costs). A user of --pid needs
 * none of these libraries: neither their time nor their memory, nor an installed libvirt.
 *
 * Each function is defined here under its own name with the type that libvirt's header gives it,
 * and passes its arguments on. A new one needs a line below. Without the library they return 0 or
 * NULL, which is a failure for the functions that come first, virConnectOpen() and
 * virConnectOpenReadOnly().
 */
#include <dlfcn.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <stdio.h>

static void *library;
static char why_not[256];

static void load_library(void)
{
    library = dlopen("libvirt.so.0", RTLD_LAZY | RTLD_LOCAL);

    const char *words = library ? NULL : dlerror();

    if (words)
        snprintf(why_not, sizeof(why_not), "%s", words);
}

static void *find_symbol(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_library);
    return library ? dlsym(library, name) : NULL;
}

#define PASS_ON(type, name, parameters, arguments)     \
    type name parameters                               \
    {                                                  \
        __typeof__(&(name)) real = find_symbol(#name); \
                                                       \
        return real ? real arguments : (type)0;        \
    }

PASS_ON(int, virConnectClose, (virConnectPtr conn), (conn))
PASS_ON(int, virConnectDomainEventDeregisterAny, (virConnectPtr conn, int callbackID),
        (conn, callbackID))
PASS_ON(int, virConnectDomainEventRegisterAny,
        (virConnectPtr conn, virDomainPtr dom, int eventID, virConnectDomainEventGenericCallback cb,
         void *opaque, virFreeCallback freecb),
        (conn, dom, eventID, cb, opaque, freecb))
PASS_ON(int, virConnectGetAllDomainStats,
        (virConnectPtr conn, unsigned int stats, virDomainStatsRecordPtr **retStats,
         unsigned int flags),
        (conn, stats, retStats, flags))
PASS_ON(const char *, virConnectGetType, (virConnectPtr conn), (conn))
PASS_ON(char *, virConnectGetURI, (virConnectPtr conn), (conn))
PASS_ON(int, virConnectIsAlive, (virConnectPtr conn), (conn))
PASS_ON(int, virConnectListAllDomains,
        (virConnectPtr conn, virDomainPtr **domains, unsigned int flags), (conn, domains, flags))
PASS_ON(virConnectPtr, virConnectOpen, (const char *name), (name))
PASS_ON(virConnectPtr, virConnectOpenReadOnly, (const char *name), (name))
PASS_ON(int, virConnectRegisterCloseCallback,
        (virConnectPtr conn, virConnectCloseFunc cb, void *opaque, virFreeCallback freecb),
        (conn, cb, opaque, freecb))
PASS_ON(int, virConnectSetKeepAlive, (virConnectPtr conn, int interval, unsigned int count),
        (conn, interval, count))
PASS_ON(int, virConnectUnregisterCloseCallback, (virConnectPtr conn, virConnectCloseFunc cb),
        (conn, cb))
PASS_ON(int, virDomainFree, (virDomainPtr domain), (domain))
PASS_ON(int, virDomainGetControlInfo,
        (virDomainPtr domain, virDomainControlInfoPtr info, unsigned int flags),
        (domain, info, flags))
PASS_ON(unsigned int, virDomainGetID, (virDomainPtr domain), (domain))
PASS_ON(int, virDomainGetJobStats,
        (virDomainPtr domain, int *type, virTypedParameterPtr *params, int *nparams,
         unsigned int flags),
        (domain, type, params, nparams, flags))
PASS_ON(char *, virDomainGetMetadata,
        (virDomainPtr domain, int type, const char *uri, unsigned int flags),
        (domain, type, uri, flags))
PASS_ON(const char *, virDomainGetName, (virDomainPtr domain), (domain))
PASS_ON(int, virDomainGetState, (virDomainPtr domain, int *state, int *reason, unsigned int flags),
        (domain, state, reason, flags))
PASS_ON(int, virDomainGetUUIDString, (virDomainPtr domain, char *buf), (domain, buf))
PASS_ON(int, virDomainIsActive, (virDomainPtr domain), (domain))
PASS_ON(char *, virDomainGetXMLDesc, (virDomainPtr domain, unsigned int flags), (domain, flags))
PASS_ON(virDomainPtr, virDomainLookupByID, (virConnectPtr conn, int id), (conn, id))
PASS_ON(virDomainPtr, virDomainLookupByName, (virConnectPtr conn, const char *name), (conn, name))
PASS_ON(int, virDomainListGetStats,
        (virDomainPtr * doms, unsigned int stats, virDomainStatsRecordPtr **retStats,
         unsigned int flags),
        (doms, stats, retStats, flags))
PASS_ON(virDomainPtr, virDomainLookupByUUIDString, (virConnectPtr conn, const char *uuid),
        (conn, uuid))
PASS_ON(int, virDomainMigrateGetMaxDowntime,
        (virDomainPtr domain, unsigned long long *downtime, unsigned int flags),
        (domain, downtime, flags))
PASS_ON(int, virDomainResume, (virDomainPtr domain), (domain))
PASS_ON(int, virDomainSetMemoryFlags,
        (virDomainPtr domain, unsigned long memory, unsigned int flags), (domain, memory, flags))
PASS_ON(int, virDomainSetMemoryStatsPeriod, (virDomainPtr domain, int period, unsigned int flags),
        (domain, period, flags))
PASS_ON(int, virDomainSetMetadata,
        (virDomainPtr domain, int type, const char *metadata, const char *key, const char *uri,
         unsigned int flags),
        (domain, type, metadata, key, uri, flags))
PASS_ON(int, virDomainSuspend, (virDomainPtr domain), (domain))
PASS_ON(int, virDomainUpdateDeviceFlags, (virDomainPtr domain, const char *xml, unsigned int flags),
        (domain, xml, flags))
PASS_ON(int, virEventRegisterDefaultImpl, (void), ())
PASS_ON(int, virEventRunDefaultImpl, (void), ())
PASS_ON(int, virGetLastErrorCode, (void), ())

const char *virGetLastErrorMessage(void)
{
    __typeof__(&virGetLastErrorMessage) real = find_symbol(__func__);

    return real ? real() : why_not;
}

void virDomainStatsRecordListFree(virDomainStatsRecordPtr *stats)
{
    __typeof__(&virDomainStatsRecordListFree) real = find_symbol(__func__);

    if (real)
        real(stats);
}

void virSetErrorFunc(void *userData, virErrorFunc handler)
{
    __typeof__(&virSetErrorFunc) real = find_symbol(__func__);

    if (real)
        real(userData, handler);
}
PASS_ON(int, virTypedParamsGetInt,
        (virTypedParameterPtr params, int nparams, const char *name, int *value),
        (params, nparams, name, value))
PASS_ON(void, virTypedParamsFree, (virTypedParameterPtr params, int nparams), (params, nparams))

/* Its library is one of its own, which uses the other. */
int virDomainQemuMonitorCommand(virDomainPtr domain, const char *cmd, char **result,
                                unsigned int flags)
{
    static void *qemu;
    __typeof__(&virDomainQemuMonitorCommand) real;

    if (!qemu)
        qemu = dlopen("libvirt-qemu.so.0", RTLD_LAZY | RTLD_LOCAL);
    real = qemu ? dlsym(qemu, __func__) : NULL;
    return real ? real(domain, cmd, result, flags) : -1;
}
