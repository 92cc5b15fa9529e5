// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file field.c  See field.h: values, and what becomes of them in a summary. */
#include "measure/record/field.h"

#include <math.h>
#include <stdio.h>

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

    if (field->names)
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
