// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/balloond/joint_growth.h"

#include "base/cleanup.h"
#include "base/compare.h"
#include "history/bucket_need.h"
#include "history/moments.h"

#include <math.h>
#include <stdlib.h>

#define EVERY_S (6 * 3600.0)

uint64_t joint_growth_of(const struct joint_minutes *minutes)
{
    cleanup_free double *growth = malloc(JOINT_MINUTES * sizeof(*growth));
    size_t known = 0, n = 0; /* minutes in a row */

    for (size_t m = 0; growth && m < JOINT_MINUTES; m++) {
        known = minutes->of[m].known ? known + 1 : 0;
        if (known > JOINT_HOLD)
            growth[n++] = fmax(minutes->of[m].bytes - minutes->of[m - 1].bytes, 0);
    }
    if (n < JOINT_LEAST)
        return 0;
    qsort(growth, n, sizeof(*growth), compare_doubles);
    return (uint64_t)fmin(growth[(size_t)ceil(0.999 * (double)n) - 1], 1e18);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct filling {
    struct joint_minutes *minutes;
    int64_t next; /* minute behind its last record */
    int64_t late; /* minute in which its next record is late */
    double bytes;
};

/* Its last size holds until @p end, or until its next record is late for long. */
static void hold(struct filling *filling, int64_t end)
{
    for (int64_t m = filling->next; m < end && m < filling->late + JOINT_HOLD; m++) {
        if (m < 0 || m >= JOINT_MINUTES)
            continue;
        filling->minutes->of[m].known = filling->minutes->of[m].known || m < filling->late;
        filling->minutes->of[m].bytes += filling->bytes;
    }
}

static int see_minute(const struct history_moment *moment, void *context)
{
    struct filling *filling = context;
    int64_t m = (moment->start_s - filling->minutes->first_s) / 60;
    double lasts_s = bucket_lasts_s(bucket_period_s(moment->bucket));

    hold(filling, m);
    filling->next = m;
    filling->late = m + (int64_t)fmin(ceil(lasts_s / 60), JOINT_MINUTES);
    filling->bytes = fmax(moment->bucket->summary.resident_bytes, 0);
    return 0;
}

static void end_round(struct joint_growth *joint)
{
    free(joint->guests);
    free(joint->minutes);
    joint->guests = NULL;
    joint->minutes = NULL;
    joint->n = joint->next = 0;
}

static int begin_round(struct joint_growth *joint, struct store *store, double wall_s)
{
    ssize_t n = history_guests(store, &joint->guests, NULL);

    joint->minutes = calloc(1, sizeof(*joint->minutes));
    if (n < 0 || !joint->minutes)
        return -1;
    joint->n = (size_t)n;
    joint->minutes->first_s = ((int64_t)wall_s / 60 - JOINT_MINUTES) * 60;
    return 0;
}

static int read_guest(struct joint_growth *joint, struct store *store)
{
    struct filling filling = {.minutes = joint->minutes};
    const double first_s = (double)joint->minutes->first_s;
    const struct history_query query = {
        .level_s = BUCKET_MINUTE, .from_s = first_s, .to_s = first_s + JOINT_MINUTES * 60.0 - 1};
    struct error error = {0};
    int rc = history_moments(store, &joint->guests[joint->next++], &query, see_minute, &filling,
                             &error);

    hold(&filling, JOINT_MINUTES);
    return rc;
}

/* If the wall clock was set, the history has no minutes of the last week. */
static uint64_t known_or(uint64_t bytes, uint64_t before)
{
    return bytes > 0 ? bytes : before;
}

void joint_growth_step(struct joint_growth *joint, const char *database, double wall_s)
{
    struct store *store = NULL;
    int rc;

    if (!joint->minutes && joint->begun_s > 0 && fabs(wall_s - joint->begun_s) < EVERY_S)
        return;
    rc = history_open(database, &store, NULL);
    if (!joint->minutes) {
        joint->begun_s = wall_s;
        rc = rc < 0 ? rc : begin_round(joint, store, wall_s);
    }
    if (rc == 0 && joint->next < joint->n)
        rc = read_guest(joint, store);
    store_close(store);
    if (rc == 0 && joint->next >= joint->n)
        joint->bytes = known_or(joint_growth_of(joint->minutes), joint->bytes);
    if (rc < 0 || joint->next >= joint->n)
        end_round(joint);
}

void joint_growth_free(struct joint_growth *joint)
{
    end_round(joint);
}
