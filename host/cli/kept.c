// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file kept.c  See kept.h. */
#include "cli/kept.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int set_format(struct kept_choice *choice, enum show_format format)
{
    if (choice->format != SHOW_TABLE && choice->format != format) {
        command_error("--json or --csv, not both");
        return -EINVAL;
    }
    choice->format = format;
    return 0;
}

int kept_set_json(void *choice, const char *value)
{
    (void)value;
    return set_format(choice, SHOW_JSON);
}

int kept_set_csv(void *choice, const char *value)
{
    (void)value;
    return set_format(choice, SHOW_CSV);
}

void kept_span(const struct kept_choice *choice, double *from_s, double *to_s)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *to_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    *from_s = *to_s - choice->since_s;
}

int kept_open(const struct kept_choice *choice, struct store **store, struct error *error)
{
    *store = NULL;
    return history_open(choice->database, store, error);
}

int kept_end(struct store *store, int rc, struct error *error)
{
    store_close(store);
    if (rc == 0)
        rc = command_flush(error);
    if (rc == 0)
        return EXIT_DONE;
    if (rc == -EPIPE)
        return EXIT_PIPE;
    command_error("%s", error->code ? error->text : strerror(-rc));
    return EXIT_CANNOT;
}
