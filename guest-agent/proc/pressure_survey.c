// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/pressure_survey.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/cgroup.h"
#include "proc/keyed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void pressure_survey_free(struct pressure_survey *survey)
{
    for (size_t i = 0; i < survey->n; i++) {
        free(survey->group[i].cgroup);
        free(survey->group[i].off);
    }
    free(survey->group);
    free(survey->by_name);
    *survey = (struct pressure_survey){0};
}

char *pressure_scope_path(const struct fsroot *root, const char *cgroup, struct error *error)
{
    const char *mount = cgroup_mount(root, error);
    char *path = NULL;

    if (!mount)
        return NULL;
    if (asprintf(&path, "%s/%s", mount, cgroup + (*cgroup == '/')) < 0)
        error_set(error, -ENOMEM, "out of memory");
    return path;
}

/* Returns the number of reported resources, and the last error in *error. */
static int read_group(const struct fsroot *root, const char *path, struct pressure_group *group,
                      struct error *error)
{
    int told = 0;

    for (int i = 0; i < PRESSURE_RESOURCES; i++)
        told += pressure_read(root, path, pressure_resources[i], &group->of[i], error) == 0;
    return told;
}

/* A group that reports nothing is an error only if it was requested. A group that was removed is
 * skipped. */
static int add_group(const struct fsroot *root, const char *cgroup, bool wanted,
                     struct pressure_survey *survey, struct error *error)
{
    cleanup_free char *path = cgroup ? pressure_scope_path(root, cgroup, error) : NULL;
    struct pressure_group *group = &survey->group[survey->n];
    struct error why = {0};

    if (cgroup && !path)
        return error ? error->code : -ENOTSUP;
    *group = (struct pressure_group){0};

    bool off = read_group(root, path, group, &why) == 0;

    if (off && wanted)
        return error_set(error, why.code, "%s", why.text);
    if (off && !fsroot_exists(root, "%s", path))
        return 0;
    survey->n++;
    group->cgroup = cgroup ? strdup(cgroup) : NULL;
    group->off = off ? strdup(why.text) : NULL;
    if ((cgroup && !group->cgroup) || (off && !group->off))
        return error_set(error, -ENOMEM, "out of memory");
    return 0;
}

static int survey_take(const struct fsroot *root, const struct pressure_scope *scope,
                       const struct cgroups *cgroups, struct pressure_survey *survey,
                       struct error *error)
{
    int rc;

    survey->group = calloc(1 + cgroups->n, sizeof(*survey->group));
    if (!survey->group)
        return error_set(error, -ENOMEM, "out of memory");
    survey->taken_ns = clock_ns();
    rc = add_group(root, scope->cgroup, true, survey, error);
    for (size_t i = 0; rc == 0 && i < cgroups->n; i++)
        rc = add_group(root, cgroups->path[i], false, survey, error);
    if (rc == 0 && pressure_survey_index(survey) < 0)
        rc = error_set(error, -ENOMEM, "out of memory");
    return rc;
}

int pressure_survey_take(const struct fsroot *root, const struct pressure_scope *scope,
                         struct pressure_survey *survey, struct error *error)
{
    struct cgroups cgroups = {0};
    int rc = scope->all ? cgroups_list(root, &cgroups, error) : 0;

    *survey = (struct pressure_survey){0};
    survey->refused = cgroups.refused;
    if (rc == 0)
        rc = survey_take(root, scope, &cgroups, survey, error);
    cgroups_free(&cgroups);
    if (rc < 0)
        pressure_survey_free(survey);
    return rc;
}

/* Orders by name; the whole guest, which has no name, comes first. */
static int by_cgroup(const void *a, const void *b)
{
    const char *x = ((const struct pressure_name *)a)->cgroup;
    const char *y = ((const struct pressure_name *)b)->cgroup;

    if (!x || !y)
        return (x != NULL) - (y != NULL);
    return strcmp(x, y);
}

int pressure_survey_index(struct pressure_survey *survey)
{
    survey->by_name = calloc(survey->n + 1, sizeof(*survey->by_name));
    if (!survey->by_name)
        return -ENOMEM;
    for (size_t i = 0; i < survey->n; i++)
        survey->by_name[i] = (struct pressure_name){survey->group[i].cgroup, &survey->group[i]};
    if (survey->n > 0)
        qsort(survey->by_name, survey->n, sizeof(*survey->by_name), by_cgroup);
    return 0;
}

const struct pressure_group *pressure_survey_find(const struct pressure_survey *survey,
                                                  const char *cgroup)
{
    const struct pressure_name wanted = {.cgroup = cgroup};
    const struct pressure_name *found = NULL;

    if (survey->n > 0)
        found = bsearch(&wanted, survey->by_name, survey->n, sizeof(wanted), by_cgroup);
    return found ? found->group : NULL;
}

double pressure_share(const struct stalled *before, const struct stalled *after, uint64_t ns)
{
    if (before->total_us == KEYED_UNKNOWN || after->total_us == KEYED_UNKNOWN ||
        after->total_us < before->total_us || ns == 0)
        return NAN;
    return 100.0 * (double)(after->total_us - before->total_us) * 1000 / (double)ns;
}
