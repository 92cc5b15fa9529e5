// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file domain.h  The guest to be measured, found by libvirt name, UUID, id, or by pid.
 *
 * Only this folder uses libvirt. Connections are read-only, except those for suspending a domain,
 * changing its metadata, or setting its balloon. Monitor commands, which taint a domain, are never
 * sent. Source: libvirt-domain.h; status files: src/qemu/qemu_domain.c.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"
#include "guest/domain/domain_xml.h"
#include "guest/domain/qemu_process.h"

enum domain_state {
    DOMAIN_RUNNING,
    DOMAIN_PAUSED,
    DOMAIN_SHUT_OFF,
    DOMAIN_CRASHED,
    DOMAIN_OTHER, /* pm-suspended, shutting down... */
};

/** "running", "paused", ... */
const char *domain_state_name(enum domain_state state);

/** One domain as libvirt lists it; pid 0 if it does not run, is not QEMU, or was not found. The pid
 * comes from libvirt's pid file if there is one; only guest_open_domain() proves that the process
 * is this domain's. */
struct domain_info {
    char name[256];
    char uuid[37];
    int id; /* -1 when not running */
    pid_t pid;
    enum domain_state state;
    bool migrating; /* an outgoing migration, save or dump job is active (virDomainGetJobStats) */
    /* migrating within this machine, so pid is 0: the process could be either of two */
    bool two_processes;
    /* pid is 0 because domain_find_pids_by()'s function could not determine it */
    bool process_unknown;
};

/** A guest ready to be measured. */
struct guest {
    struct qemu_process process;
    char name[256]; /* empty if unknown (--pid and no -name) */
    char uuid[37];  /* empty if unknown */
    struct guest_owner owner;
    bool from_libvirt;
    bool migrating; /* libvirt ran a job on it when it was opened */
    bool vfio;      /* a device of the host was assigned to it at the last check */
    unsigned jobs;  /* enum qemu_job: QEMU's own activity seen since the caller cleared this */
    struct ram_config ram; /* live XML if from libvirt, else moved out of process.config */
    /* the port at the time of opening; a guest opened by pid has no port */
    struct agent_port agent_port;
};

struct domain_connection; /* opaque; wraps virConnectPtr */

/** Connects read-only (embedded drivers read-write, the only mode they have) to @p uri, NULL =
 * domain_default_uri(). -ECONNREFUSED with libvirt's own message (with the pid, if another process
 * has an embedded root open); -EOPNOTSUPP for the libvirt of another machine. For an embedded
 * driver libvirt's default event loop is registered. libvirt's messages to stderr are switched off
 * in the whole process. */
int domain_connect(const char *uri, struct domain_connection **out, struct error *error);
/** Stands for the libvirts of pods, see pods.h. No connection is open to all of them:
 * domain_connect() refuses it (-EOPNOTSUPP). */
#define DOMAIN_PODS "pods"
/** Returns true if @p uri, which may be NULL, is DOMAIN_PODS. */
bool domain_is_pods(const char *uri);
/** The URI used for NULL: $LIBVIRT_DEFAULT_URI as in virsh, else qemu:///system. */
const char *domain_default_uri(void);
/** As domain_connect(), read-write: for suspend.h and domain_metadata.h. */
int domain_connect_writable(const char *uri, struct domain_connection **out, struct error *error);
void domain_disconnect(struct domain_connection *connection);

/** All domains, running ones first, then by name; allocated, the caller frees; returns the count.
 */
ssize_t domain_list(struct domain_connection *connection, const struct fsroot *root,
                    struct domain_info **out, struct error *error);

/** One domain by name, UUID or id. 0; -ENOENT; -EIO or -ENOTCONN. */
int domain_find(struct domain_connection *connection, const struct fsroot *root, const char *name,
                struct domain_info *out, struct error *error);

/** Data for finding a domain's QEMU process without libvirt. Borrowed. */
struct domain_name {
    /* directory in which libvirt keeps NAME.pid, relative to the root; empty: unknown */
    const char *pid_dir;
    const char *name;
    const char *uuid;
    pid_t pid; /* the only process that can be its own; 0: any */
};

/** A domain that is migrating between two libvirtds of this machine has two processes, and it is
 * not known which belongs to which libvirtd. */
#define DOMAIN_TWO_PIDS (-1)

/** The function set by domain_find_pids_by() could not determine the process. */
#define DOMAIN_PID_UNKNOWN (-2)

/** Finds the process of @p domain: the process in its pid file if that is a QEMU, otherwise the
 * QEMU process with the domain's name and UUID. The latter is needed if the run directory is
 * elsewhere, or if libvirt has escaped a character of the name in the file's name, as it does with
 * "&" (src/util/virpidfile.c virPidFileBuildPath()). Returns 0 if there is none, or
 * DOMAIN_TWO_PIDS. */
pid_t domain_process_find(const struct fsroot *root, const struct domain_name *domain);

/** Opens the process of @p domain, by name and UUID. -ESRCH: it was not found; -EAGAIN: there are
 * two; else as qemu_process_open(). */
int domain_process_open(const struct fsroot *root, const struct domain_name *domain,
                        struct qemu_process *process, struct error *error);

/** Makes @p find find the process of a domain from now on, instead of domain_process_find(), for a
 * process that may not read other processes. It may also return DOMAIN_PID_UNKNOWN. */
void domain_find_pids_by(struct domain_connection *connection,
                         pid_t (*find)(const struct domain_name *domain, void *context),
                         void *context);

/** The pid_dir of this connection's domains; valid while the connection is. */
const char *domain_pid_dir(const struct domain_connection *connection);

/**
 * Describes a running domain by libvirt: all of @p info except the pid, and the RAM of its live
 * XML, which the caller frees. For a caller that opens the process itself.
 * @return 0, or an error that guest_open_domain() returns before it searches for the process
 */
int domain_describe_running(const struct domain_connection *connection, const char *name,
                            struct domain_info *info, struct domain_description *description,
                            struct error *error);

/** Fetches the live XML of a domain by name, UUID or id; malloc'ed, the caller frees. -ENOENT if
 * there is no such domain. */
int domain_xml_fetch(struct domain_connection *connection, const char *name, char **xml,
                     struct error *error);

/**
 * Opens a running domain by name, UUID or id.
 * @return 0; -ENOENT no such domain; -ENODEV not running, or paused (the message says which and
 * what to do); -ENOEXEC not run by QEMU; -ESRCH its process was not found; -EAGAIN it has two
 * processes, because it is being migrated within this machine; -EIO or -ENOTCONN libvirt failed;
 * else as qemu_process_open(). Close with guest_close().
 */
int guest_open_domain(struct domain_connection *connection, const struct fsroot *root,
                      const char *name, struct guest *out, struct error *error);

/** Opens a guest by the pid of its QEMU process, without libvirt. Errors as qemu_process_open(). */
int guest_open_pid(const struct fsroot *root, pid_t pid, struct guest *out, struct error *error);

/** Opens the same process again after it executed another program. A guest from libvirt keeps the
 * RAM of its XML, and its command line, so other threads may read these meanwhile. Errors as
 * qemu_process_open(); after an error the guest is unchanged. */
int guest_reopen(const struct fsroot *root, struct guest *guest, struct error *error);

/** Moves the guest to @p to, which must be empty. @p from is then empty, and closing it does
 * nothing. */
void guest_move(struct guest *to, struct guest *from);

void guest_close(struct guest *guest);
