// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.c  See survey.h. */
#include "cli/survey.h"

#include "sample/run_lock.h"

#include <errno.h>
#include <string.h>

static void ask_methods(const struct target *target, struct survey *out)
{
    for (size_t i = 0; i < METHODS_MAX && methods[i]; i++) {
        struct method_verdict *verdict = &out->verdicts[out->n_verdicts++];

        verdict->method = methods[i];
        verdict->rc = methods[i]->probe(target, &verdict->why);
    }
    out->chosen = method_choose(target, out->verdicts, out->n_verdicts);
}

int survey_guest(const struct fsroot *root, const struct guest *guest, struct survey *out,
                 struct error *error)
{
    memset(out, 0, sizeof(*out));

    int rc = guest_ram_locate(root, &guest->process, &guest->ram, &out->ram, error);

    if (rc < 0)
        return rc;

    const struct target target = {.root = root, .process = &guest->process, .ram = &out->ram};
    struct run_lock lock = RUN_LOCK_NONE;

    struct error why = {0};

    rc = run_lock_guest(&lock, root, guest->process.pid,
                        &(struct lock_wait){.pidfd = guest->process.pidfd}, &why);
    if (rc == -EBUSY)
        out->busy = why;
    else /* who may not lock may not do what disturbs, either: the methods will say so */
        ask_methods(&target, out);
    run_lock_release(&lock);
    return 0;
}

void survey_free(struct survey *survey)
{
    guest_ram_free(&survey->ram);
}
