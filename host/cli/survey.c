// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file survey.c  See survey.h. */
#include "cli/survey.h"

#include <string.h>

int survey_guest(const struct fsroot *root, const struct guest *guest, struct survey *out,
                 struct error *error)
{
    memset(out, 0, sizeof(*out));

    int rc = guest_ram_locate(root, &guest->process, &guest->ram, &out->ram, error);

    if (rc < 0)
        return rc;

    const struct target target = {.root = root, .process = &guest->process, .ram = &out->ram};

    for (size_t i = 0; i < METHODS_MAX && methods[i]; i++) {
        struct method_verdict *verdict = &out->verdicts[out->n_verdicts++];

        verdict->method = methods[i];
        verdict->rc = methods[i]->probe(&target, &verdict->why);
    }
    out->chosen = method_choose(guest->process.accel, out->verdicts, out->n_verdicts);
    return 0;
}

void survey_free(struct survey *survey)
{
    guest_ram_free(&survey->ram);
}
