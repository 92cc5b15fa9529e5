// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file field.c  See field.h: values and summaries. */
#include "measure/record/field.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void get_whole(struct field_value *value, uint64_t whole, bool may_lack)
{
    value->kind = may_lack && whole == AGENT_UNKNOWN ? VALUE_NONE : VALUE_WHOLE;
    value->whole = whole;
}

static void get_real(struct field_value *value, double real, bool may_lack)
{
    value->kind = may_lack && !isfinite(real) ? VALUE_NONE : VALUE_REAL;
    value->real = real;
}

bool field_is_named(const struct field *field)
{
    return field->type == FIELD_METHOD || field->type == FIELD_NAME || field->type == FIELD_SET;
}

/* The numeric value of an enum or a bool. */
static unsigned value_of(const struct field *field, const void *at)
{
    return field->size == sizeof(bool) ? *(const bool *)at : *(const unsigned *)at;
}

static void set_value(const struct field *field, unsigned value, void *at)
{
    if (field->size == sizeof(bool))
        *(bool *)at = value != 0;
    else
        *(unsigned *)at = value;
}

static const char *name_of(const struct field *field, const void *at)
{
    const char *method;

    if (field->type == FIELD_NAME)
        return field->names->at[value_of(field, at)];
    method = *(const char *const *)at;
    return method ? method : ""; /* NULL: no record yet */
}

static void get_names(const struct field *field, const void *at, struct field_value *value)
{
    value->kind = field->type == FIELD_SET ? VALUE_SET : VALUE_TEXT;
    if (field->type == FIELD_SET)
        names_bits_text(field->names, value->text, sizeof(value->text), *(const unsigned *)at);
    else
        snprintf(value->text, sizeof(value->text), "%s", name_of(field, at));
}

/* Like a new record, a record that was read points to the name in the method's table. */
void field_parse_names(const struct field *field, const char *text, void *at)
{
    if (field->type == FIELD_METHOD)
        *(const char **)at = sample_method_parse(text);
    else if (field->type == FIELD_NAME)
        set_value(field, names_parse(field->names, text, 0), at);
    else
        *(unsigned *)at = names_bits_parse(field->names, text);
}

void field_get(const struct field *field, const void *base, struct field_value *value)
{
    const void *at = (const char *)base + field->offset;

    switch (field->type) {
    case FIELD_U64:
        get_whole(value, *(const uint64_t *)at, field->may_lack);
        break;
    case FIELD_REAL:
        get_real(value, *(const double *)at, field->may_lack);
        break;
    case FIELD_PID:
        get_whole(value, (uint64_t) * (const pid_t *)at, false);
        break;
    case FIELD_BOOL:
        value->kind = VALUE_BOOL;
        value->whole = *(const bool *)at;
        break;
    case FIELD_TIME:
        value->kind = VALUE_TIME;
        value->time = *(const struct timespec *)at;
        break;
    case FIELD_TEXT:
        value->kind = VALUE_TEXT;
        snprintf(value->text, sizeof(value->text), "%s", (const char *)at);
        break;
    case FIELD_METHOD:
    case FIELD_NAME:
    case FIELD_SET:
        get_names(field, at, value);
        break;
    default:
        value->kind = VALUE_NONE;
    }
}

void field_get_summary(const struct field *field, const struct record_summary *summary,
                       struct field_value *value)
{
    const void *at = (const char *)summary + field->rolled;

    if (field->rollup == ROLLUP_NONE) /* the field is not summarised */
        value->kind = VALUE_NONE;
    else if (field_is_named(field))
        get_names(field, at, value);
    else if (field->type == FIELD_U64)
        get_whole(value, (uint64_t) * (const double *)at, false);
    else
        get_real(value, *(const double *)at, false);
}

double field_number(const struct field_value *value)
{
    switch (value->kind) {
    case VALUE_WHOLE:
    case VALUE_BOOL:
        return (double)value->whole;
    case VALUE_REAL:
        return value->real;
    case VALUE_TIME:
        return (double)value->time.tv_sec + (double)value->time.tv_nsec / 1e9;
    default:
        return NAN;
    }
}

static void add_number(enum field_rollup rollup, double *sum, double number, double share)
{
    switch (rollup) {
    case ROLLUP_MEAN:
        *sum += (number - *sum) * share;
        break;
    case ROLLUP_SUM:
        *sum += number;
        break;
    case ROLLUP_MIN:
        *sum = fmin(*sum, number);
        break;
    case ROLLUP_MAX:
        *sum = fmax(*sum, number);
        break;
    default:
        *sum = number;
    }
}

static void add_names(const struct field *field, void *into, const void *at)
{
    if (field->rollup == ROLLUP_ANY)
        *(unsigned *)into |= *(const unsigned *)at;
    else
        *(const char **)into = sample_method_parse(name_of(field, at));
}

void summary_add(struct record_summary *summary, const struct kept_sample *kept, double share)
{
    struct field_value value;

    for (const struct field *field = sample_fields(); field->type; field++) {
        void *into = (char *)summary + field->rolled;

        if (field->rollup == ROLLUP_NONE)
            continue;
        if (field_is_named(field)) {
            add_names(field, into, (const char *)kept + field->offset);
            continue;
        }
        field_get(field, kept, &value);
        add_number(field->rollup, into, field_number(&value), share);
    }
}

static const struct field *seek(const struct field *field, enum field_group group)
{
    while (field->type && field->group != group)
        field++;
    return field->type ? field : NULL;
}

const struct field *field_of_group(const struct field *fields, enum field_group group)
{
    return seek(fields, group);
}

const struct field *field_next_of_group(const struct field *field)
{
    return seek(field + 1, field->group);
}

/* --- slots ------------------------------------------------------------------------------------ */

/* The size of the member in a message. */
static size_t bytes_of(const struct field *field, size_t end)
{
    if (field->offset >= end)
        return 0;
    switch (field->type) {
    case FIELD_U64:
    case FIELD_REAL:
        return sizeof(uint64_t);
    case FIELD_PID:
        return sizeof(pid_t);
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_TIME:
        return sizeof(struct timespec);
    case FIELD_NAME:
        return field->size;
    case FIELD_SET:
        return sizeof(unsigned);
    default:
        return 0;
    }
}

/* A time takes two slots. */
static size_t slots_of(const struct field *field, size_t end)
{
    return (bytes_of(field, end) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

size_t field_slots_count(const struct field *fields, size_t end)
{
    size_t n = 0;

    for (; fields->type; fields++)
        n += slots_of(fields, end);
    return n;
}

void field_slots_put(const struct field *fields, size_t end, const void *base, uint64_t *slots)
{
    for (; fields->type; fields++) {
        const size_t n = slots_of(fields, end);

        memset(slots, 0, n * sizeof(*slots));
        if (n > 0)
            memcpy(slots, (const char *)base + fields->offset, bytes_of(fields, end));
        slots += n;
    }
}

#define MOST_SECONDS 1e9

/* Any byte values are valid for these types, unlike for a bool. */
union crossed {
    uint64_t whole;
    double real;
    pid_t pid;
    uint8_t byte; /* a bool has two values only */
    unsigned bits;
    struct timespec time;
};

static bool is_valid(const struct field *field, const union crossed *crossed)
{
    switch (field->type) {
    case FIELD_TIME:
        return crossed->time.tv_sec >= 0 && crossed->time.tv_nsec >= 0 &&
               crossed->time.tv_nsec < 1000000000;
    case FIELD_PID:
        return crossed->pid > 0;
    case FIELD_NAME:
        return (field->size == sizeof(bool) ? crossed->byte : crossed->bits) < field->names->n;
    case FIELD_SET:
        return crossed->bits >> field->names->n == 0;
    case FIELD_BOOL:
        return crossed->byte <= 1;
    case FIELD_REAL:
        return isfinite(crossed->real) && crossed->real >= 0 &&
               crossed->real <= (field->most > 0 ? field->most : MOST_SECONDS);
    default:
        return true;
    }
}

bool field_slots_valid(const struct field *fields, size_t end, const uint64_t *slots)
{
    for (; fields->type; fields++) {
        const size_t n = slots_of(fields, end);
        union crossed crossed = {0};

        memcpy(&crossed, slots, bytes_of(fields, end));
        /* the unused bytes of a slot are 0 */
        if (n > 0 &&
            (!is_valid(fields, &crossed) || memcmp(&crossed, slots, n * sizeof(*slots)) != 0))
            return false;
        slots += n;
    }
    return true;
}

void field_slots_take(const struct field *fields, size_t end, const uint64_t *slots, void *base)
{
    for (; fields->type; fields++) {
        const size_t n = slots_of(fields, end);

        if (n > 0)
            memcpy((char *)base + fields->offset, slots, bytes_of(fields, end));
        slots += n;
    }
}
