// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file actuators.h  What can change a guest's memory: one table of operations for each actuator.
 *
 * Theory of operation. There are two kinds. A *sizing* actuator sets a size that lasts: the sizes
 * of all of them add up to what the guest has, and each is restored in the end. A *taking* actuator
 * takes an amount of memory once and leaves the guest's size as it is; what it took comes back by
 * itself. control.h decides the guest's total size and asks the taking actuators for what is
 * missing then. Sizing actuators are used in the order of the table, in both directions: virtio-mem
 * comes before the balloon, because memory that a guest unplugs is gone from the guest's own view
 * too, in blocks that stay whole for the host, whereas a balloon leaves holes of 4 KiB. So on the
 * way down the balloon takes what virtio-mem cannot, and on the way up the balloon's own memory is
 * given back last. A guest that was taken from and given back therefore ends with exactly the split
 * that it began with.
 *
 * A new actuator is one file with its table, and one line in ACTUATORS. The journal, Prometheus's
 * page, `vmwss balloon why`, marks and the restored sizes follow the table.
 */
#pragma once

#include "guest/domain/domain_virtio_mem.h"

#include <stddef.h>
#include <stdint.h>

/** All actuators, in the order of precedence. The balloon is the last one that sizes. */
#define ACTUATORS(X) X(VIRTIO_MEM, virtio_mem) X(BALLOON, balloon) X(RECLAIM, reclaim)

#define ACTUATOR_NUMBER(upper, lower) ACTUATOR_##upper,
enum actuator_number { ACTUATORS(ACTUATOR_NUMBER) N_ACTUATORS };

/** Range and size of one actuator of a guest. All zero: the guest has no such actuator. */
struct actuator {
    uint64_t least_bytes, most_bytes; /* range that it can be set to */
    uint64_t block_bytes;             /* block size; 0: any size */
    uint64_t current_bytes;           /* the guest's current size from it */
};

/** The device of a guest that a sizing actuator sets. */
struct actuator_device {
    struct domain_virtio_mem found;
    bool unknown;          /* it could not be read */
    uint64_t before_bytes; /* its requested size before our first target; 0: none */
};

/** Means to carry out an order. */
struct actuator_hands {
    struct domain_connection *libvirt;
    const char *uuid;
    const struct actuator_device *devices; /* N_ACTUATORS of them */
    /* Has @p bytes reclaimed by the process that may do so: 0; 1: an earlier order remains, limited
     * to this amount; negative with the message. */
    int (*reclaim)(void *context, struct error *error);
    void *context;
};

/** The first words of the help of a decision's metrics. */
#define ACTUATOR_DECIDED "vmwss-balloond's last decision: "

/** One of the journal's columns of decisions. */
struct actuator_column {
    const char *name;          /* NULL: there is no such column */
    const char *term;          /* in vmwss balloon why */
    const char *metric, *help; /* Prometheus's */
};

struct control_guest;
struct control_host;
struct control_policy;

struct actuator_operations {
    const char *name;
    /** Reads the guest's device. NULL: there is none, or it is read elsewhere. 0; -ENOTCONN; any
     * other negative errno: the device is not known. */
    int (*read)(struct domain_connection *libvirt, const char *uuid,
                struct domain_virtio_mem *device, struct error *error);
    /** For an actuator with a device that the guest has: sets its current size and limits. @p
     * allowed: it may be changed. Returns NULL: it is used; "" or else the reason why not. */
    const char *(*limits)(const struct actuator_device *device, bool allowed,
                          struct actuator *limits);
    /** NULL for one that sizes. For one that takes: sets the amount that it could take now, or the
     * reason why none. */
    void (*offer)(struct control_guest *guest, const struct control_policy *policy, double now_s);
    /** Carries out its part of the guest's decision; may have nothing to do. 0; 1: see
     * actuator_hands; negative with the message. */
    int (*order)(const struct actuator_hands *hands, const struct control_guest *guest,
                 struct error *error);
    /** For one with a device: restores a size that was lowered. 1: it is requested, and @p device
     * is what was found; 0: it was not lowered; negative with the message. */
    int (*restore)(struct domain_connection *libvirt, const char *uuid, uint64_t bytes,
                   struct domain_virtio_mem *device, struct error *error);
    /** Returns why the guest, whose first actuator is this one, is inhibited. */
    const char *(*trouble)(const struct control_guest *guest);
    /** Writes what it does, or why it does nothing; "": there is nothing to say. */
    void (*explain)(char *text, size_t size, const struct control_policy *policy,
                    const struct control_host *host, const struct control_guest *guest);
    /** Part of the decision that is its own; DECIDE_UNKNOWN: none. */
    uint64_t (*ordered)(const struct control_guest *guest);
    /* The columns of what is ordered, and of what came of it. */
    struct actuator_column ordered_column, done_column;
    /* The journal's column, and the mark's attribute, of the size to restore; NULL: none. */
    const char *before_column;
};

#define ACTUATOR_TEXT 256 /* what explain() may write */

/** All operations, in the order of precedence. */
extern const struct actuator_operations *const actuators[N_ACTUATORS];

/** Sets the size of each actuator, in the order of precedence, so that the guest has @p
 * target_bytes in total; a block that does not fit stays with the guest. No actuator moves against
 * the direction of the total. Returns the sum. */
uint64_t actuators_split(const struct actuator *limits, size_t n, uint64_t target_bytes,
                         uint64_t *set_bytes);
