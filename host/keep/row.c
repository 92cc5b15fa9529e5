// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file row.c  See row.h. */
#include "keep/row.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

static json_t *bytes(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* NULL when the array or one of its numbers could not be made. */
static json_t *window_array(const struct window_record *window)
{
    return json_pack("[ffooof]", window->window_s, window->est_window_s, bytes(window->wss_bytes),
                     bytes(window->wss_low_bytes), bytes(window->wss_high_bytes),
                     window->touched_fraction);
}

static json_t *bin_array(const struct age_bin *bin)
{
    json_t *to = isinf(bin->to_s) ? json_null() : json_real(bin->to_s);

    return json_pack("[foooo]", bin->from_s, to, bytes(bin->bytes), bytes(bin->low_bytes),
                     bytes(bin->high_bytes));
}

/* Nine digits: a window of eleven days to the millisecond. */
static char *array_text(json_t *array, bool complete)
{
    char *text = complete ? json_dumps(array, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;

    json_decref(array);
    return text;
}

char *row_windows_text(const struct sample_record *sample)
{
    json_t *array = json_array();
    bool complete = array != NULL;

    for (size_t w = 0; w < sample->n_windows && complete; w++)
        complete = json_array_append_new(array, window_array(&sample->windows[w])) == 0;
    return array_text(array, complete);
}

char *row_ages_text(const struct ages_record *record)
{
    json_t *array = json_array();
    bool complete = array != NULL;

    for (size_t b = 0; b < record->n_bins && complete; b++)
        complete = json_array_append_new(array, bin_array(&record->bins[b])) == 0;
    return array_text(array, complete);
}

void row_flags_text(char *text, size_t size, unsigned flags)
{
    const char *name;
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; (name = sample_flag_name(i)); i++)
        if ((flags & (1U << i)) && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", name);
}
