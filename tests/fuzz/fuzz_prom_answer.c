// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_prom_answer.c  What whoever answers at a URL sends for a plan. */
#include "decide/plan/prom_answer.h"

#include "fuzz.h"

#include <math.h>
#include <string.h>

/* Every accessor holds for every index, also beyond the end. */
static void read_series(const struct prom_answer *answer, size_t series)
{
    const size_t n = prom_n_points(answer, series);
    double time_s;
    double value;

    CLAIM(n <= PROM_POINTS_MAX);
    CLAIM(prom_label(answer, series, "host") != NULL);
    for (size_t p = 0; p <= n; p++)
        if (prom_point(answer, series, p, &time_s, &value))
            CLAIM(isfinite(time_s) && isfinite(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prom_answer answer;
    struct error error = {0};
    int rc = prom_answer_parse((const char *)data, size, &answer, &error);

    CLAIM(rc <= 0 && rc == error.code);
    for (const char *c = error.text; *c; c++)
        CLAIM((unsigned char)*c >= ' ');
    if (rc < 0)
        return 0;
    CLAIM(strlen(answer.warning) < sizeof(answer.warning));
    for (size_t s = 0; s <= answer.n; s++)
        read_series(&answer, s);
    prom_answer_free(&answer);
    return 0;
}
