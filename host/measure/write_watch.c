// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/write_watch.h"

#include <errno.h>
#include <string.h>

int write_watch_check(const struct target *target, struct error *error)
{
    const struct method_needs needs = {.writes = true, .census = true};
    struct error why = {0};

    if (method_try(&method_soft_dirty, target, &needs, &why) < 0)
        return error_set(error, -ENOTSUP, "--writes: soft-dirty: %s", why.text);
    return 0;
}

int write_watch_open(struct write_watch *watch, const struct target *target, struct error *error)
{
    *watch = (struct write_watch){0};

    const int rc = page_set_census(&watch->set, target->ram);

    if (rc < 0)
        return error_set(error, rc, "out of memory");
    return method_soft_dirty.open(target, &watch->set, &watch->state, error);
}

int write_watch_mark(struct write_watch *watch, struct error *error)
{
    return method_soft_dirty.mark(watch->state, error);
}

void write_watch_poll(struct write_watch *watch)
{
    /* An error shows at the reading, too. */
    method_soft_dirty.wake.poll(watch->state, NULL);
}

int write_watch_wake_fd(const struct write_watch *watch)
{
    return method_soft_dirty.wake.fd(watch->state);
}

int write_watch_read(struct write_watch *watch, struct error *error)
{
    memset(&watch->tally, 0, sizeof(watch->tally));
    return method_soft_dirty.collect(watch->state, &watch->tally, error);
}

void write_watch_close(struct write_watch *watch)
{
    if (watch->state)
        method_soft_dirty.close(watch->state);
    watch->state = NULL;
    page_set_free(&watch->set);
}

enum write_seen write_watch_page(const struct write_watch *watch, uint64_t page)
{
    const enum page_state state = watch->set.state[page];

    if (state == PAGE_IDLE)
        return WRITE_NONE;
    if (state == PAGE_TOUCHED)
        return watch->set.order[page] > 0 ? WRITE_UNKNOWN : WRITE_SEEN;
    return WRITE_UNKNOWN;
}

uint64_t write_watch_missed_bytes(const struct write_watch *watch)
{
    /* A guest that runs writes something: without a write the method was blind. */
    if (watch->tally.doubts & DOUBT_BITS_TAKEN || watch->tally.touched_bytes == 0)
        return UINT64_MAX;
    return watch->tally.missed_bytes;
}
