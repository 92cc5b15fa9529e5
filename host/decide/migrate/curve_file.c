// SPDX-License-Identifier: LGPL-2.1-or-later
#include "decide/migrate/curve_file.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "measure/estimate/dirty.h"
#include "measure/record/sample_record.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- markings --------------------------------------------------------------------------------- */

#define PAUSE_MOST_S 0.5
#define SHORT_LEAST_S 0.5
#define SHORT_MOST_S 1.0
/* Multiples of it, modulo 1, are as far from each other as they can be, however many there are. */
#define GOLDEN_RATIO 0.6180339887498949

double migrate_marking_pause_s(unsigned i)
{
    return PAUSE_MOST_S * fmod(i * GOLDEN_RATIO, 1);
}

double migrate_marking_window_s(double downtime_s)
{
    return fmin(fmax(downtime_s, SHORT_LEAST_S), SHORT_MOST_S);
}

void migrate_guest_mark(struct migrate_guest *guest, const struct write_curve *curve)
{
    guest->writes = guest->quiet = *curve;
    guest->n_markings = 1;
}

static uint64_t bytes_at(const struct migrate_guest *guest, const struct write_curve *curve,
                         enum dirty_bound bound, double seconds)
{
    return (uint64_t)dirty_bytes(curve, bound, seconds, (double)guest->ram_bytes);
}

void migrate_guest_join(struct migrate_guest *guest, const struct write_curve *curve)
{
    const unsigned n = guest->n_markings++;

    for (size_t i = 0; i < guest->writes.n; i++) {
        struct write_point *point = &guest->writes.points[i], *least = &guest->quiet.points[i];
        const double seconds = point->est_window_s;

        if (curve->n == 0 || seconds > curve->points[curve->n - 1].est_window_s)
            break;

        const uint64_t bytes = bytes_at(guest, curve, DIRTY_MIDDLE, seconds);

        point->low_bytes = smaller(point->low_bytes, bytes_at(guest, curve, DIRTY_LOW, seconds));
        point->high_bytes = larger(point->high_bytes, bytes_at(guest, curve, DIRTY_HIGH, seconds));
        point->bytes = (uint64_t)(((double)point->bytes * n + (double)bytes) / (n + 1));
        point->bytes = smaller(larger(point->bytes, point->low_bytes), point->high_bytes);
        least->bytes = smaller(least->bytes, bytes);
        least->low_bytes = point->low_bytes;
    }
    guest->writes.flags |= curve->flags;
}

struct migrate_range migrate_guest_filled(const struct migrate_guest *guest)
{
    return migrate_filled((double)guest->ram_bytes, (double)guest->resident_bytes, &guest->writes,
                          guest->arrived);
}

/* --- a record --------------------------------------------------------------------------------- */

static bool get_bytes(const json_t *object, const char *key, uint64_t *bytes)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *bytes = (uint64_t)json_integer_value(value);
    return true;
}

/* NULL, absent, or too long: empty. */
static void get_text(const json_t *object, const char *key, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));

    if (value && strlen(value) < size)
        memcpy(text, value, strlen(value) + 1);
}

static bool get_window(const json_t *window, double *seconds)
{
    *seconds = json_number_value(json_object_get(window, "est_window_s"));
    return isfinite(*seconds) && *seconds > 0 && *seconds < 1e7;
}

static bool get_point(const json_t *object, struct write_point *point)
{
    point->window_s = json_number_value(json_object_get(object, "window_s"));
    return get_window(object, &point->est_window_s) &&
           get_bytes(object, "write_set_bytes", &point->bytes) &&
           get_bytes(object, "write_set_low_bytes", &point->low_bytes) &&
           get_bytes(object, "write_set_high_bytes", &point->high_bytes) &&
           point->low_bytes <= point->bytes && point->bytes <= point->high_bytes;
}

static bool get_points(const json_t *array, struct write_curve *curve)
{
    const size_t n = json_array_size(array);

    if (n == 0 || n > WRITE_POINTS_MAX)
        return false;
    for (curve->n = 0; curve->n < n; curve->n++) {
        struct write_point *point = &curve->points[curve->n];

        if (!get_point(json_array_get(array, curve->n), point) ||
            (curve->n > 0 && !(point->est_window_s > point[-1].est_window_s)))
            return false;
    }
    return true;
}

static unsigned get_flags(const json_t *array)
{
    unsigned flags = 0;

    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *name = json_string_value(json_array_get(array, i));

        for (unsigned bit = 0; name && sample_flag_name(bit); bit++)
            if (strcmp(name, sample_flag_name(bit)) == 0)
                flags |= 1U << bit;
    }
    return flags;
}

static const char *fill(const json_t *root, struct migrate_guest *guest)
{
    const json_t *writes = json_object_get(root, "writes");
    const json_t *windows = json_object_get(root, "windows");
    const char *accel = json_string_value(json_object_get(root, "accel"));

    if (!get_bytes(root, "ram_bytes", &guest->ram_bytes) || guest->ram_bytes == 0 ||
        guest->ram_bytes > 1ULL << 60)
        return "no ram_bytes";
    if (!get_bytes(root, "resident_bytes", &guest->resident_bytes))
        return "no resident_bytes";
    if (!get_points(json_object_get(writes, "windows"), &guest->writes))
        return "no write set with its windows: measure it with --writes";
    get_text(root, "domain", guest->domain, sizeof(guest->domain));
    get_text(root, "uuid", guest->uuid, sizeof(guest->uuid));
    guest->kvm = accel && strcmp(accel, "kvm") == 0;
    guest->writes.method = "file";
    guest->writes.flags = get_flags(json_object_get(writes, "flags"));
    get_bytes(writes, "granularity_bytes", &guest->writes.granularity_bytes);
    get_bytes(writes, "sparse_end_bytes", &guest->writes.sparse_end_bytes);
    if (json_array_size(windows) > 0)
        get_bytes(json_array_get(windows, json_array_size(windows) - 1), "wss_bytes",
                  &guest->wss_bytes);
    return NULL;
}

/* The first record, or another marking of the same guest. */
static const char *add_record(const json_t *root, struct migrate_guest *guest)
{
    struct migrate_guest more = {.kvm = false};
    const char *wrong = fill(root, &more);

    if (wrong)
        return wrong;
    if (guest->n_markings == 0) {
        *guest = more;
        migrate_guest_mark(guest, &more.writes);
    } else if (guest->ram_bytes != more.ram_bytes || strcmp(guest->uuid, more.uuid) != 0 ||
               strcmp(guest->domain, more.domain) != 0) {
        return "records of different guests";
    } else {
        migrate_guest_join(guest, &more.writes);
    }
    return NULL;
}

static bool is_blank(const char *text, size_t size)
{
    size_t i = 0;

    while (i < size && strchr(" \t\r\n", text[i]) && text[i])
        i++;
    return i == size;
}

int migrate_curve_parse(const char *text, size_t size, struct migrate_guest *guest,
                        struct error *error)
{
    const char *wrong = NULL;
    size_t at = 0;

    *guest = (struct migrate_guest){.kvm = false};
    do {
        json_error_t where;
        json_t *root = json_loadb(text + at, size - at,
                                  JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &where);

        wrong = json_is_object(root) ? add_record(root, guest) : "not a JSON object";
        at += root ? (size_t)where.position : 0;
        json_decref(root);
    } while (!wrong && !is_blank(text + at, size - at));
    return wrong ? error_set(error, -EINVAL, "%s", wrong) : 0;
}

int migrate_curve_read(const char *path, struct migrate_guest *guest, struct error *error)
{
    cleanup_free char *text = malloc(MIGRATE_CURVE_TEXT);
    cleanup_file FILE *file = fopen(path, "re");
    struct error why = {0};
    size_t size;
    int rc;

    if (!file) {
        rc = -errno;
        return error_set(error, rc, "%s: %s", path, strerror(-rc));
    }
    if (!text)
        return error_set(error, -ENOMEM, "out of memory");
    size = fread(text, 1, MIGRATE_CURVE_TEXT, file);
    rc = ferror(file) ? -EIO : size == MIGRATE_CURVE_TEXT ? -EFBIG : 0;
    if (rc < 0)
        return error_set(error, rc, "%s: %s", path, strerror(-rc));
    rc = migrate_curve_parse(text, size, guest, &why);
    return rc < 0 ? error_set(error, rc, "%s: %s", path, why.text) : 0;
}
