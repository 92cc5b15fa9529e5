// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file qemu.h  What is known of an open QEMU process: qemu_process.h opens it, qemu_vcpus.h is
 * about its threads. */
#pragma once

#include "guest/domain/qemu_cmdline.h"
#include "guest/domain/qemu_threads.h"

#include <sys/types.h>

#define QEMU_MAX_VCPUS 1024
#define QEMU_MAX_CMDLINE_BYTES (8UL << 20)

struct qemu_process {
    pid_t pid;
    int pidfd;            /* -1 in a captured tree */
    int mm_fd;            /* of its address space; -1: none. Only where there is a pidfd */
    uint64_t start_ticks; /* clock ticks after boot */
    uint64_t start_stack; /* in its address space; 0: not known */
    char exe[256];        /* what /proc/PID/exe names */
    struct qemu_cmdline config;
    enum accel accel; /* from the process itself: an open kvm-vm file or the vCPU threads' names */
    bool vcpus_known; /* false: the vCPU threads cannot be distinguished, vcpus holds all threads */
    size_t n_vcpus;
    pid_t *vcpus;                /* thread ids, ascending; see qemu_vcpus.h for the rule */
    struct qemu_threads threads; /* all of them, as they were then */
};
