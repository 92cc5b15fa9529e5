// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_guests.c  See url_guests.h. */
#include "decide/plan/url_guests.h"

#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_uuid(const void *uuid, const void *guest)
{
    return strcmp(uuid, ((const struct url_guest *)guest)->uuid);
}

struct url_guest *url_guests_find(const struct url_guests *guests, const char *uuid)
{
    struct url_guest *found = NULL;

    if (guests->n_sorted > 0)
        found = bsearch(uuid, guests->all, guests->n_sorted, sizeof(*guests->all), compare_uuid);
    for (size_t g = guests->n_sorted; !found && g < guests->n; g++)
        if (compare_uuid(uuid, &guests->all[g]) == 0)
            found = &guests->all[g];
    return found;
}

struct url_guest *url_guests_add(struct url_guests *guests, size_t source, const char *uuid)
{
    struct url_guest *all = array_grow(guests->all, guests->n, sizeof(*all));

    if (!all)
        return NULL;
    guests->all = all;
    all += guests->n++;
    *all = (struct url_guest){.row = {.source = source}};
    snprintf(all->uuid, sizeof(all->uuid), "%s", uuid);
    return all;
}

static int by_uuid(const void *a, const void *b)
{
    return strcmp(((const struct url_guest *)a)->uuid, ((const struct url_guest *)b)->uuid);
}

void url_guests_sort(struct url_guests *guests)
{
    if (guests->n > 0)
        qsort(guests->all, guests->n, sizeof(*guests->all), by_uuid);
    guests->n_sorted = guests->n;
}

static int compare_size(const void *a, const void *b)
{
    const float x = *(const float *)a;
    const float y = *(const float *)b;

    return (x > y) - (x < y);
}

double url_guest_size_p99(const struct url_guest *guest)
{
    const size_t n = guest->n_sizes;
    const double ram = (double)guest->row.ram_bytes;

    if (n == 0)
        return 0;
    qsort(guest->sizes, n, sizeof(*guest->sizes), compare_size);

    const double p99 = (double)guest->sizes[(size_t)ceil(0.99 * (double)n) - 1];

    return guest->there ? fmin(p99, ram) : p99;
}
