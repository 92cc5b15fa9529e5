// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file libvirt.c  Connections and domains; see domain.h and libvirt.h. */
#include "guest/domain/libvirt.h"

#include "base/cleanup.h"
#include "base/debug.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <libxml/uri.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char embed_prefix[] = "qemu:///embed";

const char *domain_state_name(enum domain_state state)
{
    static const char *const names[] = {
        [DOMAIN_RUNNING] = "running", [DOMAIN_PAUSED] = "paused", [DOMAIN_SHUT_OFF] = "shut off",
        [DOMAIN_CRASHED] = "crashed", [DOMAIN_OTHER] = "other",
    };

    return names[state];
}

int libvirt_failed(const struct domain_connection *connection, const char *name,
                   struct error *error)
{
    int code = virGetLastErrorCode() == VIR_ERR_NO_DOMAIN ? -ENOENT : -EIO;

    error_set(error, code, "%s%s: %s", name ? "domain " : "", name ? name : connection->uri,
              virGetLastErrorMessage());
    if (code == -EIO && virConnectIsAlive(connection->conn) != 1) /* the call below clears the last
                                                                   * error */
        code = -ENOTCONN;
    if (error)
        error->code = code;
    return code;
}

/* By default libvirt writes every error to stderr; ours go into struct error. */
static void stay_silent(void *context, virErrorPtr error)
{
    (void)context;
    (void)error;
}

static void initialise(void)
{
    virSetErrorFunc(NULL, stay_silent);
}

/* Threads of an embedded driver may still run when the process exits: qemuProcessReconnect()
 * crashed in libnuma, whose destructor had freed what it read. So no destructors run.
 * LeakSanitizer, which needs to look last, is worth that risk. */
static void leave(int status, void *context)
{
    (void)context;
#ifndef __SANITIZE_ADDRESS__
    fflush(NULL);
    _exit(status);
#else
    (void)status;
#endif
}

/* An embedded driver logs to stderr, start-up banner included, unless the environment sets
 * otherwise; and it refuses to open without an event loop implementation. The loop need not run. */
static void initialise_embed(void)
{
    setenv("LIBVIRT_LOG_OUTPUTS", "4:file:/dev/null", 0);
    virEventRegisterDefaultImpl();
    on_exit(leave, NULL);
}

static virConnectPtr open_uri(const char *uri, bool writable)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static pthread_once_t once_embed = PTHREAD_ONCE_INIT;

    pthread_once(&once, initialise);
    if (strncmp(uri, embed_prefix, sizeof(embed_prefix) - 1) != 0)
        return writable ? virConnectOpen(uri) : virConnectOpenReadOnly(uri);
    pthread_once(&once_embed, initialise_embed);
    return virConnectOpen(uri);
}

/* The process that holds the lock of an embedded driver's root: the number in driver.pid, 0 if
 * unknown. */
static int embed_holder(const char *uri)
{
    cleanup_root struct fsroot root = {.dirfd = -1};
    char dir[512];
    uint64_t pid = 0;

    if (!libvirt_pid_dir(uri, dir, sizeof(dir)) || fsroot_open(&root, "/") < 0)
        return 0;
    if (fsroot_read_u64(&root, &pid, "%s/driver.pid", dir) < 0 || pid > INT_MAX)
        return 0;
    return (int)pid;
}

static int not_connected(const char *uri, struct error *error)
{
    const char *words = virGetLastErrorMessage();

    if (strstr(words, "driver.pid"))
        return error_set(
            error, -ECONNREFUSED,
            "%s: an embedded driver can be open in one process at a time, and process %d has "
            "it open; end that one, or measure with --pid",
            uri, embed_holder(uri));
    return error_set(error, -ECONNREFUSED,
                     "%s: %s (without libvirt: list --processes, measure --pid)", uri, words);
}

/* A domain of another machine has no process here. */
static bool is_remote(const char *uri)
{
    xmlURIPtr u = xmlParseURI(uri);
    bool remote = u && u->server && u->server[0] && strcmp(u->server, "localhost") != 0;

    xmlFreeURI(u);
    return remote;
}

/* Notes the canonical URI (the given one may be an alias) and its consequences. */
static int describe_connection(struct domain_connection *connection, const char *uri,
                               struct error *error)
{
    cleanup_free char *canonical = virConnectGetURI(connection->conn);
    const char *type = virConnectGetType(connection->conn);

    snprintf(connection->uri, sizeof(connection->uri), "%s", canonical ? canonical : uri);
    if (is_remote(connection->uri))
        return error_set(error, -EOPNOTSUPP,
                         "%s: its guests run on another machine; run vmwss there", uri);
    connection->qemu = type && strcmp(type, "QEMU") == 0;
    if (!libvirt_pid_dir(connection->uri, connection->pid_dir, sizeof(connection->pid_dir)))
        connection->pid_dir[0] = '\0';
    return 0;
}

bool domain_is_pods(const char *uri)
{
    return uri && strcmp(uri, DOMAIN_PODS) == 0;
}

const char *domain_default_uri(void)
{
    const char *uri = getenv("LIBVIRT_DEFAULT_URI");

    return uri && *uri ? uri : "qemu:///system";
}

/* An embedded driver without its directory has no guests; libvirt 12.9 would create the directory,
 * and leave it. */
static bool lacks_root(const char *uri)
{
    char dir[512];
    cleanup_root struct fsroot root = {.dirfd = -1};

    if (strncmp(uri, embed_prefix, sizeof(embed_prefix) - 1) != 0 ||
        !libvirt_pid_dir(uri, dir, sizeof(dir)) || fsroot_open(&root, "/") < 0)
        return false;
    dir[strlen(dir) - strlen("/run/qemu")] = '\0';
    return !fsroot_exists(&root, "%s", dir);
}

static int connect_to(const char *uri, bool writable, struct domain_connection **out,
                      struct error *error)
{
    struct domain_connection *connection;

    if (!uri)
        uri = domain_default_uri();
    if (domain_is_pods(uri))
        return error_set(error, -EOPNOTSUPP,
                         "%s: this needs one libvirt; that of a guest in a pod is at "
                         "qemu:///session?socket=/proc/PID/root/run/libvirt/virtqemud-sock, or "
                         "libvirt-sock (vmwss list -c pods shows PID)",
                         uri);
    if (lacks_root(uri))
        return error_set(error, -ECONNREFUSED,
                         "%s: no such directory (without libvirt: list --processes, measure --pid)",
                         uri);
    connection = calloc(1, sizeof(*connection));
    if (!connection)
        return error_set(error, -ENOMEM, "%s: out of memory", uri);
    connection->conn = open_uri(uri, writable);

    int rc = connection->conn ? describe_connection(connection, uri, error)
                              : not_connected(uri, error);

    if (rc < 0) {
        domain_disconnect(connection);
        return rc;
    }
    debug_log("libvirt: connected to %s%s; pid files in '%s'", connection->uri,
              writable ? ", to write" : "", connection->pid_dir);
    *out = connection;
    return 0;
}

int domain_connect(const char *uri, struct domain_connection **out, struct error *error)
{
    return connect_to(uri, false, out, error);
}

int domain_connect_writable(const char *uri, struct domain_connection **out, struct error *error)
{
    return connect_to(uri, true, out, error);
}

void domain_disconnect(struct domain_connection *connection)
{
    if (!connection)
        return;
    if (connection->conn)
        virConnectClose(connection->conn);
    free(connection);
}

/* Looks up a domain by id if @p name is a number, else returns NULL. */
static virDomainPtr lookup_id(virConnectPtr conn, const char *name)
{
    char *end;

    if (name[0] < '0' || name[0] > '9')
        return NULL;
    errno = 0;
    long id = strtol(name, &end, 10);

    return errno || *end || id > INT_MAX ? NULL : virDomainLookupByID(conn, (int)id);
}

virDomainPtr libvirt_lookup(const struct domain_connection *connection, const char *name,
                            struct error *error)
{
    virDomainPtr domain = lookup_id(connection->conn, name);

    if (!domain)
        domain = virDomainLookupByUUIDString(connection->conn, name);
    if (!domain)
        domain = virDomainLookupByName(connection->conn, name);
    if (domain)
        return domain;
    if (virGetLastErrorCode() == VIR_ERR_NO_DOMAIN)
        error_set(error, -ENOENT, "domain %s: %s has no such domain (vmwss list shows them)", name,
                  connection->uri);
    else
        libvirt_failed(connection, name, error);
    return NULL;
}

static enum domain_state state_of(int state)
{
    switch (state) {
    case VIR_DOMAIN_RUNNING:
    case VIR_DOMAIN_BLOCKED:
        return DOMAIN_RUNNING;
    case VIR_DOMAIN_PAUSED:
        return DOMAIN_PAUSED;
    case VIR_DOMAIN_SHUTOFF:
        return DOMAIN_SHUT_OFF;
    case VIR_DOMAIN_CRASHED:
        return DOMAIN_CRASHED;
    default:
        return DOMAIN_OTHER;
    }
}

bool libvirt_reads_ram(int operation)
{
    return operation != VIR_DOMAIN_JOB_OPERATION_BACKUP &&
           operation != VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN;
}

bool libvirt_has_job(virDomainPtr domain)
{
    virTypedParameterPtr params = NULL;
    int n = 0;
    int type = VIR_DOMAIN_JOB_NONE;
    int operation = VIR_DOMAIN_JOB_OPERATION_UNKNOWN;

    if (virDomainGetJobStats(domain, &type, &params, &n, 0) < 0)
        return false;
    virTypedParamsGetInt(params, n, VIR_DOMAIN_JOB_OPERATION, &operation);
    virTypedParamsFree(params, n);
    return (type == VIR_DOMAIN_JOB_BOUNDED || type == VIR_DOMAIN_JOB_UNBOUNDED) &&
           libvirt_reads_ram(operation);
}

bool libvirt_is_busy(virDomainPtr domain)
{
    virDomainControlInfo control;

    return (virDomainGetControlInfo(domain, &control, 0) == 0 &&
            control.state != VIR_DOMAIN_CONTROL_OK) ||
           libvirt_has_job(domain);
}

int libvirt_describe(const struct domain_connection *connection, virDomainPtr domain,
                     struct domain_info *info, struct error *error)
{
    const char *name = virDomainGetName(domain);
    int state;

    memset(info, 0, sizeof(*info));
    snprintf(info->name, sizeof(info->name), "%s", name ? name : "");
    if (virDomainGetUUIDString(domain, info->uuid) < 0 ||
        virDomainGetState(domain, &state, NULL, 0) < 0)
        return libvirt_failed(connection, info->name, error);
    info->id = (int)virDomainGetID(domain); /* (unsigned)-1 if it does not run */
    info->state = state_of(state);
    info->migrating = info->state != DOMAIN_SHUT_OFF && libvirt_has_job(domain);
    return 0;
}

static int running_first(const void *a, const void *b)
{
    const struct domain_info *x = a;
    const struct domain_info *y = b;
    bool x_runs = x->state == DOMAIN_RUNNING;
    bool y_runs = y->state == DOMAIN_RUNNING;

    return x_runs != y_runs ? y_runs - x_runs : strcmp(x->name, y->name);
}

static void free_all(virDomainPtr *domains, int n)
{
    for (int i = 0; i < n; i++)
        virDomainFree(domains[i]);
    free(domains);
}

static void find_pid(const struct domain_connection *connection, const struct fsroot *root,
                     struct domain_info *info)
{
    if (!connection->qemu || info->id < 0)
        return;

    const struct domain_name name = {.pid_dir = connection->pid_dir,
                                     .name = info->name,
                                     .uuid = info->uuid,
                                     .pid = connection->pid};

    info->pid = connection->find ? connection->find(&name, connection->find_context)
                                 : domain_process_find(root, &name);
    info->two_processes = info->pid == DOMAIN_TWO_PIDS;
    info->process_unknown = info->pid == DOMAIN_PID_UNKNOWN;
    if (info->pid < 0)
        info->pid = 0;
}

void domain_find_pids_by(struct domain_connection *connection,
                         pid_t (*find)(const struct domain_name *domain, void *context),
                         void *context)
{
    connection->find = find;
    connection->find_context = context;
}

const char *domain_pid_dir(const struct domain_connection *connection)
{
    return connection->pid_dir;
}

/* Domains that end while they are listed are left out. */
static ssize_t describe_all(const struct domain_connection *connection, const struct fsroot *root,
                            virDomainPtr *domains, int n, struct domain_info *list,
                            struct error *error)
{
    ssize_t count = 0;

    for (int i = 0; i < n; i++) {
        struct domain_info *info = &list[count];
        struct error failed;
        int rc = libvirt_describe(connection, domains[i], info, &failed);

        if (rc == -ENOTCONN)
            return error_set(error, rc, "%s: %s", connection->uri, failed.text);
        if (rc < 0)
            continue;
        find_pid(connection, root, info);
        count++;
    }
    qsort(list, (size_t)count, sizeof(*list), running_first);
    return count;
}

ssize_t domain_list(struct domain_connection *connection, const struct fsroot *root,
                    struct domain_info **out, struct error *error)
{
    virDomainPtr *domains = NULL;
    int n = virConnectListAllDomains(connection->conn, &domains, 0);

    if (n < 0)
        return libvirt_failed(connection, NULL, error);

    cleanup_free struct domain_info *list = calloc((size_t)n + 1, sizeof(*list));
    ssize_t count = list ? describe_all(connection, root, domains, n, list, error)
                         : error_set(error, -ENOMEM, "%s: out of memory", connection->uri);

    free_all(domains, n);
    if (count < 0)
        return count;
    *out = list;
    list = NULL;
    return count;
}

int domain_find(struct domain_connection *connection, const struct fsroot *root, const char *name,
                struct domain_info *out, struct error *error)
{
    struct error failed = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &failed);

    if (!domain)
        return error_set(error, failed.code, "%s", failed.text);

    int rc = libvirt_describe(connection, domain, out, error);

    if (rc == 0)
        find_pid(connection, root, out);
    return rc;
}

int domain_xml_fetch(struct domain_connection *connection, const char *name, char **xml,
                     struct error *error)
{
    struct error missing = {0};
    cleanup_domain virDomainPtr domain = libvirt_lookup(connection, name, &missing);

    if (!domain)
        return error_set(error, missing.code, "%s", missing.text);
    char *text = virDomainGetXMLDesc(domain, 0);

    if (!text)
        return libvirt_failed(connection, name, error);
    *xml = text;
    return 0;
}
