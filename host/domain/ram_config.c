// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_config.c  See ram_config.h. */
#include "domain/ram_config.h"

#include <string.h>

static bool backend_equal(const struct ram_backend *a, const struct ram_backend *b)
{
    return strcmp(a->id, b->id) == 0 && a->size_bytes == b->size_bytes && a->source == b->source &&
           a->hugetlb == b->hugetlb && a->dimm == b->dimm;
}

bool ram_config_equal(const struct ram_config *a, const struct ram_config *b)
{
    if (a->n_backends != b->n_backends || a->locked != b->locked)
        return false;
    for (size_t i = 0; i < a->n_backends; i++)
        if (!backend_equal(&a->backends[i], &b->backends[i]))
            return false;
    return true;
}
