// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_monitor.h  Which of a QEMU's QMP servers can be reached by a path, as its options say.
 *
 * Source: QEMU 7.2 to 11.1, qemu-options.hx (-qmp, -mon, -chardev), monitor/monitor.c
 * monitor_parse() ("chardev:ID" of -qmp), chardev/char.c qemu_chr_parse_compat(); since 11.1
 * -object monitor-qmp, which libvirt 12.9 writes, in place of -mon; qapi/char.json, as which
 * libvirt writes a chardev to a QEMU that takes JSON (none up to 11.1 does).
 */
#pragma once

#include "guest/domain/qemu_option.h"

#define QEMU_MONITOR_ID 64
#define QEMU_MONITOR_PATH 256

struct qemu_chardev {
    char id[QEMU_MONITOR_ID];
    char path[QEMU_MONITOR_PATH];
    const char *unreachable; /* why nothing can connect to that path; NULL: it can */
};

/** Filled option by option, in any order; begins zeroed. Of more than it has room for the last are
 * left out. */
struct qemu_monitors {
    size_t n_chardevs, n_used;
    struct qemu_chardev chardevs[64];
    char used[8][QEMU_MONITOR_ID]; /* the chardevs of QMP servers */
    struct qemu_chardev own; /* that -qmp made: the first that can be reached, else the last */
};

void qemu_monitors_add_chardev(struct qemu_monitors *monitors, const struct qemu_option *option);
void qemu_monitors_add_mon(struct qemu_monitors *monitors, const struct qemu_option *option);
/** -object monitor-qmp */
void qemu_monitors_add_object(struct qemu_monitors *monitors, const struct qemu_option *option);
/** -qmp, -qmp-pretty */
void qemu_monitors_add_qmp(struct qemu_monitors *monitors, const char *argument);

/** A server that can be reached, by its path; else by why the last of them cannot. NULL: there is
 * none. */
const struct qemu_chardev *qemu_monitors_find(const struct qemu_monitors *monitors);
