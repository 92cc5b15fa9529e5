// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file slots.c  A small VMM with memory slots where no other VMM has any: truth for the proof of
 * guest RAM (host/measure/ram_proof.h).
 *
 * The guest is 64-bit code of a few instructions. It touches a list of pages, one word in each,
 * executes CPUID (vm-images/README.md, "Lab") and begins again. Its page tables, its code and the
 * list lie at the begin of the first slot. The VMM itself touches decoys: mappings as large as the
 * slots that are no part of the guest.
 *
 * When the guest runs, a line of JSON tells where the slots are, and where the guest counts its
 * passes.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((uint64_t)4096)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define N_SLOTS 3
#define PRESENT_WRITABLE 0x3
#define HUGE 0x80

/* Guest-physical addresses of the first slot's own pages. */
enum { OWN_CODE, OWN_PML4, OWN_PDPT, OWN_PD, OWN_LIST = OWN_PD + N_SLOTS };

struct slot {
    uint64_t gpa, bytes;
    char *hva;
};

struct layout {
    const char *name;
    bool memfd;     /* a memfd for each slot, else one anonymous mapping for all */
    uint64_t align; /* of that mapping; the slots are this far apart, too */
    uint64_t gpa[N_SLOTS];
};

/* The first: neither hva nor gpa is aligned. The last can be mapped by huge pages. */
static const struct layout layouts[] = {
    {"anon", false, PAGE, {0x3000, 5 * GIB + 0x7000, 29 * GIB + 0x123000}},
    {"memfd", true, PAGE, {1 * GIB, 4 * GIB, 47 * GIB}},
    {"huge", false, 2 * MIB, {2 * MIB, 2 * GIB, 36 * GIB}},
};

static const uint64_t slot_bytes[N_SLOTS] = {32 * MIB, 64 * MIB, 16 * MIB};

static struct {
    const struct layout *layout;
    uint64_t hot_pages, seed;
    bool idle;  /* the guest halts at once */
    bool twice; /* the VMM has each memfd mapped a second time, and touches it there */
    bool twins; /* a second VM, with its slots at the same addresses */
    bool more;  /* 8 MiB are mapped before the first slot, as kvmtool does */
} choice = {.hot_pages = 512, .seed = 1};

static uint64_t draw(uint64_t n)
{
    choice.seed ^= choice.seed << 13;
    choice.seed ^= choice.seed >> 7;
    choice.seed ^= choice.seed << 17;
    return choice.seed % n;
}

static void *check(void *result, const char *what)
{
    if (result != MAP_FAILED)
        return result;
    fprintf(stderr, "slots: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int call(int fd, unsigned long request, const void *argument, const char *name)
{
    int rc = ioctl(fd, request, argument);

    check(rc < 0 ? MAP_FAILED : NULL, name);
    return rc;
}
#define CALL(fd, request, argument) call(fd, request, (const void *)(uintptr_t)(argument), #request)

/* rdi: the list of addresses; rsi: their number; rbp: counts passes. */
extern const char guest_code[], guest_halt[], guest_end[];
__asm__(".pushsection .rodata\n"
        "guest_code:\n"
        "1:  xorl %ecx, %ecx\n"
        "2:  movq (%rdi,%rcx,8), %rax\n"
        "    incq (%rax)\n"
        "    incq %rcx\n"
        "    cmpq %rsi, %rcx\n"
        "    jb 2b\n"
        "    xorl %eax, %eax\n"
        "    xorl %ecx, %ecx\n"
        "    cpuid\n"
        "    incq (%rbp)\n"
        "    jmp 1b\n"
        "guest_halt:\n"
        "    hlt\n"
        "    jmp guest_halt\n"
        "guest_end:\n"
        ".popsection\n");

/* --- memory ----------------------------------------------------------------------------------- */

/* A page without access around it keeps the kernel from joining it with others. */
static char *map_apart(uint64_t bytes, uint64_t align)
{
    char *all = check(mmap(NULL, bytes + align + 2 * PAGE, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                      "mmap");
    char *begin = (char *)(((uintptr_t)all + PAGE + align - 1) & ~(align - 1));

    check(mprotect(begin, bytes, PROT_READ | PROT_WRITE) < 0 ? MAP_FAILED : NULL, "mprotect");
    if (align > PAGE)
        madvise(begin, bytes, MADV_HUGEPAGE);
    return begin;
}

static void map_memfd(struct slot *slot)
{
    int fd = memfd_create("slot", 0);

    check(fd < 0 || ftruncate(fd, (off_t)slot->bytes) < 0 ? MAP_FAILED : NULL, "memfd");
    slot->hva = check(mmap(NULL, slot->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), "mmap");
    if (choice.twice)
        memset(check(mmap(NULL, slot->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), "mmap"), 1,
               slot->bytes);
}

static void map_slots(struct slot slots[N_SLOTS])
{
    const struct layout *layout = choice.layout;
    const uint64_t more = choice.more ? 8 * MIB : 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < N_SLOTS; i++) {
        slots[i] = (struct slot){layout->gpa[i], slot_bytes[i], NULL};
        sum += slots[i].bytes + layout->align;
    }

    char *at = layout->memfd ? NULL : map_apart(sum + more, layout->align);

    if (at)
        at += more;

    for (size_t i = 0; i < N_SLOTS; i++) {
        slots[i].hva = at;
        if (layout->memfd)
            map_memfd(&slots[i]);
        else
            at += slots[i].bytes + layout->align; /* a hole, which is no RAM */
        memset(slots[i].hva, 0, slots[i].bytes);
    }
}

static void identity_map(struct slot *first, const struct slot slots[N_SLOTS])
{
    uint64_t *own = (uint64_t *)first->hva;
    uint64_t *pdpt = own + OWN_PDPT * PAGE / 8;

    own[OWN_PML4 * PAGE / 8] = (first->gpa + OWN_PDPT * PAGE) | PRESENT_WRITABLE;
    for (uint64_t i = 0; i < N_SLOTS; i++) {
        const uint64_t gib = slots[i].gpa / GIB;
        uint64_t *pd = own + (OWN_PD + i) * PAGE / 8;

        pdpt[gib] = (first->gpa + (OWN_PD + i) * PAGE) | PRESENT_WRITABLE;
        for (uint64_t entry = 0; entry < 512; entry++)
            pd[entry] = gib * GIB + entry * 2 * MIB + (HUGE | PRESENT_WRITABLE);
    }
}

/* Fills the list with hot pages; returns how many different ones there are. */
static uint64_t list_hot(struct slot slots[N_SLOTS])
{
    const uint64_t own_bytes = OWN_LIST * PAGE + choice.hot_pages * 8 + PAGE;
    uint64_t *list = (uint64_t *)(slots[0].hva + OWN_LIST * PAGE);
    uint64_t different = 0;
    char *seen = calloc(N_SLOTS, 64 * MIB / PAGE);

    for (uint64_t i = 0; i < choice.hot_pages; i++) {
        const uint64_t s = i % N_SLOTS;
        const uint64_t begin = s == 0 ? own_bytes / PAGE : 0;
        const uint64_t page = begin + draw(slots[s].bytes / PAGE - begin);

        list[i] = slots[s].gpa + page * PAGE + draw(PAGE / 8) * 8;
        different += !seen[s * (64 * MIB / PAGE) + page]++;
    }
    free(seen);
    return different;
}

/* --- the virtual machine ---------------------------------------------------------------------- */

static int make_vcpu(int kvm, int vm, const struct slot *first)
{
    int vcpu = CALL(vm, KVM_CREATE_VCPU, 0);
    struct kvm_sregs sregs;
    struct kvm_segment code = {
        .base = 0, .limit = ~0U, .selector = 8, .type = 11, .present = 1, .s = 1, .l = 1, .g = 1};
    struct kvm_segment data = code;
    struct kvm_regs regs = {
        .rip = first->gpa + OWN_CODE * PAGE +
               (choice.idle ? (uint64_t)(guest_halt - guest_code) : 0),
        .rdi = first->gpa + OWN_LIST * PAGE,
        .rsi = choice.hot_pages,
        .rbp = first->gpa + OWN_CODE * PAGE + PAGE - 8,
        .rflags = 2,
    };

    struct kvm_cpuid2 *cpuid = calloc(1, sizeof(*cpuid) + 256 * sizeof(*cpuid->entries));

    cpuid->nent = 256;
    CALL(kvm, KVM_GET_SUPPORTED_CPUID, cpuid);
    CALL(vcpu, KVM_SET_CPUID2, cpuid); /* without, there is neither long mode nor 64 GiB */
    free(cpuid);
    CALL(vcpu, KVM_GET_SREGS, &sregs);
    data.type = 3;
    data.selector = 16;
    data.l = 0;
    data.db = 1;
    sregs.cs = code;
    sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = data;
    sregs.cr0 = 0x80000011;
    sregs.cr3 = first->gpa + OWN_PML4 * PAGE;
    sregs.cr4 = 0x20;
    sregs.efer = 0x500;
    CALL(vcpu, KVM_SET_SREGS, &sregs);
    CALL(vcpu, KVM_SET_REGS, &regs);
    return vcpu;
}

struct run {
    int vcpu;
    struct kvm_run *state;
};

static void *run_vcpu(void *context)
{
    struct run *run = context;

    while (ioctl(run->vcpu, KVM_RUN, 0) == 0 || errno == EINTR)
        if (run->state->exit_reason != KVM_EXIT_HLT && run->state->exit_reason != KVM_EXIT_INTR)
            break;
        else if (run->state->exit_reason == KVM_EXIT_HLT)
            pause();
    fprintf(stderr, "slots: KVM_RUN: exit reason %u\n", run->state->exit_reason);
    exit(1);
}

static void start_vm(int kvm, struct slot slots[N_SLOTS])
{
    int vm = CALL(kvm, KVM_CREATE_VM, 0);
    struct run *run = calloc(1, sizeof(*run));
    pthread_t thread;

    for (uint32_t i = 0; i < N_SLOTS; i++) {
        struct kvm_userspace_memory_region region = {.slot = i,
                                                     .guest_phys_addr = slots[i].gpa,
                                                     .memory_size = slots[i].bytes,
                                                     .userspace_addr = (uintptr_t)slots[i].hva};

        CALL(vm, KVM_SET_USER_MEMORY_REGION, &region);
    }
    memcpy(slots[0].hva, guest_code, (size_t)(guest_end - guest_code));
    identity_map(&slots[0], slots);

    const uint64_t different = list_hot(slots);
    const uint64_t own = 1 + (choice.hot_pages * 8 + PAGE - 1) / PAGE;

    run->vcpu = make_vcpu(kvm, vm, &slots[0]);
    run->state = check(mmap(NULL, (size_t)CALL(kvm, KVM_GET_VCPU_MMAP_SIZE, 0),
                            PROT_READ | PROT_WRITE, MAP_SHARED, run->vcpu, 0),
                       "mmap of the vCPU");
    pthread_create(&thread, NULL, run_vcpu, run);

    /* Page tables are walked only when a translation is looked up. */
    printf("{\"pid\":%d,\"truth_low\":%" PRIu64 ",\"truth_high\":%" PRIu64 ",\"passes\":%" PRIu64
           ",\"slots\":[",
           (int)getpid(), choice.idle ? 0 : (different + own) * PAGE,
           choice.idle ? 0 : (different + own + OWN_LIST - OWN_PML4) * PAGE,
           (uint64_t)(uintptr_t)slots[0].hva + PAGE - 8);
    for (size_t i = 0; i < N_SLOTS; i++)
        printf("%s{\"gpa\":%" PRIu64 ",\"hva\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", i ? "," : "",
               slots[i].gpa, (uint64_t)(uintptr_t)slots[i].hva, slots[i].bytes);
    printf("]}\n");
    fflush(stdout);
}

/* --- what is not the guest's ------------------------------------------------------------------ */

static void touch_decoys(void)
{
    char *decoys[N_SLOTS];

    for (size_t i = 0; i < N_SLOTS; i++) {
        decoys[i] = map_apart(slot_bytes[i], choice.layout->align);
        memset(decoys[i], 1, slot_bytes[i]);
    }
    for (;;) {
        decoys[draw(N_SLOTS)][draw(slot_bytes[N_SLOTS - 1])]++;
        usleep(1000);
    }
}

static void set_layout(const char *name)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (strcmp(layouts[i].name, name) == 0)
            choice.layout = &layouts[i];
}

int main(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "l:h:s:i2vm")) != -1)
        switch (option) {
        case 'l':
            set_layout(optarg);
            break;
        case 'h':
            choice.hot_pages = strtoull(optarg, NULL, 10);
            break;
        case 's':
            choice.seed = 2 * strtoull(optarg, NULL, 10) + 1;
            break;
        case 'i':
            choice.idle = true;
            break;
        case '2':
            choice.twice = true;
            break;
        case 'v':
            choice.twins = true;
            break;
        case 'm':
            choice.more = true;
            break;
        default:
            choice.layout = NULL;
            optind = argc + 1;
        }
    if (!choice.layout || optind != argc || choice.hot_pages == 0 || choice.hot_pages > 65536) {
        fprintf(
            stderr,
            "Usage: slots -l anon|memfd|huge [-h HOT-PAGES] [-s SEED] [-i] [-2] [-v] [-m]\n"
            "-i: the guest halts; -2: memfds are mapped twice; -v: two VMs; -m: a mapping larger than "
            "its slots\n");
        return 2;
    }

    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    struct slot slots[N_SLOTS];

    check(kvm < 0 ? MAP_FAILED : NULL, "/dev/kvm");
    for (int vm = 0; vm <= choice.twins; vm++) {
        map_slots(slots);
        start_vm(kvm, slots);
    }
    touch_decoys();
}
