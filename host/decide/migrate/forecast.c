// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/migrate/forecast.h"

#include "measure/record/sample_record.h"
#include "measure/tally.h"

#include <math.h>

#define PAGE MIGRATE_PAGE_BYTES
#define PAGE_WIRE (PAGE + 8)
#define ZERO_WIRE 9
/* QEMU's BUFFER_DELAY */
#define SLICE_S 0.1
/* A slice ends late, as QEMU sleeps for whole milliseconds and then waits for a CPU: QEMU 7.2
 * reached 0.99 of 20 MiB/s on a machine with a load of 3.5 for each CPU, 0.90 to 0.94 of 2 to 8
 * MiB/s with one of 14. */
static const double slice_late[] = {[DIRTY_LOW] = 1, [DIRTY_MIDDLE] = 1.02, [DIRTY_HIGH] = 1.1};
/* Rounds after which a migration that has not come to its end never will. */
#define ROUNDS_MOST 400
/* The guest still runs for this time after QEMU has decided to stop it. */
#define STOPPING_S 0.002
#define PIECE_BYTES 0x1p30
/* auto-converge looks at what was written and sent since it last looked, at least a second before,
 * and slows the guest down every second time that this was too much. */
#define THROTTLE_EVERY_S 1.0
#define THROTTLE_TIMES 2
#define BISECTIONS 40
#define SLICE_PARTS 5

/* One way through the rounds: which bounds hold. */
struct way {
    const struct write_curve *writes;
    enum dirty_bound bound;
    double ram_bytes, filled_bytes;
    double bandwidth_bytes_s, link_bytes_s, switchover_bytes_s, downtime_s, device_s, zero_page_s;
    double late;                             /* a slice lasts so much longer than it should */
    double tracked;                          /* share of a round's time in which writes are seen */
    const struct migrate_throttle *throttle; /* NULL: no auto-converge */
};

struct course {
    bool converges;
    double now_s, round_s, sent_bytes, left_bytes, downtime_s;
    double throttle;
    struct {
        double begin_s, dirty_bytes, sent_bytes;
        unsigned n_high;
    } period; /* of auto-converge */
    unsigned n;
    struct migrate_round rounds[MIGRATE_ROUNDS_KEPT];
};

static double dirty_within(const struct way *way, const struct course *course,
                           enum dirty_bound bound, double seconds)
{
    return dirty_bytes(way->writes, bound, seconds * (1 - course->throttle) * way->tracked,
                       way->ram_bytes);
}

static double written(const struct way *way, const struct course *course, double seconds)
{
    return dirty_within(way, course, way->bound, seconds);
}

/* By the number itself, whichever bound. */
static double usual(const struct way *way, const struct course *course, double seconds)
{
    return dirty_within(way, course, DIRTY_MIDDLE, seconds);
}

/* The speed that QEMU reaches, and measures. */
static double wire_bytes_s(const struct way *way)
{
    return fmin(way->bandwidth_bytes_s / way->late, way->link_bytes_s);
}

static double slice_s(const struct way *way)
{
    return SLICE_S * way->late;
}

/* The share of what is written within @p seconds that was also written in the round before them. */
static double share_again(const struct way *way, const struct course *course, double seconds)
{
    const double before = usual(way, course, course->round_s);
    const double now = usual(way, course, seconds);

    return now > 0 ? (before + now - usual(way, course, course->round_s + seconds)) / now : 0;
}

/* The pages that can be left from one round and written in the next, of @p seconds: all that were
 * written so far. Of the round before, however, QEMU has sent the first in the order of their
 * addresses, so that those left are a random part of them, and that round's writes are among them.
 * The pool decides what the two have in common, so the bounds for new pages are of no use: they
 * would have a guest that writes the same pages for ever write others. */
static double pool_bytes(const struct way *way, const struct course *course, double seconds)
{
    const double all = usual(way, course, course->now_s + seconds);
    const double again = share_again(way, course, seconds);

    return again > 0 ? fmin(all, course->left_bytes / again) : all;
}

/* QEMU sends so many bytes of RAM in one slice. */
static double slice_bytes(const struct way *way)
{
    return wire_bytes_s(way) * slice_s(way) * PAGE / PAGE_WIRE;
}

static double threshold_bytes(const struct way *way)
{
    const double speed = way->switchover_bytes_s > 0 ? way->switchover_bytes_s : wire_bytes_s(way);

    return speed * way->downtime_s;
}

double migrate_threshold_bytes(const struct migrate_path *path)
{
    return threshold_bytes(&(struct way){.bandwidth_bytes_s = path->bandwidth_bytes_s.value,
                                         .link_bytes_s = path->link_bytes_s.value,
                                         .switchover_bytes_s = path->switchover_bytes_s,
                                         .downtime_s = path->downtime_s,
                                         .late = 1});
}

/*
 * Pages left from the round before, and those written in this one: some are both. If either is a
 * random part of the @p pool of pages that can be in it, this is how many are in one of them.
 */
static double joined(double left, double dirty, double pool)
{
    pool = fmax(pool, fmax(left, dirty));
    return pool > 0 ? left + dirty - left * dirty / pool : 0;
}

/* cpu-throttle: migration_trigger_throttle(). */
static void slow_down(const struct way *way, struct course *course, double dirty, double sent)
{
    const struct migrate_throttle *throttle = way->throttle;

    course->period.dirty_bytes += dirty;
    course->period.sent_bytes += sent;
    if (!throttle || course->now_s - course->period.begin_s < THROTTLE_EVERY_S)
        return;
    if (course->period.dirty_bytes > throttle->trigger * course->period.sent_bytes &&
        ++course->period.n_high == THROTTLE_TIMES) {
        course->period.n_high = 0;
        course->throttle = course->throttle > 0
                               ? fmin(course->throttle + throttle->step, throttle->most)
                               : throttle->first;
    }
    course->period.begin_s = course->now_s;
    course->period.dirty_bytes = course->period.sent_bytes = 0;
}

static void keep_round(struct course *course, double seconds, double wire_bytes)
{
    if (course->n < MIGRATE_ROUNDS_KEPT)
        course->rounds[course->n] = (struct migrate_round){course->now_s, seconds, wire_bytes,
                                                           course->left_bytes};
    course->n++;
    course->round_s = seconds;
    course->now_s += seconds;
    course->sent_bytes += wire_bytes;
}

/* The share of filled pages among the last of RAM, which the first round leaves: QEMU counts zero
 * pages as left, too, and they cost nothing afterwards. Before the sparse end it is not known where
 * they lie, within it that there are few. */
static double filled_tail(const struct way *way)
{
    const double threshold = threshold_bytes(way);
    const double sparse = (double)way->writes->sparse_end_bytes;

    if (threshold <= 0)
        return 0;

    const double rest = fmax(0, threshold - sparse) / threshold;

    if (way->bound == DIRTY_HIGH || way->ram_bytes - way->filled_bytes < threshold)
        return fmin(1, rest + sparse / SPARSE_PART / threshold);
    return way->bound == DIRTY_LOW ? 0 : rest * way->filled_bytes / way->ram_bytes;
}

/* The first round: all of RAM, down to the threshold. */
static void first_round(const struct way *way, struct course *course)
{
    const double zero_pages = fmax(0, way->ram_bytes - way->filled_bytes) / PAGE;
    const double slice = slice_bytes(way), threshold = threshold_bytes(way);
    const double slices = ceil(fmax(0, way->filled_bytes - threshold * filled_tail(way)) / slice);
    const double sent = fmin(way->filled_bytes, slices * slice);
    /* Each zero page costs bytes too, of the same slices. */
    const double zero_s = zero_pages * fmax(way->zero_page_s, ZERO_WIRE / wire_bytes_s(way));
    const double seconds = fmax(1, slices) * slice_s(way) + zero_s;
    const double dirty = written(way, course, seconds);

    course->left_bytes = joined(way->filled_bytes - sent, dirty, way->filled_bytes);
    keep_round(course, seconds, sent / PAGE * PAGE_WIRE + zero_pages * ZERO_WIRE);
    slow_down(way, course, dirty, sent);
}

/* A later one: whole slices until less than the threshold is left. */
static void next_round(const struct way *way, struct course *course)
{
    const double slice = slice_bytes(way), threshold = threshold_bytes(way);
    const double slices = fmax(1, ceil((course->left_bytes - threshold) / slice));
    const double sent = fmin(course->left_bytes, slices * slice);
    /* All of it may be sent before the last slice ends, and then nothing waits for its end. */
    const double seconds = fmax(STOPPING_S, fmin(slices, sent / slice) * slice_s(way));
    const double dirty = written(way, course, seconds);
    const double pool = pool_bytes(way, course, seconds);

    course->left_bytes = joined(course->left_bytes - sent, dirty, pool);
    keep_round(course, seconds, sent / PAGE * PAGE_WIRE);
    slow_down(way, course, dirty, sent);
}

/* Without a page left there is nothing to wait for. */
static bool is_done(const struct way *way, const struct course *course)
{
    return course->left_bytes < fmax(threshold_bytes(way), 1);
}

static struct course run(const struct way *way)
{
    struct course course = {.n = 0};

    first_round(way, &course);
    while (!is_done(way, &course) && course.n < ROUNDS_MOST) {
        const double before = course.left_bytes;

        next_round(way, &course);
        /* The same again and again: each round is what the last one was. */
        if (fabs(course.left_bytes - before) < PAGE && !is_done(way, &course) &&
            (!way->throttle || course.throttle >= way->throttle->most))
            break;
    }
    course.converges = is_done(way, &course);
    if (course.converges) {
        const double last = joined(course.left_bytes, written(way, &course, STOPPING_S),
                                   usual(way, &course, course.now_s));

        course.downtime_s = way->device_s + last / PAGE * PAGE_WIRE / way->link_bytes_s;
        course.now_s += course.downtime_s;
        course.sent_bytes += last / PAGE * PAGE_WIRE;
    }
    return course;
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* For the migration the low bound of all that slows it down is best, the high one worst; of speeds
 * it is the reverse. */
static double cost(const struct migrate_range *range, enum dirty_bound bound)
{
    return bound == DIRTY_LOW ? range->low : bound == DIRTY_HIGH ? range->high : range->value;
}

static double speed(const struct migrate_range *range, enum dirty_bound bound)
{
    return bound == DIRTY_LOW ? range->high : bound == DIRTY_HIGH ? range->low : range->value;
}

static struct way way_of(const struct migrate_memory *memory, const struct migrate_path *path,
                         enum dirty_bound bound)
{
    static const struct write_curve no_writes = {.n = 0};
    const double pieces = ceil(memory->ram_bytes / PIECE_BYTES);
    const unsigned less = bound == DIRTY_LOW ? path->unforetold : 0;

    return (struct way){
        .writes = less & MIGRATE_SENDS_LESS_WRITES ? &no_writes : memory->writes,
        .bound = bound,
        .ram_bytes = memory->ram_bytes,
        .filled_bytes = less & MIGRATE_SENDS_LESS_MEMORY ? 0 : cost(&memory->filled_bytes, bound),
        .bandwidth_bytes_s = speed(&path->bandwidth_bytes_s, bound),
        .link_bytes_s = speed(&path->link_bytes_s, bound),
        .switchover_bytes_s = path->switchover_bytes_s,
        .downtime_s = path->downtime_s,
        .device_s = cost(&path->device_s, bound),
        .zero_page_s = cost(&path->zero_page_s, bound),
        .late = slice_late[bound],
        .tracked = path->tracks_pieces && pieces > 1 && bound != DIRTY_HIGH
                       ? (pieces + 1) / (2 * pieces)
                       : 1,
        .throttle = path->auto_converge ? &path->throttle : NULL,
    };
}

static enum migrate_verdict judge(const struct course course[3])
{
    if (course[DIRTY_HIGH].converges && course[DIRTY_MIDDLE].converges)
        return MIGRATE_CONVERGES;
    return course[DIRTY_LOW].converges || course[DIRTY_MIDDLE].converges ? MIGRATE_MAY_CONVERGE
                                                                         : MIGRATE_DIVERGES;
}

/* A course that does not converge has no end: the bound is then infinite. */
static double end_of(const struct course *course, double value)
{
    return course->converges ? value : INFINITY;
}

static struct migrate_range ordered(double low, double value, double high)
{
    return (struct migrate_range){isinf(value) ? NAN : value, fmin(low, value), fmax(high, value)};
}

/*
 * The rest depends on where in a slice the threshold is passed, and so on a few pages more or less:
 * the bounds are widened by all parts of a slice.
 */
static void widen_by_slices(const struct way way[3], struct migrate_forecast *forecast)
{
    for (enum dirty_bound bound = DIRTY_LOW; bound <= DIRTY_HIGH; bound++)
        for (int part = 1; part < SLICE_PARTS; part++) {
            struct way other = way[bound];

            other.filled_bytes += slice_bytes(&way[bound]) * part / SLICE_PARTS;

            const struct course course = run(&other);

            if (!course.converges)
                continue;
            forecast->downtime_s.low = fmin(forecast->downtime_s.low, course.downtime_s);
            forecast->downtime_s.high = fmax(forecast->downtime_s.high, course.downtime_s);
            forecast->total_s.low = fmin(forecast->total_s.low, course.now_s);
            forecast->total_s.high = fmax(forecast->total_s.high, course.now_s);
        }
}

/* --- what would be enough --------------------------------------------------------------------- */

static bool converges_with(struct way way, double bandwidth_bytes_s, double downtime_s)
{
    if (bandwidth_bytes_s > 0) {
        /* A link that is faster, too, or the limit would not bind. */
        way.link_bytes_s = fmax(way.link_bytes_s, bandwidth_bytes_s);
        way.bandwidth_bytes_s = bandwidth_bytes_s;
    }
    if (downtime_s > 0)
        way.downtime_s = downtime_s;
    return run(&way).converges;
}

/* The least number within @p low .. @p high that converges, as a power of its bounds. NAN: none. */
static double least(const struct way *way, bool bandwidth, double low, double high)
{
    if (!converges_with(*way, bandwidth ? high : 0, bandwidth ? 0 : high))
        return NAN;
    for (unsigned i = 0; i < BISECTIONS; i++) {
        const double middle = sqrt(low * high);

        if (converges_with(*way, bandwidth ? middle : 0, bandwidth ? 0 : middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static void find_enough(const struct way way[3], struct migrate_forecast *forecast)
{
    double bandwidth[3], downtime[3];

    for (enum dirty_bound bound = DIRTY_LOW; bound <= DIRTY_HIGH; bound++) {
        bandwidth[bound] = least(&way[bound], true, 0x1p10, 0x1p40);
        downtime[bound] = least(&way[bound], false, 0.001, MIGRATE_DOWNTIME_MAX_S);
    }
    forecast->enough_bandwidth_bytes_s = ordered(bandwidth[DIRTY_LOW], bandwidth[DIRTY_MIDDLE],
                                                 bandwidth[DIRTY_HIGH]);
    forecast->enough_downtime_s = ordered(downtime[DIRTY_LOW], downtime[DIRTY_MIDDLE],
                                          downtime[DIRTY_HIGH]);
}

/*
 * Post-copy: the guest goes on at the other end, and what was written in the first round is missing
 * there. It asks for the pages that it works on, which come first, and the others meanwhile: it
 * has what it needs once as much has come as it works on, at the latest when all has come.
 */
static void find_postcopy(const struct migrate_memory *memory, const struct way way[3],
                          const struct course course[3], struct migrate_forecast *forecast)
{
    double rest[3], seconds[3];

    for (enum dirty_bound bound = DIRTY_LOW; bound <= DIRTY_HIGH; bound++) {
        rest[bound] = course[bound].rounds[0].left_bytes;
        seconds[bound] = rest[bound] / PAGE * PAGE_WIRE / way[bound].link_bytes_s;
    }
    forecast->postcopy_bytes = ordered(rest[DIRTY_LOW], rest[DIRTY_MIDDLE], rest[DIRTY_HIGH]);
    if (!isnan(memory->wss_bytes))
        for (enum dirty_bound bound = DIRTY_LOW; bound <= DIRTY_MIDDLE; bound++)
            seconds[bound] = fmin(seconds[bound],
                                  memory->wss_bytes / PAGE * PAGE_WIRE / way[bound].link_bytes_s);
    forecast->postcopy_s = ordered(seconds[DIRTY_LOW], seconds[DIRTY_MIDDLE], seconds[DIRTY_HIGH]);
}

/* Goes through the rounds three times. */
static void run_all(const struct migrate_memory *memory, const struct migrate_path *path,
                    struct way way[3], struct course course[3])
{
    for (enum dirty_bound bound = DIRTY_LOW; bound <= DIRTY_HIGH; bound++) {
        way[bound] = way_of(memory, path, bound);
        course[bound] = run(&way[bound]);
    }
    /* The DMA of its devices into shared memory is not seen at all: no bound holds that. */
    if (memory->writes->flags & FLAG_VFIO || path->unforetold & MIGRATE_TAKES_LONGER)
        course[DIRTY_HIGH].converges = false;
}

static struct migrate_forecast forecast_of(const struct course course[3])
{
    const struct course *const low = &course[DIRTY_LOW], *const high = &course[DIRTY_HIGH];
    const struct course *const middle = &course[DIRTY_MIDDLE];
    struct migrate_forecast forecast = {
        .verdict = judge(course),
        .total_s = ordered(end_of(low, low->now_s), end_of(middle, middle->now_s),
                           end_of(high, high->now_s)),
        .downtime_s = ordered(end_of(low, low->downtime_s), end_of(middle, middle->downtime_s),
                              end_of(high, high->downtime_s)),
        .sent_bytes = ordered(low->sent_bytes, middle->sent_bytes, end_of(high, high->sent_bytes)),
        .n_rounds = middle->n,
        .throttle = middle->throttle,
    };

    for (unsigned i = 0; i < MIGRATE_ROUNDS_KEPT; i++)
        forecast.rounds[i] = middle->rounds[i];
    return forecast;
}

void migrate_judge(const struct migrate_memory *memory, const struct migrate_path *path,
                   struct migrate_forecast *forecast)
{
    struct way way[3];
    struct course course[3];

    run_all(memory, path, way, course);
    *forecast = forecast_of(course);
}

/* A guest with phases: on the average it does not converge, in its quiet times it does. When the
 * next one comes is not known, so there is no upper bound. */
static void await_quiet(const struct migrate_memory *memory, const struct migrate_path *path,
                        struct course course[3])
{
    struct migrate_memory quiet = *memory;

    if (!memory->quiet || course[DIRTY_MIDDLE].converges)
        return;
    quiet.writes = memory->quiet;

    const struct way way = way_of(&quiet, path, DIRTY_MIDDLE);
    const struct course other = run(&way);

    if (other.converges)
        course[DIRTY_MIDDLE] = other;
}

void migrate_foretell(const struct migrate_memory *memory, const struct migrate_path *path,
                      struct migrate_forecast *forecast)
{
    struct way way[3];
    struct course course[3];

    run_all(memory, path, way, course);
    await_quiet(memory, path, course);
    *forecast = forecast_of(course);
    widen_by_slices(way, forecast);
    find_enough(way, forecast);
    find_postcopy(memory, way, course, forecast);
}

const char *migrate_verdict_name(enum migrate_verdict verdict)
{
    static const char *const names[] = {"converges", "may-converge", "diverges"};

    return names[verdict];
}
