// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/pods.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/open_below.h"
#include "guest/domain/inquiry.h"
#include "guest/domain/libvirt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A link of /proc/PID/ns: "pid:[4026531836]" */
struct namespace
{
    char link[32];
};

static int read_namespace(const struct fsroot *root, const char *pid, struct namespace *out)
{
    ssize_t n = fsroot_readlink(root, out->link, sizeof(out->link), "proc/%s/ns/pid", pid);

    return n < 0 ? (int)n : 0;
}

/* --- the socket ------------------------------------------------------------------------------- */

/* Those for reading come first: a user of the others may need polkit, which a pod does not have. */
static const char *const sockets[] = {
    "/run/libvirt/virtqemud-sock-ro",     "/run/libvirt/virtqemud-sock",
    "/run/libvirt/libvirt-sock-ro",       "/run/libvirt/libvirt-sock",
    "/var/run/libvirt/virtqemud-sock-ro", "/var/run/libvirt/virtqemud-sock",
    "/var/run/libvirt/libvirt-sock-ro",   "/var/run/libvirt/libvirt-sock",
};

static bool is_absent(int rc)
{
    return rc == -ENOENT || rc == -ENOTDIR || rc == -ENOTSOCK;
}

/* Sets the socket, or the error. */
static void open_socket(const struct fsroot *root, struct pod_guest *guest)
{
    cleanup_close int top = fsroot_openf(root, O_PATH | O_DIRECTORY, "proc/%d/root",
                                         (int)guest->pid);
    int rc = top < 0 ? top : -ENOENT;

    for (size_t i = 0; is_absent(rc) && i < COUNT(sockets); i++) {
        snprintf(guest->path, sizeof(guest->path), "%s", sockets[i]);
        rc = open_socket_below(top, guest->path);
    }
    guest->socket = rc < 0 ? -1 : rc;
    if (is_absent(rc))
        error_set(&guest->error, -ENOENT,
                  "its pod has no socket of libvirt (/run/libvirt/virtqemud-sock or libvirt-sock): "
                  "has its libvirt ended? (without libvirt: measure with --pid %d)",
                  (int)guest->pid);
    else if (rc < 0)
        error_set(&guest->error, rc, "%s of its pod: %s", top < 0 ? "the root" : guest->path,
                  strerror(-rc));
}

/* --- searching -------------------------------------------------------------------------------- */

/* libvirt gives each QEMU a UUID. */
static bool is_of_libvirt(const struct pod_guest *guest)
{
    return *guest->uuid && (guest->socket >= 0 || strcmp(guest->owner.manager, "kubevirt") == 0 ||
                            strcmp(guest->owner.manager, "libvirt") == 0);
}

/* Returns false if it is not one, or has ended. Else the caller closes the socket. */
static bool describe(const struct fsroot *root, pid_t pid, struct pod_guest *out)
{
    struct qemu_process process;

    if (qemu_process_open(root, pid, &process, NULL) < 0)
        return false;
    *out = (struct pod_guest){.pid = pid, .owner = process.owner};
    memcpy(out->name, process.config.name, sizeof(out->name));
    memcpy(out->uuid, process.config.uuid, sizeof(out->uuid));
    open_socket(root, out);

    /* everything was read by pid */
    bool found = qemu_process_verify(root, &process, NULL) == 0 && is_of_libvirt(out);

    qemu_process_close(&process);
    if (!found && out->socket >= 0)
        close(out->socket);
    return found;
}

static bool is_elsewhere(const struct fsroot *root, pid_t pid, const struct namespace *own)
{
    struct namespace its;
    char number[16];

    snprintf(number, sizeof(number), "%d", (int)pid);
    return read_namespace(root, number, &its) == 0 && strcmp(its.link, own->link) != 0;
}

/* A user who may not look into the first process sees no guest of another user either. */
static int read_own(const struct fsroot *root, struct namespace *own, struct error *error)
{
    struct namespace first;
    int rc = read_namespace(root, "1", &first);

    if (rc == 0)
        rc = read_namespace(root, "self", own);
    if (rc == -EACCES || rc == -EPERM)
        return error_set(error, -EACCES,
                         DOMAIN_PODS ": not permitted to look into other processes; run as root");
    return rc < 0 ? error_set(error, rc, DOMAIN_PODS ": /proc: %s", strerror(-rc)) : 0;
}

int pods_find(const struct fsroot *root, struct pods *pods, struct error *error)
{
    cleanup_free pid_t *pids = NULL;
    struct namespace own;
    struct pod_guest guest;

    *pods = (struct pods){0};

    int rc = read_own(root, &own, error);
    ssize_t n = rc < 0 ? 0 : qemu_process_find_all(root, false, &pids);

    if (n < 0)
        rc = error_set(error, (int)n, DOMAIN_PODS ": /proc: %s", strerror((int)-n));
    for (ssize_t i = 0; rc == 0 && i < n; i++) {
        if (!is_elsewhere(root, pids[i], &own) || !describe(root, pids[i], &guest))
            continue;
        rc = array_put(&pods->guests, &pods->n, &guest, sizeof(guest));
        if (rc < 0 && guest.socket >= 0)
            close(guest.socket);
        if (rc < 0)
            error_set(error, rc, DOMAIN_PODS ": out of memory");
    }
    if (rc < 0)
        pods_free(pods);
    return rc;
}

void pods_free(struct pods *pods)
{
    for (size_t i = 0; i < pods->n; i++)
        if (pods->guests[i].socket >= 0)
            close(pods->guests[i].socket);
    free(pods->guests);
    *pods = (struct pods){0};
}

/* --- one guest -------------------------------------------------------------------------------- */

static bool is_called(const struct pod_guest *guest, const char *domain)
{
    char namespaced[OWNER_NAME_BYTES];

    snprintf(namespaced, sizeof(namespaced), "%s", guest->name);
    return strcasecmp(guest->uuid, domain) == 0 || strcmp(guest->name, domain) == 0 ||
           strcmp(guest->owner.name, domain) == 0 ||
           (owner_namespaced(namespaced) && strcmp(namespaced, domain) == 0);
}

const struct pod_guest *pods_choose(const struct pods *pods, const char *domain,
                                    struct error *error)
{
    const struct pod_guest *chosen = NULL;

    for (size_t i = 0; i < pods->n; i++) {
        if (!is_called(&pods->guests[i], domain))
            continue;
        if (chosen) {
            error_set(error, -ENOTUNIQ,
                      "domain %s: processes %d and %d, in two pods, are both called so: take the "
                      "UUID, or --pid",
                      domain, (int)chosen->pid, (int)pods->guests[i].pid);
            return NULL;
        }
        chosen = &pods->guests[i];
    }
    if (!chosen)
        error_set(
            error, -ENOENT,
            "domain %s: no pod of this host runs such a guest (vmwss list -c pods shows them)",
            domain);
    return chosen;
}

/* A pod's libvirt may be stopped, or may let callers wait on purpose. */
#define LIMIT_S 20

/* A question to a pod's libvirt. The members are the thread's own, as it may be left behind. */
struct pod_inquiry {
    struct pod_guest pod;
    struct asking *asking;
    bool connect, open; /* the answer: a connection; a guest that can be measured */
    struct domain_connection *connection;
    struct domain_info info;
    struct guest guest;
};

static int connect_now(const struct pod_guest *pod, struct domain_connection **out,
                       struct error *error)
{
    struct error failed = {0};
    char uri[64];

    /* "session": a libvirt that has privileges takes it for "system" */
    snprintf(uri, sizeof(uri), "qemu:///session?socket=/proc/self/fd/%d", pod->socket);

    int rc = domain_connect(uri, out, &failed);

    if (rc < 0)
        return error_set(error, rc, "%s of its pod: %s", pod->path, failed.text);
    (*out)->pid = pod->pid;
    snprintf((*out)->uri, sizeof((*out)->uri), "the libvirt of process %d's pod", (int)pod->pid);
    return 0;
}

static int describe_and_open(struct pod_inquiry *asked, const struct fsroot *root,
                             struct error *error)
{
    struct domain_info info;
    int rc = domain_find(asked->connection, root, asked->pod.uuid, &info, error);

    if (rc < 0)
        return rc;
    asked->info = info;
    if (!asked->open)
        return 0;
    if (info.state != DOMAIN_RUNNING)
        return error_set(error, -ENODEV, "not running");
    return guest_open_domain(asked->connection, root, asked->pod.uuid, &asked->guest, error);
}

static int ask_now(void *context, struct error *error)
{
    struct pod_inquiry *asked = context;
    struct fsroot root;
    int rc = fsroot_open(&root, "/");

    if (rc < 0)
        return error_set(error, rc, "/: %s", strerror(-rc));
    rc = connect_now(&asked->pod, &asked->connection, error);
    if (rc == 0 && !asked->connect) {
        rc = describe_and_open(asked, &root, error);
        domain_disconnect(asked->connection);
        asked->connection = NULL;
    }
    fsroot_close(&root);
    return rc;
}

static void inquiry_free(struct pod_inquiry *asked)
{
    if (asked->pod.socket >= 0)
        close(asked->pod.socket);
    free(asked);
}

static void discard(void *context, int rc)
{
    struct pod_inquiry *asked = context;

    domain_disconnect(asked->connection);
    if (rc == 0 && asked->open)
        guest_close(&asked->guest);
    inquiry_free(asked);
}

/* Begins to ask. Returns NULL with the error. */
static struct pod_inquiry *begin_asking(const struct pod_guest *pod, bool connect, bool open,
                                        struct error *error)
{
    struct pod_inquiry *asked = calloc(1, sizeof(*asked));
    const struct inquiry inquiry = {
        .ask = ask_now, .discard = discard, .context = asked, .limit_s = LIMIT_S};

    if (!asked) {
        error_set(error, -ENOMEM, DOMAIN_PODS ": out of memory");
        return NULL;
    }
    asked->connect = connect;
    asked->open = open;
    asked->pod = *pod;
    asked->pod.socket = fcntl(pod->socket, F_DUPFD_CLOEXEC, 0);
    asked->asking = inquiry_begin(&inquiry, error);
    if (asked->asking)
        return asked;
    inquiry_free(asked);
    return NULL;
}

/* Waits for the answer, and fills in @p what. */
static int end_asking(struct pod_inquiry *asked, struct pod_inquiry *what, struct error *error)
{
    const struct pod_guest pod = asked->pod; /* if it does not answer, its thread frees it */
    bool answered;
    int rc = inquiry_end(asked->asking, &answered, error);

    if (!answered)
        return error_set(error, rc,
                         "%s of its pod: it has not answered within %d s (without libvirt: measure "
                         "with --pid %d)",
                         pod.path, LIMIT_S, (int)pod.pid);
    *what = *asked;
    inquiry_free(asked);
    return rc;
}

/* @p what: what is asked; its answer is filled in. */
static int ask_pod(const struct pod_guest *pod, struct pod_inquiry *what, struct error *error)
{
    struct error failed = {0};
    struct pod_inquiry *asked;

    if (pod->socket < 0)
        return error_set(error, pod->error.code, "%s", pod->error.text);
    asked = begin_asking(pod, what->connect, what->open, &failed);
    return asked ? end_asking(asked, what, error)
                 : error_set(error, failed.code, "%s", failed.text);
}

void pods_ask_all(struct pods *pods, bool open)
{
    for (size_t i = 0; i < pods->n; i++)
        if (pods->guests[i].socket >= 0) /* if it fails, pods_ask() tries again */
            pods->guests[i].asked = begin_asking(&pods->guests[i], false, open, NULL);
}

int pods_ask(struct pod_guest *pod, struct domain_info *info, struct guest *guest,
             struct error *error)
{
    struct pod_inquiry asked = {.open = guest};
    int rc = pod->asked ? end_asking(pod->asked, &asked, error) : ask_pod(pod, &asked, error);

    pod->asked = NULL;
    *info = asked.info;
    if (rc == 0 && guest)
        guest_move(guest, &asked.guest);
    return rc;
}

static int ask_chosen(const struct fsroot *root, const char *domain, struct pod_inquiry *asked,
                      struct error *error)
{
    struct error failed = {0};
    struct pods pods;
    int rc = pods_find(root, &pods, error);

    if (rc < 0)
        return rc;

    const struct pod_guest *pod = pods_choose(&pods, domain, &failed);

    if (pod && ask_pod(pod, asked, &failed) < 0 && strncmp(failed.text, "domain ", 7) != 0)
        error_prefix(&failed, "domain %s", pod->name);
    pods_free(&pods);
    return failed.code ? error_set(error, failed.code, "%s", failed.text) : 0;
}

int pods_connect_to(const struct fsroot *root, const char *domain, char uuid[37],
                    struct domain_connection **out, struct error *error)
{
    struct pod_inquiry asked = {.connect = true};
    int rc = ask_chosen(root, domain, &asked, error);

    if (rc == 0) {
        memcpy(uuid, asked.pod.uuid, sizeof(asked.pod.uuid));
        *out = asked.connection;
    }
    return rc;
}

int pods_open(const struct fsroot *root, const char *domain, struct guest *guest,
              struct error *error)
{
    struct pod_inquiry asked = {.open = true};
    int rc = ask_chosen(root, domain, &asked, error);

    if (rc == 0)
        guest_move(guest, &asked.guest);
    return rc;
}

/* A libvirt that does not tell the state: the process runs, so the guest counts as running. */
static void list_one(struct pod_guest *pod, struct domain_info *info)
{
    if (pods_ask(pod, info, NULL, NULL) == 0)
        return;
    *info = (struct domain_info){.pid = pod->pid, .state = DOMAIN_RUNNING};
    memcpy(info->name, pod->name, sizeof(info->name));
    memcpy(info->uuid, pod->uuid, sizeof(info->uuid));
}

ssize_t pods_list(const struct fsroot *root, struct domain_info **out, struct error *error)
{
    struct pods pods;
    int rc = pods_find(root, &pods, error);

    if (rc < 0)
        return rc;

    const ssize_t n = (ssize_t)pods.n;

    *out = calloc(pods.n + 1, sizeof(**out));
    if (*out)
        pods_ask_all(&pods, false);
    for (size_t i = 0; *out && i < pods.n; i++)
        list_one(&pods.guests[i], &(*out)[i]);
    pods_free(&pods);
    return *out ? n : error_set(error, -ENOMEM, DOMAIN_PODS ": out of memory");
}
