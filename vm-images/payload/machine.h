/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * @file machine.h  What differs between pc or q35 and virt: what the loader says, where bytes can
 * be written, page tables, clocks.
 *
 * Both have page tables of the same shape: a top table, tables of 512 GiB, directories of a GiB,
 * each of one 4 KiB page, and entries of 2 MiB. boot_ARCH.S maps the GiB with the image.
 */
#ifndef VMWSS_MACHINE_H
#define VMWSS_MACHINE_H

#include "params.h"

#define MACHINE_GIB (UINT64_C(1) << 30)

/* Wraps every 4.7 s. */
#define TIMER_HZ 3579545
#define TIMER_MASK 0xffffff

#ifdef __aarch64__

/** Where RAM begins, and the image lies. */
#define MACHINE_RAM_BEGIN MACHINE_GIB
/* Stage 1, 4 KiB granule (Arm ARM D8.3): a table; a block that is normal memory (MAIR's attribute
 * 0), inner shareable, with the access flag, which nobody shall have to set. */
#define MACHINE_TABLE 0x3
#define MACHINE_BLOCK 0x701

/** A counter that is read without leaving the guest. */
static inline uint64_t read_tsc(void)
{
    uint64_t count;

    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(count) : : "memory");
    return count;
}

static inline uint64_t counter_hz(void)
{
    uint64_t hz;

    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
    return hz;
}

/** The same counter: it is right on every accelerator. */
static inline uint32_t read_timer(void)
{
    uint64_t count = read_tsc(), hz = counter_hz();

    return (count / hz * TIMER_HZ + count % hz * TIMER_HZ / hz) & TIMER_MASK;
}

/** Leaves the guest, and touches no memory. EL2's emulation needs no such help. */
static inline void machine_leave(void)
{
}

/** Stops until an interrupt; none is ever enabled. */
static inline void machine_halt(void)
{
    __asm__ volatile("wfi");
}

/** Not of this machine: see machine_rest_begin(). */
static inline void machine_rest(void)
{
}

/** Entries that were written are used from here on. */
static inline void machine_tables_written(void)
{
    __asm__ volatile("dsb ish; isb" : : : "memory");
}

#else

#define MACHINE_RAM_BEGIN UINT64_C(0)
/* Present and writable; of 2 MiB. */
#define MACHINE_TABLE 0x3
#define MACHINE_BLOCK 0x83

/** The time stamp counter: no exit from the guest. */
static inline uint64_t read_tsc(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/** The ACPI timer, where SeaBIOS puts it on both pc and q35. */
static inline uint32_t read_timer(void)
{
    uint32_t ticks;

    __asm__ volatile("inl %w1, %0" : "=a"(ticks) : "Nd"((uint16_t)0x608));
    return ticks & TIMER_MASK;
}

/** Leaves the guest: CPUID is intercepted by every hypervisor, and touches no memory. */
static inline void machine_leave(void)
{
    uint32_t leaf = 0, subleaf = 0;

    __asm__ volatile("cpuid" : "+a"(leaf), "+c"(subleaf) : : "ebx", "edx");
}

/** Stops; only an NMI wakes it. */
static inline void machine_halt(void)
{
    __asm__ volatile("cli; hlt");
}

/** Stops until the next tick of machine_rest_begin(); not at all if one is pending. */
static inline void machine_rest(void)
{
    __asm__ volatile("sti; hlt; cli" : : : "memory");
}

static inline void machine_tables_written(void)
{
}

#endif

#define MACHINE_MAX_RAM 8

/** Facts that the loader passes. */
struct machine_info {
    const char *command; /**< the parameters */
    unsigned int ram_count;
    struct machine_ram {
        uint64_t base;
        uint64_t end;
    } ram[MACHINE_MAX_RAM]; /**< usable, in the loader's order */
};

/** Reads what the loader said; start: what boot_ARCH.S was entered with. NULL, or what is wrong. */
const char *machine_read(const uint64_t start[2], struct machine_info *info);
/** Writes a byte to where a host test reads it. */
void machine_put_char(char c);
/** Stops what would wake QEMU while the guest halts. */
void machine_quiet(void);
/** Starts the tick of 100 Hz that ends a machine_rest(). NULL, or what is wrong. */
const char *machine_rest_begin(void);

/** boot_ARCH.S, when it has a stack. */
void payload_main(uint64_t first, uint64_t second);

#endif
