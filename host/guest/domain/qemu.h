// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file qemu.h  The data of an open QEMU process: qemu_process.h opens it, qemu_vcpus.h handles
 * its threads. */
#pragma once

#include "guest/domain/owner.h"
#include "guest/domain/qemu_cmdline.h"
#include "guest/domain/qemu_threads.h"

#include <sys/types.h>

#define QEMU_MAX_VCPUS 1024
#define QEMU_MAX_CMDLINE_BYTES (8UL << 20)

struct qemu_process {
    pid_t pid;
    int pidfd;            /* -1 in a captured tree */
    int mm_fd;            /* an open file of its address space; -1: none. Used only with a pidfd */
    uint64_t start_ticks; /* clock ticks after boot */
    uint64_t start_stack; /* address in its address space; 0: not known */
    char exe[256];        /* target of /proc/PID/exe */
    bool other_vmm;       /* not a QEMU: its options are not known, and its RAM is found by proof */
    struct qemu_cmdline config;
    struct guest_owner owner;
    /* found from the process itself: an open kvm-vm file, or names of vCPU threads */
    enum accel accel;
    /* false: the vCPU threads cannot be distinguished, and vcpus holds all threads */
    bool vcpus_known;
    size_t n_vcpus;
    pid_t *vcpus;                /* thread ids, ascending; see qemu_vcpus.h for the rule */
    struct qemu_threads threads; /* all threads when the vCPUs were found */
};
