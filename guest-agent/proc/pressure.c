// SPDX-License-Identifier: LGPL-2.1-or-later
#include "proc/pressure.h"

#include "base/kernel_number.h"
#include "proc/hidden.h"
#include "proc/keyed.h"
#include "proc/rights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const pressure_resources[] = {"memory", "io", "cpu", NULL};

static const struct stalled unknown = {NAN, NAN, NAN, KEYED_UNKNOWN};

/* Finds fields by name, because a kernel may have more fields. */
static bool parse_line(const char *text, const char *kind, struct stalled *stalled)
{
    struct stalled found;
    char line[256];

    snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);

    const char *avg10 = strstr(line, " avg10="), *avg60 = strstr(line, " avg60=");
    const char *avg300 = strstr(line, " avg300="), *total = strstr(line, " total=");

    if (strcspn(line, " ") != strlen(kind) || strncmp(line, kind, strlen(kind)) != 0 || !avg10 ||
        !avg60 || !avg300 || !total || sscanf(avg10, " avg10=%lf", &found.avg10) != 1 ||
        sscanf(avg60, " avg60=%lf", &found.avg60) != 1 ||
        sscanf(avg300, " avg300=%lf", &found.avg300) != 1 ||
        !kernel_u64(total + strlen(" total="), &found.total_us))
        return false;
    *stalled = found;
    return true;
}

int pressure_parse(const char *text, struct pressure *pressure)
{
    bool some = false;

    *pressure = (struct pressure){unknown, unknown};
    while (*text) {
        if (parse_line(text, "some", &pressure->some))
            some = true;
        parse_line(text, "full", &pressure->full);
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return some ? 0 : -ENODATA;
}

char *pressure_path(char path[PRESSURE_PATH], const char *cgroup, const char *resource)
{
    if (cgroup)
        snprintf(path, PRESSURE_PATH, "%s/%s.pressure", cgroup, resource);
    else
        snprintf(path, PRESSURE_PATH, "proc/pressure/%s", resource);
    return path;
}

/* Explains why a cgroup has no pressure file: the group's own switch (Linux 6.1) or the guest's is
 * off, or there is no such group. */
static int why_no_file(const struct fsroot *root, const char *cgroup, struct error *error)
{
    char on[8] = "";

    if (!fsroot_exists(root, "%s", cgroup))
        return error_set(error, -ENOENT, "/%s: there is no such control group", cgroup);
    if (fsroot_read(root, on, sizeof(on), "%s/cgroup.pressure", cgroup) > 0 && *on == '0')
        return error_set(error, -ENOENT,
                         "/%s: pressure is switched off for this control group: echo 1 "
                         ">/%s/cgroup.pressure",
                         cgroup, cgroup);
    if (!fsroot_exists(root, "proc/pressure"))
        return pressure_why_not(root, NULL, -ENOENT, "proc/pressure", error);
    return error_set(error, -ENOENT,
                     "/%s: the kernel accounts no pressure of this control group: it was booted "
                     "with cgroup_disable=pressure, or is older than Linux 4.20 (5.2 for the root "
                     "group)",
                     cgroup);
}

/* A kernel without PSI has no file. If PSI is off, the file is missing, too, or (before 6.1) cannot
 * be opened. */
int pressure_why_not(const struct fsroot *root, const char *cgroup, int rc, const char *path,
                     struct error *error)
{
    if (rc == -EOPNOTSUPP)
        return error_set(error, rc, "PSI is off: boot the guest with psi=1");
    if (rc == -ENOENT && cgroup)
        return why_no_file(root, cgroup, error);
    if (rc == -ENOENT && proc_file_missing(root))
        return proc_error(root, error, rc, path);
    if (rc == -ENOENT)
        return error_set(error, rc,
                         "no /proc/pressure: PSI is off (boot the guest with psi=1), or the "
                         "kernel has none (CONFIG_PSI, Linux 4.20)");
    if (rc == -ENODEV && cgroup)
        return error_set(error, rc, "/%s: the control group is gone", cgroup);
    return error_set(error, rc, "/%s: %s%s%s", path, strerror(-rc),
                     rc == -EACCES || rc == -EPERM ? "; " : "",
                     rc == -EACCES || rc == -EPERM ? RIGHTS_REMEDY(CAP_DAC_OVERRIDE) : "");
}

int pressure_read(const struct fsroot *root, const char *cgroup, const char *resource,
                  struct pressure *pressure, struct error *error)
{
    char path[PRESSURE_PATH], text[512];
    ssize_t rc = fsroot_read(root, text, sizeof(text), "%s", pressure_path(path, cgroup, resource));

    if (rc >= 0)
        rc = pressure_parse(text, pressure);
    if (rc >= 0)
        return 0;
    *pressure = (struct pressure){unknown, unknown};
    return pressure_why_not(root, cgroup, (int)rc, path, error);
}

static void add_stalled(json_t *object, const char *kind, const struct stalled *stalled)
{
    if (stalled->total_us != KEYED_UNKNOWN)
        json_object_set_new(object, kind,
                            json_pack("{sf sf sf sI}", "avg10", stalled->avg10, "avg60",
                                      stalled->avg60, "avg300", stalled->avg300, "total_us",
                                      (json_int_t)stalled->total_us));
}

json_t *pressure_json(const struct pressure *pressure)
{
    json_t *object = json_object();

    if (object) {
        add_stalled(object, "some", &pressure->some);
        add_stalled(object, "full", &pressure->full);
    }
    return object;
}
