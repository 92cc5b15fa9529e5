// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plan_apply.c  See plan_choice.h: applies the options to a fleet. */
#include "programs/vmwss/plan_choice.h"

#include "base/own_memory.h"
#include "base/parse.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool is_name(const char *name, size_t n, const char *of)
{
    return strlen(of) == n && strncmp(name, of, n) == 0;
}

/* Returns the last value for this host; otherwise the last one for all hosts; or 0. */
static uint64_t value_of(const struct plan_sizes *values, const char *host,
                         int (*parse)(const char *text, uint64_t *value))
{
    uint64_t own = 0;
    uint64_t all = 0;

    for (size_t i = 0; i < values->n; i++) {
        const char *value = values->all[i];
        const size_t n = plan_name_length(value);

        if (n == 0)
            parse(value, &all);
        else if (is_name(value, n, host))
            parse(value + n + 1, &own);
    }
    return own ? own : all;
}

static int parse_cpus(const char *text, uint64_t *cpus)
{
    return parse_u64(text, 1, UINT64_MAX, cpus);
}

static uint64_t size_of(const struct plan_sizes *sizes, const char *host)
{
    return value_of(sizes, host, parse_size);
}

static double cpus_of(const struct plan_sizes *cpus, const char *host)
{
    return (double)value_of(cpus, host, parse_cpus);
}

static int check_sizes(const struct plan_sizes *sizes, const char *option,
                       const struct plan_fleet *fleet, struct error *error)
{
    for (size_t i = 0; i < sizes->n; i++) {
        const char *value = sizes->all[i];
        const size_t n = plan_name_length(value);
        bool is_there = n == 0;

        for (size_t h = 0; h < fleet->n_hosts; h++)
            is_there |= is_name(value, n, fleet->hosts[h].name);
        if (!is_there)
            return error_set(error, -EINVAL, "%s %s: no such host: there are %s%s", option, value,
                             fleet->hosts[0].name, fleet->n_hosts > 1 ? " and others" : "");
    }
    return 0;
}

static int set_capacities(const struct plan_choice *choice, struct plan_fleet *fleet,
                          struct error *error)
{
    char own[256] = "";
    int rc;

    gethostname(own, sizeof(own) - 1);
    for (size_t h = 0; h < fleet->n_hosts; h++) {
        struct plan_host *host = &fleet->hosts[h];

        const uint64_t given = size_of(&choice->capacities, host->name);
        const uint64_t reserve = size_of(&choice->reserves, host->name);

        host->cpus = cpus_of(&choice->cpus, host->name);
        if (given > 0)
            host->capacity_bytes = given;
        if (host->capacity_bytes == 0 && strcmp(host->name, own) == 0)
            host->capacity_bytes = own_memory_for_guests();
        if (host->capacity_bytes == 0)
            return error_set(error, -EINVAL,
                             "host %s: set with --capacity %s=SIZE how much memory it has for "
                             "guests, or with --capacity SIZE for all hosts",
                             host->name, host->name);
        if (reserve > 0)
            host->reserve_bytes = reserve;
        if (host->reserve_bytes == PLAN_RESERVE_UNKNOWN)
            return error_set(error, -EINVAL,
                             "host %s: its vmwss_plan_reserve_bytes cannot be read: set with "
                             "--reserve %s=SIZE how much of its memory is kept free",
                             host->name, host->name);
        if (host->reserve_bytes >= host->capacity_bytes)
            return error_set(error, -EINVAL,
                             "host %s: --reserve leaves nothing of its memory for guests",
                             host->name);
    }
    rc = check_sizes(&choice->capacities, "--capacity", fleet, error);
    if (rc == 0)
        rc = check_sizes(&choice->cpus, "--cpus", fleet, error);
    return rc == 0 ? check_sizes(&choice->reserves, "--reserve", fleet, error) : rc;
}

/* The guests that the i-th use of an option names. */
struct list {
    const char *option, *text;
    size_t i;
    void (*mark)(struct plan_fleet *fleet, size_t guest, size_t i);
};

static void mark_apart(struct plan_fleet *fleet, size_t guest, size_t i)
{
    fleet->guests[guest].apart |= 1ULL << i;
}

static void mark_pinned(struct plan_fleet *fleet, size_t guest, size_t i)
{
    (void)i;
    fleet->guests[guest].pinned = true;
}

/* Groups with a guest in common are one. */
static void mark_together(struct plan_fleet *fleet, size_t guest, size_t i)
{
    const size_t old = fleet->guests[guest].together;

    for (size_t g = 0; old > 0 && g < fleet->n_guests; g++)
        if (fleet->guests[g].together == old)
            fleet->guests[g].together = i + 1;
    fleet->guests[guest].together = i + 1;
}

/* Marks all guests with that name or UUID. */
static int mark_guests(struct plan_fleet *fleet, const struct list *list, const char *name,
                       size_t n, struct error *error)
{
    size_t found = 0;

    for (size_t g = 0; g < fleet->n_guests; g++) {
        const struct plan_guest *guest = &fleet->guests[g];

        if (!is_name(name, n, guest->name) &&
            (strlen(guest->uuid) != n || strncasecmp(name, guest->uuid, n) != 0))
            continue;
        list->mark(fleet, g, list->i);
        found++;
    }
    return found > 0 ? 0
                     : error_set(error, -EINVAL,
                                 "%s %.*s: no guest of that name or UUID runs on these hosts",
                                 list->option, (int)n, name);
}

static int mark_list(struct plan_fleet *fleet, const struct list *list, struct error *error)
{
    int rc = 0;

    for (const char *at = list->text; rc == 0;) {
        const size_t n = strcspn(at, ",");

        rc = mark_guests(fleet, list, at, n, error);
        at += n;
        if (*at++ == '\0')
            break;
    }
    return rc;
}

/* A guest whose CPUs are not known stays where it is. */
static void pin_unknown(const struct plan_choice *choice, struct plan_fleet *fleet)
{
    for (size_t g = 0; choice->cpus.n > 0 && g < fleet->n_guests; g++)
        fleet->guests[g].pinned |= isnan(fleet->guests[g].cpus);
}

/* Names two guests that cannot be together. */
static int check_together(const struct plan_fleet *fleet, struct error *error)
{
    for (size_t a = 0; a < fleet->n_guests; a++)
        for (size_t b = a + 1; fleet->guests[a].together > 0 && b < fleet->n_guests; b++) {
            const struct plan_guest *x = &fleet->guests[a];
            const struct plan_guest *y = &fleet->guests[b];

            if (x->together != y->together)
                continue;
            if (x->apart & y->apart)
                return error_set(error, -EINVAL, "--together: --apart keeps %s and %s apart",
                                 x->name, y->name);
            if (x->pinned && y->pinned && x->host != y->host)
                return error_set(error, -EINVAL, "--together: --pin keeps %s on %s and %s on %s",
                                 x->name, fleet->hosts[x->host].name, y->name,
                                 fleet->hosts[y->host].name);
        }
    return 0;
}

static int mark_host(struct plan_fleet *fleet, const char *name, struct error *error)
{
    for (size_t h = 0; h < fleet->n_hosts; h++)
        if (strcmp(fleet->hosts[h].name, name) == 0) {
            fleet->hosts[h].drain = true;
            return 0;
        }
    return error_set(error, -EINVAL, "--drain %s: no such host", name);
}

int plan_choice_apply(const struct plan_choice *choice, struct plan_fleet *fleet,
                      struct error *error)
{
    int rc = set_capacities(choice, fleet, error);

    for (size_t i = 0; rc == 0 && i < choice->apart.n; i++)
        rc = mark_list(fleet, &(struct list){"--apart", choice->apart.all[i], i, mark_apart},
                       error);
    for (size_t i = 0; rc == 0 && i < choice->pinned.n; i++)
        rc = mark_list(fleet, &(struct list){"--pin", choice->pinned.all[i], i, mark_pinned},
                       error);
    for (size_t i = 0; rc == 0 && i < choice->together.n; i++)
        rc = mark_list(
            fleet, &(struct list){"--together", choice->together.all[i], i, mark_together}, error);
    if (rc == 0)
        rc = check_together(fleet, error);
    pin_unknown(choice, fleet);
    for (size_t i = 0; rc == 0 && i < choice->drains.n; i++)
        rc = mark_host(fleet, choice->drains.all[i], error);
    return rc;
}
