// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_resctrl.c  resctrl's files, in which names are those that others gave their groups.
 */
#include "measure/cache/resctrl_text.h"

#include "fuzz.h"

#include <errno.h>
#include <string.h>

static void check_place(const char *text)
{
    struct resctrl_place place;

    if (resctrl_parse_place(text, &place) < 0)
        return;
    CLAIM(strlen(place.control) < RESCTRL_NAME_BYTES && strlen(place.monitor) < RESCTRL_NAME_BYTES);
    CLAIM(!strpbrk(place.control, "/\n") && !strpbrk(place.monitor, "/\n"));
    CLAIM(strcmp(place.control, "..") != 0 && strcmp(place.monitor, "..") != 0);
}

static void check_shares(const char *text, const char *resource)
{
    struct resctrl_shares shares;
    int rc = resctrl_parse_shares(text, resource, &shares);

    CLAIM(rc == 0 || rc == -ENOENT || rc == -EBADMSG);
    CLAIM(shares.n <= CACHES_MAX);
    for (size_t i = 0; rc == 0 && i < shares.n; i++)
        CLAIM(resctrl_share(&shares, shares.domains[i].id) == shares.domains[i].value);
}

static void check_tasks(const char *text)
{
    pid_t tids[8];
    ssize_t n = resctrl_parse_tasks(text, tids, 8);

    CLAIM((n >= 0 && n <= 8) || n == -E2BIG || n == -EBADMSG);
    for (ssize_t i = 0; i < n; i++)
        CLAIM(tids[i] > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    uint64_t value = CACHE_UNKNOWN;

    CLAIM(text);
    memcpy(text, data, size);
    text[size] = '\0';
    CLAIM((resctrl_parse_counter(text, &value) == 0) == (value != CACHE_UNKNOWN));
    check_place(text);
    check_shares(text, "L3");
    check_shares(text, "MB");
    check_tasks(text);
    resctrl_counts_all_reads(text);
    resctrl_filter_has_reads(text);
    free(text);
    return 0;
}
