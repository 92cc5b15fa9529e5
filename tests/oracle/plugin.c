// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file plugin.c  A QEMU TCG plugin that knows which guest pages are touched: the exact truth about
 * a guest.
 *
 *     qemu-system-x86_64 -accel tcg \
 *         -plugin oracle-plugin.so,map=/dev/shm/x[,slot_ms=100][,slots=64][,lab=on] ...
 *
 * Or qemu-system-aarch64 with the machine type virt, without lab=on.
 *
 * Theory of operation
 *
 * Data: every load and store of an executed instruction, those in helpers included, calls us right
 * after the access, while QEMU still knows where it went. Device memory is left out. An access that
 * straddles two pages marks both.
 *
 * Fetch: a block of translated code knows the host address of each instruction, hence the page:
 * when it is translated we have QEMU call us at each execution with the page's number. Translations
 * belong to a physical page, so the number stays right when the guest remaps it. An instruction
 * that straddles two pages marks the first; its tail's page is marked when the instruction after it
 * runs, which is nearly always.
 *
 * Translate: under TCG an instruction that is already translated runs without its page being read.
 * What the host can see of fetches are these readings.
 *
 * With lab=on the guest is the lab, and the truth is that of the KVM guests which run in it. QEMU
 * places an access of theirs where both stages of translation end, in the lab's frames. Data and
 * fetch then are those of instructions in guest mode (nested.h); what the lab's kernel does to
 * these frames, by its own addresses, is not marked: it sets no accessed bit that a method reads.
 * What the nested QEMU itself touches, or the kernel by QEMU's addresses, is of kind host. At the
 * latest every 4 ms, with the lab's tick, the nested guest is entered anew with an empty TLB, so it
 * translates the address of every page that it executes from again: unlike under plain TCG its
 * fetches are seen by the lab.
 *
 * Its page tables, which the MMU walks then, are of kind walk.
 *
 * A lab boots without any of that: a callback for each access makes it some four times slower.
 * Only VMRUN and #VMEXIT are watched, until the reader of the map wants to know (header.wanted);
 * then all translations are thrown away, and made anew with callbacks.
 *
 * Not seen, because QEMU makes no callback for them:
 * - without lab=on, page tables that the emulated MMU walks on a TLB miss (payload-truth counts
 *   them in own_pages; of a Linux guest they are at most the pages that its /proc/kpageflags calls
 *   PGTABLE);
 * - the descriptor tables, TSS and stack pushes of an interrupt's delivery: a few pages, of which
 *   the handler touches the stack again;
 * - devices: DMA, and what the firmware's loaders copy. The guests of the tests have no disk or
 *   network.
 *
 * A vCPU thread that loses its processor between access and callback marks the page late, in the
 * slot that runs then: at most one page per vCPU and change of slots.
 */
#include "layout.h"
#include "nested.h"
#include "qemu_plugin_api.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Other RAM blocks (video, firmware) stay below this size; a NUMA node of a guest does not. */
#define SMALL_BLOCK_BYTES (64ULL << 20)

/* Excess of phys_addr (see qemu_plugin_api.h): the GPA of virt's RAM (QEMU 7.2 hw/arm/virt.c,
 * base_memmap[VIRT_MEM]). */
#define VIRT_RAM_BEGIN (1ULL << 30)
/* Its two blocks of 64 MiB, which only firmware reads; a payload has none. */
#define VIRT_FLASH "virt.flash"

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static struct {
    const char *map_path;
    uint64_t slots, slot_ns;
    bool lab;
    struct CPUState *cpu; /* any */
    /* guest RAM: one block */
    struct RAMBlock *block, *second;
    char *host;
    uint64_t region_begin; /* in its container */
    uint64_t offset;       /* of its first byte, as phys_addr counts */
    uint64_t bytes, pages;
    struct oracle_header *header;
} oracle = {.slots = 64, .slot_ns = 100000000};

/* Whether blocks are translated with callbacks. */
static atomic_bool noting;

/* The running slot's maps, of ORACLE_KINDS * pages bytes; NULL before there is one. */
static _Atomic(uint8_t *) running;

static void mark(enum oracle_kind kind, uint64_t page)
{
    uint8_t *maps = atomic_load_explicit(&running, memory_order_acquire);

    maps[(uint64_t)kind * oracle.pages + page] = 1;
}

static void mark_walk(uint64_t page)
{
    mark(ORACLE_WALK, page);
}

static uint8_t *maps_of(uint64_t slot)
{
    return (uint8_t *)oracle.header + oracle.header->maps_at + slot * ORACLE_KINDS * oracle.pages;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* The slot after the running one is cleared while that one runs, so the change itself is one
 * store. */
static void prepare(uint64_t sequence)
{
    struct oracle_slot *slot = &oracle.header->slot[sequence % oracle.slots];

    __atomic_store_n(&slot->sequence, 0, __ATOMIC_SEQ_CST);
    memset(maps_of(sequence % oracle.slots), 0, ORACLE_KINDS * oracle.pages);
}

static void begin(uint64_t sequence)
{
    struct oracle_slot *slot = &oracle.header->slot[sequence % oracle.slots];
    struct oracle_slot *before = &oracle.header->slot[(sequence - 1) % oracle.slots];

    slot->end_realtime_ns = slot->end_monotonic_ns = 0;
    slot->begin_realtime_ns = now_ns(CLOCK_REALTIME);
    slot->begin_monotonic_ns = now_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&slot->sequence, sequence, __ATOMIC_SEQ_CST);
    atomic_store(&running, maps_of(sequence % oracle.slots));
    before->end_monotonic_ns = now_ns(CLOCK_MONOTONIC);
    __atomic_store_n(&before->end_realtime_ns, now_ns(CLOCK_REALTIME), __ATOMIC_RELEASE);
}

/* Translations made before are flushed while no virtual CPU executes anything. */
static void begin_if_wanted(void)
{
    if (atomic_load(&noting) || !__atomic_load_n(&oracle.header->wanted, __ATOMIC_ACQUIRE))
        return;
    atomic_store(&noting, true);
    tb_flush(oracle.cpu);
}

/* This flush, or any other since then. */
static void on_flush(uint64_t id)
{
    (void)id;
    if (atomic_load(&noting) && !oracle.header->noted_since_ns)
        __atomic_store_n(&oracle.header->noted_since_ns, now_ns(CLOCK_REALTIME), __ATOMIC_RELEASE);
}

static void *run_clock(void *unused)
{
    uint64_t due = now_ns(CLOCK_MONOTONIC);

    for (uint64_t sequence = 2;; sequence++) {
        prepare(sequence);
        due += oracle.slot_ns;
        struct timespec at = {.tv_sec = (time_t)(due / 1000000000ULL),
                              .tv_nsec = (long)(due % 1000000000ULL)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
            ;
        begin(sequence);
        begin_if_wanted();
        /* After a stall no slots of no length. */
        if (now_ns(CLOCK_MONOTONIC) > due + oracle.slot_ns)
            due = now_ns(CLOCK_MONOTONIC);
    }
    return unused;
}

static void die(const char *what)
{
    fprintf(stderr, "oracle-plugin: %s: %s\n", what, errno ? strerror(errno) : "cannot go on");
    _exit(1);
}

static int note_block(struct RAMBlock *block, void *unused)
{
    uint64_t bytes = qemu_ram_get_used_length(block);

    (void)unused;
    if (strncmp(qemu_ram_get_idstr(block), VIRT_FLASH, sizeof(VIRT_FLASH) - 1) == 0)
        return 0;
    if (!oracle.block || bytes > qemu_ram_get_used_length(oracle.block)) {
        oracle.second = oracle.block;
        oracle.block = block;
    } else if (!oracle.second || bytes > qemu_ram_get_used_length(oracle.second)) {
        oracle.second = block;
    }
    return 0;
}

/* phys_addr of a second block is ambiguous (see qemu_plugin_api.h): rather no truth than a wrong
 * one. */
static void find_ram(void)
{
    qemu_ram_foreach_block(note_block, NULL);
    errno = ENOTSUP;
    if (!oracle.block)
        die("no guest RAM");
    if (oracle.second && qemu_ram_get_used_length(oracle.second) >= SMALL_BLOCK_BYTES)
        die("guest RAM of several blocks");
    if (oracle.lab && qemu_ram_get_used_length(oracle.block) > ORACLE_MAX_LAB_BYTES)
        die("a lab with more than 3 GiB, whose frames are not one range");
    oracle.host = qemu_ram_get_host_addr(oracle.block);
    oracle.offset = qemu_ram_get_offset(oracle.block) + oracle.region_begin;
    oracle.bytes = qemu_ram_get_used_length(oracle.block);
    oracle.pages = oracle.bytes / ORACLE_PAGE_BYTES;
}

/* A file of our own: a guest started before may still write to the one that has this name. */
static void create_map(void)
{
    uint64_t bytes = oracle_file_bytes(oracle.slots, oracle.pages);
    int fd;

    unlink(oracle.map_path);
    fd = open(oracle.map_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
        die(oracle.map_path);
    oracle.header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (oracle.header == MAP_FAILED)
        die(oracle.map_path);
    close(fd);
    oracle.header->kinds = ORACLE_KINDS;
    oracle.header->pages = oracle.pages;
    oracle.header->slots = oracle.slots;
    oracle.header->slot_ns = oracle.slot_ns;
    oracle.header->maps_at = oracle_maps_at(oracle.slots);
    oracle.header->pid = (uint64_t)getpid();
    oracle.header->lab = oracle.lab;
    if (!oracle.lab)
        oracle.header->noted_since_ns = now_ns(CLOCK_REALTIME);
}

/* Not when the plugin is installed: then there is no RAM yet, and QEMU has still to fork
 * (-daemonize). */
static void start(void)
{
    sigset_t all, old;
    pthread_t clock;

    oracle.cpu = current_cpu;
    atomic_store(&noting, !oracle.lab);
    find_ram();
    create_map();
    begin(1);
    nested_begin(&(struct tables_ram){(const uint8_t *)oracle.host, oracle.bytes}, mark_walk,
                 &oracle.header->unwalked);
    __atomic_store_n(&oracle.header->magic, ORACLE_MAGIC, __ATOMIC_RELEASE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    errno = pthread_create(&clock, NULL, run_clock, NULL);
    if (errno)
        die("clock thread");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* An instruction that reads and writes makes two calls. */
static void mark_access(enum oracle_kind kind, uint32_t info, uint64_t vaddr)
{
    const struct qemu_plugin_hwaddr *address = qemu_plugin_get_hwaddr(info, vaddr);

    if (!address) {
        __atomic_fetch_add(&oracle.header->unresolved, 1, __ATOMIC_RELAXED);
        return;
    }
    if (qemu_plugin_hwaddr_is_io(address))
        return;

    uint64_t at = qemu_plugin_hwaddr_phys_addr(address) - oracle.offset;

    if (at < oracle.bytes) /* else firmware or video memory */
        mark(kind, at / ORACLE_PAGE_BYTES);
    if (at < oracle.bytes && kind == ORACLE_DATA && qemu_plugin_mem_is_store(info))
        mark(ORACLE_STORE, at / ORACLE_PAGE_BYTES);
}

/* The upper half of addresses is the kernel's. */
static bool is_user(uint64_t vaddr)
{
    return vaddr >> 63 == 0;
}

static void on_access(unsigned vcpu, uint32_t info, uint64_t vaddr, void *unused)
{
    uint64_t last = vaddr + (1ULL << qemu_plugin_mem_size_shift(info)) - 1;
    enum oracle_kind kind = ORACLE_DATA;

    (void)unused;
    if (oracle.lab && !nested_is_guest(vcpu)) {
        if (!is_user(vaddr))
            return;
        kind = ORACLE_HOST;
    } else if (oracle.lab) {
        nested_data(vcpu, vaddr);
        nested_data(vcpu, last);
    }
    mark_access(kind, info, vaddr);
    if (last / ORACLE_PAGE_BYTES != vaddr / ORACLE_PAGE_BYTES)
        mark_access(kind, info, last);
}

static void mark_fetch(unsigned vcpu, uint64_t page, bool begins)
{
    if (oracle.lab && !nested_is_guest(vcpu))
        return;
    if (oracle.lab)
        nested_fetch(vcpu, page, begins);
    mark(ORACLE_FETCH, page);
}

static void on_block(unsigned vcpu, void *page)
{
    mark_fetch(vcpu, (uint64_t)(uintptr_t)page, true);
}

static void on_next_page(unsigned vcpu, void *page)
{
    mark_fetch(vcpu, (uint64_t)(uintptr_t)page, false);
}

/* Whole pages, so a block's first instruction, and any on another page than the one before it, will
 * do. */
static void watch_fetch(struct qemu_plugin_tb *tb, struct qemu_plugin_insn *insn, bool first,
                        uint64_t *page)
{
    uint64_t here = (uintptr_t)qemu_plugin_insn_haddr(insn) - (uintptr_t)oracle.host;

    /* NULL, and ROM, lie outside */
    if (here >= oracle.bytes || here / ORACLE_PAGE_BYTES == *page)
        return;
    *page = here / ORACLE_PAGE_BYTES;
    mark(ORACLE_TRANSLATE, *page);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the number is all the context */
    void *context = (void *)(uintptr_t)*page;

    if (first)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_NO_REGISTERS, context);
    else
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_next_page, QEMU_PLUGIN_NO_REGISTERS,
                                               context);
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t page = UINT64_MAX;
    size_t n = qemu_plugin_tb_n_insns(tb);
    bool all;

    (void)id;
    pthread_once(&once, start);
    all = atomic_load(&noting);
    if (oracle.lab)
        nested_watch_block(tb);
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

        if (all)
            watch_fetch(tb, insn, i == 0, &page);
        if ((!oracle.lab || nested_watch(insn)) && all)
            qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_NO_REGISTERS,
                                             QEMU_PLUGIN_READ_AND_WRITE, NULL);
    }
}

/* "slots=64": true when it is that option and a number within bounds. */
static bool number_option(const char *option, const char *name, uint64_t low, uint64_t high,
                          uint64_t *out)
{
    size_t length = strlen(name);
    char *end;

    if (strncmp(option, name, length) != 0)
        return false;
    errno = 0;
    *out = strtoull(option + length, &end, 10);
    return end != option + length && !*end && !errno && *out >= low && *out <= high;
}

static bool take_option(const char *option)
{
    uint64_t ms;

    if (strncmp(option, "map=/", 5) == 0)
        oracle.map_path = strdup(option + 4);
    else if (strcmp(option, "lab=on") == 0)
        oracle.lab = true;
    else if (number_option(option, "slot_ms=", 1, 60000, &ms))
        oracle.slot_ns = ms * 1000000;
    else
        return number_option(option, "slots=", 4, ORACLE_MAX_SLOTS, &oracle.slots);
    return true;
}

__attribute__((visibility("default"))) int
qemu_plugin_install(uint64_t id, const struct qemu_plugin_info *info, int argc, char **argv)
{
    if (!info->system_emulation) {
        fprintf(stderr, "oracle-plugin: a whole machine is needed\n");
        return -1;
    }
    for (int i = 0; i < argc; i++)
        if (!take_option(argv[i])) {
            fprintf(stderr, "oracle-plugin: not an option, or out of range: %s\n", argv[i]);
            return -1;
        }
    if (oracle.lab && !x86_cpu_gdb_read_register) {
        fprintf(stderr, "oracle-plugin: lab=on: not of %s\n", info->target_name);
        return -1;
    }
    if (strcmp(info->target_name, "aarch64") == 0)
        oracle.region_begin = VIRT_RAM_BEGIN;
    if (!oracle.map_path) {
        fprintf(stderr, "oracle-plugin: needs map=/ABSOLUTE/PATH\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_flush_cb(id, on_flush);
    return 0;
}
