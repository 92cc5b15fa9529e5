// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file payload.c  A guest whose working set is known: prepares the region, then spins.
 *
 * Theory of Operation: the region is the first total= bytes of usable RAM at or above start=, in
 * ascending GPA, of which only whole aligned 2 MiB pieces count; what firmware reserves and the PCI
 * hole are skipped. Page i of the region is therefore the i-th such page, and i / 512 is a 2 MiB
 * unit of the guest's physical memory too. Every 2 MiB are mapped one to one by one entry; a page
 * directory is allocated for each GiB in use, behind the image and below start=.
 */
#include "balloon.h"

#define MULTIBOOT_LOADED 0x2badb002
#define MULTIBOOT_HAS_MAP 0x40
#define MULTIBOOT_HAS_COMMAND 0x4
#define MULTIBOOT_RAM 1

#define GIB (UINT64_C(1) << 30)
#define TABLES 3 /* page directory pointer tables: QEMU may put high RAM at 1 TiB */
#define GIB_PER_TABLE 512
#define MAX_GIB (TABLES * GIB_PER_TABLE)
#define PRESENT_WRITABLE 0x3
#define HUGE_PAGE 0x80

struct multiboot_info {
    uint32_t flags;
    uint32_t unused[3];
    uint32_t command;
    uint32_t unused2[6];
    uint32_t map_length;
    uint32_t map;
};

struct multiboot_range {
    uint32_t size; /**< of what follows */
    uint64_t base;
    uint64_t length;
    uint32_t type;
} __attribute__((packed));

extern uint64_t boot_pdpt[MAX_GIB];
extern char payload_end[];

/* A page of its own; spin_enter() makes the rest of it the stack. */
static union {
    struct state state;
    char page[4096];
} own __attribute__((aligned(4096)));

static uint64_t next_free;

/* gcc emits calls to these two whatever it is told. */
void *memset(void *to, int byte, size_t size)
{
    void *end = to;

    __asm__ volatile("rep stosb" : "+D"(end), "+c"(size) : "a"(byte) : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    void *end = to;

    __asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(size) : : "memory");
    return to;
}

static void out_byte(uint16_t port, uint8_t byte)
{
    __asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"(port));
}

static uint8_t in_byte(uint16_t port)
{
    uint8_t byte;

    __asm__ volatile("inb %1, %0" : "=a"(byte) : "Nd"(port));
    return byte;
}

#define PIT_CHANNEL_0 0x40
#define PIT_CONTROL 0x43
/* Channel 0, its count in two bytes, mode 0: one interrupt when it has counted down, and none
 * after. */
#define PIT_ONCE 0x30

/**
 * SeaBIOS leaves the interval timer (Intel 8254) ticking 18.2 times a second. A halted guest that
 * masks interrupts does not mind, but its QEMU wakes up for each tick: 0.25 % of a core, and there
 * may be a thousand of them.
 */
static void stop_pit(void)
{
    out_byte(PIT_CONTROL, PIT_ONCE);
    out_byte(PIT_CHANNEL_0, 1);
    out_byte(PIT_CHANNEL_0, 0);
}

#define SERIAL 0x3f8
#define DEBUG_CONSOLE 0xe9

static void put_char(char c)
{
    /* Bounded: a port that is not there reads as ready, but a stuck one must not stop us. */
    for (int i = 0; i < 100000 && !(in_byte(SERIAL + 5) & 0x20); i++)
        ;
    out_byte(SERIAL, (uint8_t)c);
    out_byte(DEBUG_CONSOLE, (uint8_t)c);
}

static void put(const char *text)
{
    while (*text)
        put_char(*text++);
}

static void put_number(uint64_t number, unsigned int base)
{
    char digits[24];
    int i = sizeof(digits);

    digits[--i] = '\0';
    do
        digits[--i] = "0123456789abcdef"[number % base];
    while (number /= base);
    put(base == 16 ? "0x" : "");
    put(digits + i);
}

static void put_error(const char *what, const char *where)
{
    const char *word = where;

    put("vmwss-payload error: ");
    for (; *where && *where != ' '; where++)
        put_char(*where);
    put(*word ? " " : "");
    put(what);
    put("\n");
}

/** QEMU puts the payload's file name, blanks and all, before the parameters. */
static const char *skip_file_name(const char *command)
{
    const char *word = command;

    for (const char *p = command; *p; p++) {
        if (*p == ' ')
            word = p + 1;
        if (*p == '=')
            return word;
    }
    return "";
}

/** Adds the usable part of one range of RAM to the region; pages is what the region still lacks. */
static uint64_t add_range(struct state *state, unsigned int slot, uint64_t base, uint64_t end,
                          uint64_t done)
{
    struct range *range = &state->ranges[slot];
    uint64_t pages;

    if (base < state->params.start)
        base = state->params.start;
    base = (base + PARAMS_HUGE_SIZE - 1) / PARAMS_HUGE_SIZE * PARAMS_HUGE_SIZE;
    end = end / PARAMS_HUGE_SIZE * PARAMS_HUGE_SIZE;
    if (base >= end)
        return 0;
    pages = (end - base) / PARAMS_PAGE_SIZE;
    if (pages > state->params.total_pages - done)
        pages = state->params.total_pages - done;
    *range = (struct range){.gpa = base, .first_page = done, .end_page = done + pages};
    return pages;
}

/** Lays the region out over the memory map; what is wrong, or NULL. */
static const char *find_region(struct state *state, const struct multiboot_info *info)
{
    uint64_t at = info->map, last = 0, done = 0;
    unsigned int slot = 0;

    while (at < info->map + info->map_length && done < state->params.total_pages) {
        const struct multiboot_range *ram = (const struct multiboot_range *)at;

        at += ram->size + sizeof(ram->size);
        if (ram->type != MULTIBOOT_RAM)
            continue;
        if (ram->base < last)
            return "the memory map is not in ascending order";
        last = ram->base + ram->length;
        if (slot == MAX_RANGES)
            return "the memory map has too many pieces";
        done += add_range(state, slot, ram->base, last, done);
        if (state->ranges[slot].end_page)
            slot++;
    }
    return done < state->params.total_pages ? "total= is more than the guest's usable RAM" : NULL;
}

static uint64_t range_end(const struct range *range)
{
    return range->gpa + (range->end_page - range->first_page) * PARAMS_PAGE_SIZE;
}

static const char *map_gib(uint64_t number, uint64_t limit)
{
    uint64_t *directory = (uint64_t *)next_free;

    if (number >= MAX_GIB)
        return "total= ends above 1536G";
    if (boot_pdpt[number])
        return NULL;
    next_free += PARAMS_PAGE_SIZE;
    if (next_free > limit)
        return "start= leaves no room for page tables";
    for (uint64_t i = 0; i < 512; i++)
        directory[i] = (number * GIB + i * PARAMS_HUGE_SIZE) | PRESENT_WRITABLE | HUGE_PAGE;
    boot_pdpt[number] = (uint64_t)directory | PRESENT_WRITABLE;
    return NULL;
}

/** Maps the region; what is wrong, or NULL. */
static const char *map_region(const struct state *state)
{
    /* QEMU's information lies directly behind the image; by now everything in it was copied. */
    next_free = (uint64_t)payload_end;
    if (next_free > state->params.start)
        return "start= overlaps the payload";
    for (unsigned int i = 0; i < MAX_RANGES && state->ranges[i].end_page; i++) {
        const struct range *range = &state->ranges[i];

        for (uint64_t gib = range->gpa / GIB; gib * GIB < range_end(range); gib++) {
            const char *wrong = map_gib(gib, state->params.start);

            if (wrong)
                return wrong;
        }
    }
    return NULL;
}

/** Writes to every page to be populated; the words differ, so that KSM finds nothing to merge. */
static void populate(const struct state *state)
{
    const struct params *params = &state->params;

    for (uint64_t page = 0; page < params->total_pages; page++)
        if (params->populate == POPULATE_ALL ||
            (params->populate == POPULATE_HOT &&
             pattern_is_hot(&params->pattern, page, params->hot_pages)))
            *state_word(state, page) = page + 1;
}

/** The time stamp counter's frequency, by the ACPI timer over 50 ms: good enough, see spin.c. */
static uint64_t measure_clock(void)
{
    uint32_t begin = read_pm_timer(), ticks;
    uint64_t stamp = read_tsc();

    do
        ticks = (read_pm_timer() - begin) & PM_TIMER_MASK;
    while (ticks < PM_TIMER_HZ / 20);
    return (read_tsc() - stamp) * PM_TIMER_HZ / ticks + 1;
}

static bool is_used(const uint64_t *used, unsigned int gib)
{
    return used[gib / 64] >> gib % 64 & 1;
}

/** Pages that the steady state touches beside the hot set: code, state, page tables walked. */
static uint64_t own_pages(const struct state *state)
{
    uint64_t used[MAX_GIB / 64] = {1}; /* the first GiB holds code and state */
    uint64_t pages = 3;                /* code, state, page map level 4 */
    unsigned int last_table = TABLES;

    for (uint64_t j = 0; j < state->hot_pages; j++) {
        uint64_t gib = (uint64_t)state_word(state, pattern_page(&state->params.pattern, j)) / GIB;

        used[gib / 64] |= UINT64_C(1) << gib % 64;
    }
    for (unsigned int gib = 0; gib < MAX_GIB; gib++) {
        if (!is_used(used, gib))
            continue;
        pages += gib / GIB_PER_TABLE == last_table ? 1 : 2; /* a directory, and its table */
        last_table = gib / GIB_PER_TABLE;
    }
    return pages;
}

static void put_ready(const struct state *state)
{
    put("vmwss-payload ready total=");
    put_number(state->params.total_pages * PARAMS_PAGE_SIZE, 10);
    put(" hot_pages=");
    put_number(state->hot_pages, 10);
    put(" own_pages=");
    put_number(own_pages(state), 10);
    put(" state=");
    put_number((uint64_t)state, 16);
    put(" ranges=");
    for (unsigned int i = 0; i < MAX_RANGES && state->ranges[i].end_page; i++) {
        put(i ? "," : "");
        put_number(state->ranges[i].gpa, 16);
        put("-");
        put_number(range_end(&state->ranges[i]), 16);
    }
    put("\n");
}

static const char *prepare(struct state *state, const struct multiboot_info *info,
                           const char **where)
{
    const char *command = "", *wrong;

    if (info->flags & MULTIBOOT_HAS_COMMAND)
        command = skip_file_name((const char *)(uint64_t)info->command);
    wrong = params_parse(&state->params, command, where);
    if (wrong)
        return wrong;
    *where = "";
    if (!(info->flags & MULTIBOOT_HAS_MAP))
        return "the loader gave no memory map";
    wrong = find_region(state, info);
    return wrong ? wrong : map_region(state);
}

void payload_main(uint32_t magic, const struct multiboot_info *info);
void payload_main(uint32_t magic, const struct multiboot_info *info)
{
    struct state *state = &own.state;
    const char *where = "", *wrong = "not started by a multiboot loader";

    if (magic == MULTIBOOT_LOADED)
        wrong = prepare(state, info, &where);
    if (wrong) {
        put_error(wrong, where);
        return;
    }
    state->magic = STATE_MAGIC;
    state->hot_pages = state->params.hot_pages;
    populate(state);
    if (state->params.balloon_pages)
        wrong = balloon_inflate(state);
    else if (state->params.balloon_follows)
        wrong = balloon_follow_begin();
    if (wrong) {
        put_error(wrong, where);
        return;
    }
    if (state->params.phase_count)
        state->clock_hz = measure_clock();
    if (state->params.idle)
        stop_pit();
    put_ready(state);
    spin_enter(state);
}
