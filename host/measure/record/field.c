// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file field.c  See field.h: values, and their summaries. */
#include "measure/record/field.h"

#include <limits.h>
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

static void get_names(const struct field *field, const void *at, struct field_value *value)
{
    value->kind = field->type == FIELD_SET ? VALUE_SET : VALUE_TEXT;
    field->names->text(value->text, sizeof(value->text), at);
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

    if (field->rollup == ROLLUP_NONE) /* the field has no place in a summary */
        value->kind = VALUE_NONE;
    else if (field->names)
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

static void add_names(const struct field *field, void *into, const char *text)
{
    unsigned bits;

    if (field->rollup != ROLLUP_ANY) {
        field->names->parse(text, into);
        return;
    }
    field->names->parse(text, &bits);
    *(unsigned *)into |= bits;
}

void summary_add(struct record_summary *summary, const struct kept_sample *kept, double share)
{
    struct field_value value;

    for (const struct field *field = sample_fields(); field->type; field++) {
        void *into = (char *)summary + field->rolled;

        if (field->rollup == ROLLUP_NONE)
            continue;
        field_get(field, kept, &value);
        if (field->names)
            add_names(field, into, value.text);
        else
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

/* A time takes two slots. */
static size_t slots_of(const struct field *field, size_t end)
{
    if (field->offset >= end)
        return 0;
    switch (field->type) {
    case FIELD_TIME:
        return 2;
    case FIELD_NAME:
        return field->size > 0;
    case FIELD_TEXT:
    case FIELD_WINDOWS:
    case FIELD_AGES:
        return 0;
    default:
        return 1;
    }
}

size_t field_slots_count(const struct field *fields, size_t end)
{
    size_t n = 0;

    for (; fields->type; fields++)
        n += slots_of(fields, end);
    return n;
}

static void put_slots(const struct field *field, const void *at, uint64_t *slots)
{
    switch (field->type) {
    case FIELD_TIME:
        slots[0] = (uint64_t)((const struct timespec *)at)->tv_sec;
        slots[1] = (uint64_t)((const struct timespec *)at)->tv_nsec;
        break;
    case FIELD_PID:
        *slots = (uint64_t) * (const pid_t *)at;
        break;
    case FIELD_NAME:
        *slots = field->size == sizeof(bool) ? *(const bool *)at : *(const unsigned *)at;
        break;
    case FIELD_SET:
        *slots = *(const unsigned *)at;
        break;
    case FIELD_BOOL:
        *slots = *(const bool *)at;
        break;
    default: /* FIELD_U64, FIELD_REAL */
        memcpy(slots, at, sizeof(*slots));
    }
}

void field_slots_put(const struct field *fields, size_t end, const void *base, uint64_t *slots)
{
    for (; fields->type; fields++) {
        const size_t n = slots_of(fields, end);

        if (n > 0)
            put_slots(fields, (const char *)base + fields->offset, slots);
        slots += n;
    }
}

#define MOST_SECONDS 1e9

static bool real_valid(const uint64_t *slot, double most)
{
    double real;

    memcpy(&real, slot, sizeof(real));
    return isfinite(real) && real >= 0 && real <= (most > 0 ? most : MOST_SECONDS);
}

static bool slots_valid(const struct field *field, const uint64_t *slots)
{
    switch (field->type) {
    case FIELD_TIME:
        return slots[0] <= INT64_MAX && slots[1] < 1000000000;
    case FIELD_PID:
        return *slots > 0 && *slots <= INT_MAX;
    case FIELD_NAME:
        return *slots <= (field->most > 0 ? (uint64_t)field->most : 1);
    case FIELD_SET:
        return (*slots & ~(uint64_t)FLAGS_ALL) == 0;
    case FIELD_BOOL:
        return *slots <= 1;
    case FIELD_REAL:
        return real_valid(slots, field->most);
    default:
        return true;
    }
}

bool field_slots_valid(const struct field *fields, size_t end, const uint64_t *slots)
{
    for (; fields->type; fields++) {
        const size_t n = slots_of(fields, end);

        if (n > 0 && !slots_valid(fields, slots))
            return false;
        slots += n;
    }
    return true;
}

static void take_slots(const struct field *field, const uint64_t *slots, void *at)
{
    switch (field->type) {
    case FIELD_TIME:
        *(struct timespec *)at = (struct timespec){.tv_sec = (time_t)slots[0],
                                                   .tv_nsec = (long)slots[1]};
        break;
    case FIELD_PID:
        *(pid_t *)at = (pid_t)*slots;
        break;
    case FIELD_NAME:
        if (field->size == sizeof(bool))
            *(bool *)at = *slots;
        else
            *(unsigned *)at = (unsigned)*slots;
        break;
    case FIELD_SET:
        *(unsigned *)at = (unsigned)*slots;
        break;
    case FIELD_BOOL:
        *(bool *)at = *slots;
        break;
    default:
        memcpy(at, slots, sizeof(*slots));
    }
}

void field_slots_take(const struct field *fields, size_t end, const uint64_t *slots, void *base)
{
    for (; fields->type; fields++) {
        const size_t n = slots_of(fields, end);

        if (n > 0)
            take_slots(fields, slots, (char *)base + fields->offset);
        slots += n;
    }
}
