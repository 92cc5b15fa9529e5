// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nested.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_VCPUS 64
#define MAX_RETURNS                                                               \
    64 /* KVM has one VMRUN for each kind of guest; its module may be loaded anew \
        */
#define TLB_ENTRIES 1024
#define PAGE_SHIFT 12

/* In the control area of a VMCB (AMD64 Architecture Programmer's Manual, volume 2, appendix B). */
#define VMCB_NESTED_PAGING 0x90
#define VMCB_NESTED_CR3 0xb0

#define EFER_LONG_MODE_ACTIVE (1ULL << 10)

static const uint8_t vmrun[] = {0x0f, 0x01, 0xd8};
static const uint8_t write_cr[] = {0x0f, 0x22};

/* State that only a virtual CPU's own thread reads and writes. */
struct vcpu {
    bool is_guest;
    uint64_t nested_cr3; /* 0: without nested paging */
    uint64_t round;      /* of the TLB: increased when it is emptied */
    struct {
        uint64_t page, round;
    } tlb[TLB_ENTRIES];
    /* Where the instructions were that were executed last. */
    uint64_t fetch_frame, fetch_page, fetch_round;
    struct _GByteArray *buffer;
};

static struct {
    struct tables_ram ram;
    void (*touch)(uint64_t frame);
    uint64_t *unwalked;
    struct vcpu vcpus[MAX_VCPUS];
} nested;

/* Host addresses of the instructions behind a VMRUN. They are appended to only, before the VMRUN
 * can run. */
static _Atomic(const uint8_t *) returns[MAX_RETURNS];
static atomic_uint n_returns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nested_begin(const struct tables_ram *ram, void (*touch)(uint64_t frame), uint64_t *unwalked)
{
    nested.ram = *ram;
    nested.touch = touch;
    nested.unwalked = unwalked;
}

static void die_of(const char *what, int limit)
{
    fprintf(stderr, "oracle-plugin: more than %d %s\n", limit, what);
    _exit(1);
}

static struct vcpu *vcpu_of(unsigned number)
{
    if (number >= MAX_VCPUS)
        die_of("virtual CPUs", MAX_VCPUS);
    return &nested.vcpus[number];
}

/* A register of this virtual CPU, by gdb's number; 0 where it has not 64 bits. */
static uint64_t read_register(struct vcpu *vcpu, int number)
{
    uint64_t value = 0;

    if (!vcpu->buffer)
        vcpu->buffer = g_byte_array_new();
    g_byte_array_set_size(vcpu->buffer, 0);
    if (x86_cpu_gdb_read_register(current_cpu, vcpu->buffer, number) == sizeof(value))
        memcpy(&value, vcpu->buffer->data, sizeof(value));
    return value;
}

static uint64_t nested_cr3_of(uint64_t vmcb)
{
    const uint8_t *at = nested.ram.host + vmcb;
    uint64_t cr3;

    if (vmcb > nested.ram.bytes - 4096 || !(at[VMCB_NESTED_PAGING] & 1))
        return 0;
    memcpy(&cr3, at + VMCB_NESTED_CR3, sizeof(cr3));
    return cr3;
}

/* --- guest mode ------------------------------------------------------------------------------- */

static void on_vmrun(unsigned number, void *unused)
{
    struct vcpu *vcpu = vcpu_of(number);

    (void)unused;
    vcpu->nested_cr3 = nested_cr3_of(read_register(vcpu, QEMU_GDB_RAX));
    vcpu->round++;
    vcpu->is_guest = true;
}

static void on_return(unsigned number, void *unused)
{
    (void)unused;
    vcpu_of(number)->is_guest = false;
}

static void on_write_cr(unsigned number, void *unused)
{
    (void)unused;
    vcpu_of(number)->round++;
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

        if (n == MAX_RETURNS)
            die_of("places with a VMRUN", MAX_RETURNS);
        atomic_store(&returns[n], at);
        atomic_store(&n_returns, n + 1);
    }
    pthread_mutex_unlock(&lock);
}

static bool is_vmrun(const struct qemu_plugin_insn *insn)
{
    return qemu_plugin_insn_size(insn) == sizeof(vmrun) &&
           memcmp(qemu_plugin_insn_data(insn), vmrun, sizeof(vmrun)) == 0;
}

static bool writes_cr(const struct qemu_plugin_insn *insn)
{
    return qemu_plugin_insn_size(insn) == sizeof(write_cr) + 1 &&
           memcmp(qemu_plugin_insn_data(insn), write_cr, sizeof(write_cr)) == 0;
}

void nested_watch_block(struct qemu_plugin_tb *tb)
{
    const uint8_t *at = qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));

    if (at && is_return(at))
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_return, QEMU_PLUGIN_NO_REGISTERS, NULL);
}

bool nested_watch(struct qemu_plugin_insn *insn)
{
    const uint8_t *at = qemu_plugin_insn_haddr(insn);

    if (at && writes_cr(insn))
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_write_cr, QEMU_PLUGIN_NO_REGISTERS, NULL);
    if (!at || !is_vmrun(insn))
        return true;
    add_return(at + sizeof(vmrun));
    qemu_plugin_register_vcpu_insn_exec_cb(insn, on_vmrun, QEMU_PLUGIN_NO_REGISTERS, NULL);
    return false;
}

bool nested_is_guest(unsigned vcpu)
{
    return vcpu_of(vcpu)->is_guest;
}

/* --- page tables ------------------------------------------------------------------------------ */

static void use_page(struct vcpu *vcpu, uint64_t page)
{
    uint64_t slot = (page ^ page >> 10) % TLB_ENTRIES;

    if (vcpu->tlb[slot].page == page && vcpu->tlb[slot].round == vcpu->round)
        return;
    vcpu->tlb[slot].page = page;
    vcpu->tlb[slot].round = vcpu->round;
    if (!vcpu->nested_cr3 || !(read_register(vcpu, QEMU_GDB_EFER) & EFER_LONG_MODE_ACTIVE))
        return;
    if (!tables_walk(&nested.ram, vcpu->nested_cr3, read_register(vcpu, QEMU_GDB_CR3),
                     page << PAGE_SHIFT, nested.touch))
        __atomic_fetch_add(nested.unwalked, 1, __ATOMIC_RELAXED);
}

void nested_data(unsigned number, uint64_t vaddr)
{
    use_page(vcpu_of(number), vaddr >> PAGE_SHIFT);
}

void nested_fetch(unsigned number, uint64_t frame, bool begins)
{
    struct vcpu *vcpu = vcpu_of(number);

    if (vcpu->fetch_frame == frame && vcpu->fetch_round == vcpu->round)
        return;
    vcpu->fetch_page = begins ? read_register(vcpu, QEMU_GDB_RIP) >> PAGE_SHIFT
                              : vcpu->fetch_page + 1;
    vcpu->fetch_frame = frame;
    vcpu->fetch_round = vcpu->round;
    use_page(vcpu, vcpu->fetch_page);
}
