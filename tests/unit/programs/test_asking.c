// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_asking.c  vmwss measure --agent where the agent cannot be asked: what vmwssd has of
 * it is shown; where vmwssd has nothing, the reason. */
#include "programs/vmwss/asking.h"
#include "programs/vmwss/guest_kept.h"
#include "show/guest_stats.h"

#include "fixture.h"

#include <errno.h>
#include <string.h>

static struct guest_kept made_up;
static int rc;

int __wrap_guest_kept_read(const char *database, const char *uuid, uint64_t ram_bytes,
                           struct guest_kept *kept, struct error *error);
int __wrap_guest_kept_read(const char *database, const char *uuid, uint64_t ram_bytes,
                           struct guest_kept *kept, struct error *error)
{
    (void)ram_bytes;
    (void)error;
    ck_assert_str_eq(database, STORE_DEFAULT_PATH);
    ck_assert_str_eq(uuid, "u1");
    *kept = made_up;
    return rc;
}

static struct asking asking;

static struct sample_record annotated(void)
{
    struct sample_record record = {.uuid = "u1", .ram_bytes = 1 << 30};

    guest_tracker_init(&asking.tracker, "in use, by vmwssd");
    asking_annotate(&asking, &record);
    return record;
}

static void setup(void)
{
    asking = (struct asking){.channel = NULL, .held = true};
    made_up = (struct guest_kept){.has_record = true, .record_age_s = 20};
    made_up.sample.period_s = 30;
    made_up.sample.record.sample.guest = (struct guest_stats){
        .source = GUEST_STATS_AGENT, .available_bytes = 4711, .verdict = VERDICT_NEAR};
}

FIXTURE(cases, .setup = setup);

TEST(cases, what_vmwssd_has)
{
    const struct sample_record record = annotated();
    json_t *json = guest_stats_json(&record.guest);

    ck_assert_double_eq(json_real_value(json_object_get(json, "age_s")), 20);
    json_decref(json);
    ck_assert_int_eq(record.guest.source, GUEST_STATS_AGENT);
    ck_assert_uint_eq(record.guest.available_bytes, 4711);
    ck_assert_int_eq(record.guest.verdict, VERDICT_NEAR);
    ck_assert_str_eq(asking.instead, "20 s old, from vmwssd: in use, by vmwssd");
}

static void is_unavailable(void)
{
    const struct sample_record record = annotated();

    ck_assert_int_eq(record.guest.source, GUEST_STATS_NONE);
    ck_assert_str_eq(record.guest.unavailable, "in use, by vmwssd");
    ck_assert_str_eq(asking.instead, "");
}

TEST(cases, vmwssd_has_nothing)
{
    rc = -ENOENT;
    is_unavailable();
    rc = 0;
    made_up.has_record = false;
    is_unavailable();
    made_up.has_record = true;
    made_up.sample.record.sample.guest.source = GUEST_STATS_BALLOON; /* it was not the agent */
    is_unavailable();
}

/* A dead agent, a channel that was removed, a guest that is not of libvirt. */
TEST(cases, nobody_holds_the_channel)
{
    asking.held = false;
    is_unavailable();
}

TEST(cases, what_is_old_is_not_of_now)
{
    made_up.record_age_s = 46;
    is_unavailable();
    made_up.record_age_s = 44;
    ck_assert_int_eq(annotated().guest.source, GUEST_STATS_AGENT);
}
