// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_prom_answer.c  What whoever answers at a URL sends for a plan. */
#include "decide/plan/prom_answer.h"

#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns how many amounts the series has. */
static size_t read_series(struct prom_series series)
{
    double time_s;
    double value;
    size_t n = 0;

    CLAIM(prom_label(&series, "host") != NULL);
    for (; prom_next(&series, &time_s, &value); n++)
        CLAIM(isfinite(time_s) && value >= 0 && value <= 0x1p60);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct prom_answer answer;
    struct error error = {0};
    char *bytes = malloc(size + 1);
    size_t n = 0;
    int rc;

    CLAIM(bytes != NULL);
    memcpy(bytes, data, size);
    bytes[size] = '\0';
    rc = prom_answer_parse(bytes, size, NULL, &answer, &error);

    CLAIM(rc <= 0 && rc == error.code);
    for (const char *c = error.text; *c; c++)
        CLAIM((unsigned char)*c >= ' ');
    if (rc < 0) {
        free(bytes);
        return 0;
    }
    CLAIM(strlen(answer.doubt) < sizeof(answer.doubt));
    for (size_t s = 0; s < answer.n; s++)
        n += read_series(answer.series[s]);
    CLAIM(n <= answer.n_points && answer.n_points <= PROM_POINTS_MAX);
    prom_answer_free(&answer);
    free(bytes);
    return 0;
}
