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
#include "machine.h"

#define GIB MACHINE_GIB
#define TABLES 3 /* page directory pointer tables: QEMU may put high RAM at 1 TiB */
#define GIB_PER_TABLE 512
#define MAX_GIB (TABLES * GIB_PER_TABLE)

extern uint64_t boot_pdpt[MAX_GIB];
extern char payload_end[];

/* A page of its own; spin_enter() makes the rest of it the stack. */
static union {
    struct state state;
    char page[4096];
} own __attribute__((aligned(4096)));

static uint64_t next_free;

static void put(const char *text)
{
    while (*text)
        machine_put_char(*text++);
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
        machine_put_char(*where);
    put(*word ? " " : "");
    put(what);
    put("\n");
}

/** start= counts from where RAM begins. */
static uint64_t region_begin(const struct state *state)
{
    return MACHINE_RAM_BEGIN + state->params.start;
}

/** Adds the usable part of one range of RAM to the region; pages is what the region still lacks. */
static uint64_t add_range(struct state *state, unsigned int slot, uint64_t base, uint64_t end,
                          uint64_t done)
{
    struct range *range = &state->ranges[slot];
    uint64_t pages;

    if (base < region_begin(state))
        base = region_begin(state);
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
static const char *find_region(struct state *state, const struct machine_info *info)
{
    uint64_t last = 0, done = 0;
    unsigned int slot = 0;

    for (unsigned int i = 0; i < info->ram_count && done < state->params.total_pages; i++) {
        const struct machine_ram *ram = &info->ram[i];

        if (ram->base < last)
            return "the memory map is not in ascending order";
        last = ram->end;
        if (slot == MAX_RANGES)
            return "the memory map has too many pieces";
        done += add_range(state, slot, ram->base, ram->end, done);
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
        directory[i] = (number * GIB + i * PARAMS_HUGE_SIZE) | MACHINE_BLOCK;
    boot_pdpt[number] = (uint64_t)directory | MACHINE_TABLE;
    return NULL;
}

/** Maps the region; what is wrong, or NULL. */
static const char *map_region(const struct state *state)
{
    /* QEMU's information lies directly behind the image; by now everything in it was copied. */
    next_free = (uint64_t)payload_end;
    if (next_free > region_begin(state))
        return "start= overlaps the payload";
    for (unsigned int i = 0; i < MAX_RANGES && state->ranges[i].end_page; i++) {
        const struct range *range = &state->ranges[i];

        for (uint64_t gib = range->gpa / GIB; gib * GIB < range_end(range); gib++) {
            const char *wrong = map_gib(gib, region_begin(state));

            if (wrong)
                return wrong;
        }
    }
    machine_tables_written();
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

/** A timer that has not moved after so many reads is none: a read takes no less than 0.1 us, and a
 * tick 0.28. */
#define TIMER_READS 100000

/** The time stamp counter's frequency, by a timer that is right over 50 ms: good enough, see
 * spin.c. 0: there is no timer. */
static uint64_t measure_clock(void)
{
    uint32_t begin = read_timer(), ticks;
    uint64_t stamp = read_tsc();
    unsigned int reads = 0;

    do
        ticks = (read_timer() - begin) & TIMER_MASK;
    while (ticks < TIMER_HZ / 20 && (ticks > 0 || ++reads < TIMER_READS));
    return ticks > 0 ? (read_tsc() - stamp) * TIMER_HZ / ticks + 1 : 0;
}

static bool is_used(const uint64_t *used, unsigned int gib)
{
    return used[gib / 64] >> gib % 64 & 1;
}

/** Pages that the steady state touches beside the hot set: code, state, page tables walked. */
static uint64_t own_pages(const struct state *state)
{
    uint64_t used[MAX_GIB / 64] = {UINT64_C(1) << MACHINE_RAM_BEGIN / GIB}; /* code and state */
    uint64_t pages = 3; /* code, state, page map level 4 */
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

static const char *prepare(struct state *state, const uint64_t start[2], const char **where)
{
    struct machine_info info = {.command = ""};
    const char *wrong = machine_read(start, &info);

    if (wrong)
        return wrong;
    wrong = params_parse(&state->params, info.command, where);
    if (wrong)
        return wrong;
    *where = "";
    wrong = find_region(state, &info);
    return wrong ? wrong : map_region(state);
}

static const char *begin(struct state *state, const uint64_t start[2], const char **where)
{
    const char *wrong = prepare(state, start, where);

    if (wrong)
        return wrong;
    state->magic = STATE_MAGIC;
    state->hot_pages = state->params.hot_pages;
    populate(state);
    if (state->params.balloon_pages)
        return balloon_inflate(state);
    return state->params.balloon_follows ? balloon_follow_begin() : NULL;
}

void payload_main(uint64_t first, uint64_t second)
{
    const uint64_t start[2] = {first, second};
    struct state *state = &own.state;
    const char *where = "", *wrong = begin(state, start, &where);

    if (wrong) {
        put_error(wrong, where);
        return;
    }
    if (state->params.phase_count && (state->clock_hz = measure_clock()) == 0) {
        put_error("phases= needs a timer, on a PC that of ACPI", "");
        return;
    }
    if (state->params.rests && (wrong = machine_rest_begin())) {
        put_error(wrong, "");
        return;
    }
    if (state->params.idle)
        machine_quiet();
    put_ready(state);
    spin_enter(state);
}
