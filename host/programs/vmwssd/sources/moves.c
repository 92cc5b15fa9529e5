// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sources/moves.h"

#include "base/service/log.h"

#include <string.h>

/* Removes it from the arriving guests; returns whether it was among them. */
static bool forget_arriving(struct moves *moves, const char *uuid)
{
    for (size_t i = 0; i < ARRIVING; i++)
        if (!strcmp(moves->arriving[i], uuid)) {
            moves->arriving[i][0] = '\0';
            return true;
        }
    return false;
}

/* If more guests arrive than there is room for, one is forgotten. */
static char *room_for_arriving(struct moves *moves)
{
    for (size_t i = 0; i < ARRIVING; i++)
        if (!*moves->arriving[i])
            return moves->arriving[i];
    return moves->arriving[moves->n_arriving++ % ARRIVING];
}

/* A migration may be cancelled: the guest has arrived when it runs, or is paused. */
void moves_note(struct moves *moves, struct fleet *fleet, const struct domain_event *event)
{
    static const enum event_kind kinds[] = {
        [DOMAIN_MIGRATED_OUT] = EVENT_MIGRATE_OUT,
        [DOMAIN_SAVED] = EVENT_SAVE,
        [DOMAIN_RESTORED] = EVENT_RESTORE,
    };

    if (event->move == DOMAIN_STAYS)
        return;

    const bool came = forget_arriving(moves, event->uuid);

    if (event->move == DOMAIN_ARRIVES)
        memcpy(room_for_arriving(moves), event->uuid, sizeof(event->uuid));
    else if (event->move == DOMAIN_RUNS_OR_WAITS && came)
        fleet_note_move(fleet, event->uuid, EVENT_MIGRATE_IN);
    else if (event->move == DOMAIN_MIGRATED_OUT || event->move == DOMAIN_SAVED ||
             event->move == DOMAIN_RESTORED)
        fleet_note_move(fleet, event->uuid, kinds[event->move]);
}

void moves_log(const struct domain_event *event)
{
    static const char *const moves[DOMAIN_STOPPED + 1] = {
        [DOMAIN_ARRIVES] = "is being migrated here",
        [DOMAIN_MIGRATED_OUT] = "migrated away",
        [DOMAIN_SAVED] = "saved",
        [DOMAIN_RESTORED] = "restored",
    };

    if (moves[event->move])
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: %s", event->name, moves[event->move]);
    if (event->change == DOMAIN_CHANGE_REBOOT)
        log_line(LOG_CLASS_GUEST, LOG_INFO, "domain %s: reset; its panel goes on", event->name);
    if (event->change == DOMAIN_CHANGE_BALLOON)
        log_line(LOG_CLASS_GUEST, LOG_DEBUG, "domain %s: the balloon leaves it %llu MiB",
                 event->name, (unsigned long long)(event->bytes >> 20));
}
