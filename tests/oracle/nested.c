// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file nested.c  See nested.h. */
#include "nested.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_VCPUS 256
#define MAX_RETURNS 64 /* KVM has one VMRUN for each kind of guest; its module may be loaded anew */

static const uint8_t vmrun[] = {0x0f, 0x01, 0xd8};

/* Each is written and read by its own vCPU's thread only. */
static bool is_guest[MAX_VCPUS];

/* Host addresses of the instructions behind a VMRUN. They are appended to only, before the VMRUN can run. */
static _Atomic(const uint8_t *) returns[MAX_RETURNS];
static atomic_uint n_returns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void check_vcpu(unsigned vcpu)
{
    if (vcpu < MAX_VCPUS)
        return;
    fprintf(stderr, "oracle-plugin: more than %d virtual CPUs\n", MAX_VCPUS);
    _exit(1);
}

static void on_vmrun(unsigned vcpu, void *unused)
{
    (void)unused;
    check_vcpu(vcpu);
    is_guest[vcpu] = true;
}

static void on_return(unsigned vcpu, void *unused)
{
    (void)unused;
    check_vcpu(vcpu);
    is_guest[vcpu] = false;
}

static bool is_return(const uint8_t *at)
{
    unsigned n = atomic_load(&n_returns);

    for (unsigned i = 0; i < n; i++)
        if (atomic_load(&returns[i]) == at)
            return true;
    return false;
}

static void add_return(const uint8_t *at)
{
    pthread_mutex_lock(&lock);
    if (!is_return(at)) {
        unsigned n = atomic_load(&n_returns);

        if (n == MAX_RETURNS) {
            fprintf(stderr, "oracle-plugin: VMRUN at more than %d places\n", MAX_RETURNS);
            _exit(1);
        }
        atomic_store(&returns[n], at);
        atomic_store(&n_returns, n + 1);
    }
    pthread_mutex_unlock(&lock);
}

void nested_watch(struct qemu_plugin_insn *insn)
{
    const uint8_t *at = qemu_plugin_insn_haddr(insn);

    if (!at)
        return;
    if (is_return(at))
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_return, QEMU_PLUGIN_NO_REGISTERS, NULL);
    if (qemu_plugin_insn_size(insn) == sizeof(vmrun) &&
        memcmp(qemu_plugin_insn_data(insn), vmrun, sizeof(vmrun)) == 0) {
        add_return(at + sizeof(vmrun));
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_vmrun, QEMU_PLUGIN_NO_REGISTERS, NULL);
    }
}

bool nested_is_guest(unsigned vcpu)
{
    return vcpu < MAX_VCPUS && is_guest[vcpu];
}
