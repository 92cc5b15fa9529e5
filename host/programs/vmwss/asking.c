// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwss/asking.h"

#include "base/cleanup.h"
#include "guest/agent/agent_ask.h"
#include "history/store.h"
#include "programs/vmwss/guest_kept.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Number of periods: a measurement takes part of the time, too. */
#define LATE 1.5

static void asking_ask(struct asking *asking)
{
    struct agent_event event = {0};

    if (!asking->channel)
        return;
    asking->held = false;
    if (agent_ask(asking->channel, &event, NULL, NULL) < 0) {
        asking->held = event.error.code == -EBUSY || event.error.code == -EAGAIN;
        guest_tracker_unavailable(&asking->tracker, event.error.text);
    } else {
        guest_tracker_update(&asking->tracker, agent_channel_hello(asking->channel),
                             &event.message.report, store_clock_now().steady_s);
    }
}

void asking_begin(struct asking *asking, const struct guest *guest)
{
    struct agent_endpoint endpoint;
    struct error error = {0};

    guest_tracker_init(&asking->tracker, "out of memory");
    asking->channel = NULL;
    asking->held = false;
    if (!guest->from_libvirt)
        guest_tracker_unavailable(&asking->tracker, "only libvirt knows the channel of its agent");
    else if (agent_endpoint_choose(&guest->agent_port, &endpoint, &error) < 0)
        guest_tracker_unavailable(&asking->tracker, error.text);
    else
        asking->channel = agent_channel_new(&endpoint, guest->ram.total_bytes);
    asking_ask(asking);
}

/* Takes vmwssd's verdict as well, as vmwss guest shows it. A missing or unreadable history is not
 * an error, because it is only a substitute; an old report is not shown. */
static void take_kept(struct asking *asking, struct sample_record *record)
{
    cleanup_free struct guest_kept *kept = malloc(sizeof(*kept));
    const struct guest_stats *stats;

    if (!kept ||
        guest_kept_read(STORE_DEFAULT_PATH, record->uuid, record->ram_bytes, kept, NULL) < 0)
        return;
    stats = &kept->sample.record.sample.guest;
    if (!kept->has_record || stats->source != GUEST_STATS_AGENT ||
        kept->record_age_s > LATE * kept->sample.period_s)
        return;
    snprintf(asking->instead, sizeof(asking->instead), "%.0f s old, from vmwssd: %s",
             kept->record_age_s, record->guest.unavailable);
    record->guest = *stats;
    record->guest.copy_age_s = kept->record_age_s;
}

void asking_annotate(struct asking *asking, struct sample_record *record)
{
    asking_ask(asking);
    *asking->instead = '\0';
    guest_tracker_annotate(&asking->tracker, record, store_clock_now().steady_s, HUGE_VAL);
    if (asking->held && record->guest.source == GUEST_STATS_NONE && *record->uuid)
        take_kept(asking, record);
}

void asking_end(struct asking *asking)
{
    agent_channel_free(asking->channel);
    asking->channel = NULL;
}
