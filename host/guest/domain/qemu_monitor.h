// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_monitor.h  Finds the QMP servers of a QEMU that can be reached by a path, from its
 * options.
 *
 * Source: QEMU 7.2 to 11.1, qemu-options.hx (-qmp, -mon, -chardev), monitor/monitor.c
 * monitor_parse() ("chardev:ID" of -qmp), chardev/char.c qemu_chr_parse_compat(). Since 11.1:
 * -object monitor-qmp, which libvirt 12.9 writes in place of -mon. qapi/char.json: the form of a
 * chardev that libvirt writes to a QEMU that takes JSON (no QEMU up to 11.1 does).
 */
#pragma once

#include "guest/domain/qemu_option.h"

#define QEMU_MONITOR_ID 64
#define QEMU_MONITOR_PATH 256

struct qemu_chardev {
    char id[QEMU_MONITOR_ID];
    char path[QEMU_MONITOR_PATH];
    const char *unreachable; /* the reason why a client cannot connect to that path; NULL: it can */
};

/** Filled option by option, in any order; initialise it with zeros. Entries beyond its size are
 * ignored. */
struct qemu_monitors {
    size_t n_chardevs, n_used;
    struct qemu_chardev chardevs[64];
    char used[8][QEMU_MONITOR_ID]; /* the chardevs of QMP servers */
    struct qemu_chardev own;       /* made by -qmp: the first that can be reached, else the last */
};

void qemu_monitors_add_chardev(struct qemu_monitors *monitors, const struct qemu_option *option);
void qemu_monitors_add_mon(struct qemu_monitors *monitors, const struct qemu_option *option);
/** -object monitor-qmp */
void qemu_monitors_add_object(struct qemu_monitors *monitors, const struct qemu_option *option);
/** -qmp, -qmp-pretty */
void qemu_monitors_add_qmp(struct qemu_monitors *monitors, const struct qemu_option *option);

/** Returns a reachable server, with its path; otherwise the last one, with the reason why it is not
 * reachable. NULL: there is no server. */
const struct qemu_chardev *qemu_monitors_find(const struct qemu_monitors *monitors);
