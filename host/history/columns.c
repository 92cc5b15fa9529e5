// SPDX-License-Identifier: LGPL-2.1-or-later
#include "history/columns.h"

#include "base/clock.h"
#include "history/row.h"
#include "history/sql.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TEXT_MAX 32768 /* room for 65 windows or bins of some 100 bytes */
#define NAME_MAX_TEXT 32    /* maximum length of one name */

/* --- as SQL ----------------------------------------------------------------------------------- */

static bool is_in(const struct field *field, enum field_home home)
{
    return home == HOME_SUMMARY ? field->rollup != ROLLUP_NONE : field->home == home;
}

/* The mean of whole numbers need not be a whole number. */
static const char *sql_type(const struct field *field, enum field_home home)
{
    switch (field->type) {
    case FIELD_REAL:
        return "REAL";
    case FIELD_U64:
        return home == HOME_SUMMARY && field->rollup == ROLLUP_MEAN ? "REAL" : "INTEGER";
    case FIELD_PID:
    case FIELD_BOOL:
    case FIELD_TIME:
        return "INTEGER";
    default:
        return "TEXT";
    }
}

static void append_sql(struct sql_text *sql, const char *text, size_t n)
{
    size_t room = sizeof(sql->text) - 1 - sql->used;

    n = n < room ? n : room;
    memcpy(sql->text + sql->used, text, n);
    sql->used += n;
    sql->text[sql->used] = '\0';
}

void sql_append(struct sql_text *sql, const char *text)
{
    append_sql(sql, text, strlen(text));
}

static void append_type(struct sql_text *sql, const struct field *field, enum field_home home)
{
    sql_append(sql, sql_type(field, home));
    if (!field->may_lack)
        sql_append(sql, " NOT NULL");
}

void columns_append(struct sql_text *sql, const struct field *fields, enum field_home home,
                    const char *pattern)
{
    for (const struct field *field = fields; field->type; field++) {
        if (!is_in(field, home))
            continue;
        for (const char *c = pattern; *c; c++)
            if (*c == '#')
                sql_append(sql, field->column);
            else if (*c == '@')
                append_type(sql, field, home);
            else
                append_sql(sql, c, 1);
    }
}

/* --- bound ------------------------------------------------------------------------------------ */

static void bind_value(sqlite3_stmt *s, int parameter, const struct field_value *value)
{
    switch (value->kind) {
    case VALUE_WHOLE:
    case VALUE_BOOL:
        sql_bind_u64(s, parameter, value->whole);
        break;
    case VALUE_REAL:
        sqlite3_bind_double(s, parameter, value->real);
        break;
    case VALUE_TIME:
        sqlite3_bind_int64(s, parameter, timespec_ms(&value->time));
        break;
    case VALUE_TEXT:
    case VALUE_SET:
        sqlite3_bind_text(s, parameter, value->text, -1, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_bind_null(s, parameter);
    }
}

/* Windows, ages and points are arrays; they are stored as text. */
static bool is_array(enum field_type type)
{
    return type == FIELD_WINDOWS || type == FIELD_AGES || type == FIELD_POINTS;
}

static int bind_field(sqlite3_stmt *s, int parameter, const struct field *field, const void *base)
{
    struct field_value value;
    char *text;

    if (!is_array(field->type)) {
        field_get(field, base, &value);
        bind_value(s, parameter, &value);
        return 0;
    }
    text = row_text(field->type, base);
    if (!text)
        return -ENOMEM;
    sqlite3_bind_text(s, parameter, text, -1, free);
    return 0;
}

int columns_bind(sqlite3_stmt *s, int first, const struct field *fields, enum field_home home,
                 const void *base)
{
    for (const struct field *field = fields; field->type; field++) {
        if (!is_in(field, home))
            continue;
        if (bind_field(s, first, field, base) < 0)
            return -ENOMEM;
        first++;
    }
    return first;
}

int columns_bind_summary(sqlite3_stmt *s, int first, const struct record_summary *summary)
{
    struct field_value value;

    for (const struct field *field = sample_fields(); field->type; field++) {
        const void *at = (const char *)summary + field->rolled;

        if (!is_in(field, HOME_SUMMARY))
            continue;
        field_get_summary(field, summary, &value);
        if (field->rollup == ROLLUP_MEAN) {
            value.kind = VALUE_REAL;
            value.real = *(const double *)at;
        }
        bind_value(s, first++, &value);
    }
    return first;
}

/* --- read again ------------------------------------------------------------------------------- */

static int read_time(sqlite3_stmt *s, int column, struct timespec *time)
{
    int64_t ms;

    if (sql_i64(s, column, &ms) < 0)
        return -EUCLEAN;

    int64_t rest = ms % 1000;
    bool before = rest < 0; /* before 1970, and not at a whole second */

    time->tv_sec = (time_t)(ms / 1000 - before);
    time->tv_nsec = (long)(before ? rest + 1000 : rest) * 1000000;
    return 0;
}

static int read_pid(sqlite3_stmt *s, int column, pid_t *pid)
{
    uint64_t number;

    if (sql_u64(s, column, &number) < 0 || number > INT_MAX)
        return -EUCLEAN;
    *pid = (pid_t)number;
    return 0;
}

static int read_bool(sqlite3_stmt *s, int column, bool *value)
{
    uint64_t number;

    if (sql_u64(s, column, &number) < 0)
        return -EUCLEAN;
    *value = number != 0;
    return 0;
}

static int read_u64(sqlite3_stmt *s, int column, bool may_lack, uint64_t *value)
{
    if (!may_lack || sqlite3_column_type(s, column) != SQLITE_NULL)
        return sql_u64(s, column, value);
    *value = AGENT_UNKNOWN;
    return 0;
}

/* An invalid figure in a guest's report counts as unknown, because a guest must not be able to make
 * the host's record unreadable. */
static int read_real(sqlite3_stmt *s, int column, bool may_lack, double *value)
{
    int rc = sql_double(s, column, value);

    if (!may_lack)
        return rc;
    if (rc < 0 || *value < 0)
        *value = NAN;
    return 0;
}

static int read_names(sqlite3_stmt *s, int column, const struct field *field, void *at)
{
    char text[sizeof(((struct field_value *)NULL)->text)];
    size_t size = field->type == FIELD_SET ? sizeof(text) : NAME_MAX_TEXT;

    if (sql_text(s, column, text, size) < 0)
        return -EUCLEAN;
    field_parse_names(field, text, at);
    return 0;
}

static int read_array(sqlite3_stmt *s, int column, enum field_type type, void *base)
{
    char text[JSON_TEXT_MAX];

    return sql_text(s, column, text, sizeof(text)) < 0 ? -EUCLEAN : row_parse(type, text, base);
}

static int read_field(sqlite3_stmt *s, int column, const struct field *field, void *base)
{
    void *at = (char *)base + field->offset;

    switch (field->type) {
    case FIELD_U64:
        return read_u64(s, column, field->may_lack, at);
    case FIELD_REAL:
        return read_real(s, column, field->may_lack, at);
    case FIELD_PID:
        return read_pid(s, column, at);
    case FIELD_BOOL:
        return read_bool(s, column, at);
    case FIELD_TIME:
        return read_time(s, column, at);
    case FIELD_TEXT:
        return sql_text(s, column, at, field->size);
    case FIELD_METHOD:
    case FIELD_NAME:
    case FIELD_SET:
        return read_names(s, column, field, at);
    default:
        return read_array(s, column, field->type, base);
    }
}

int columns_read(sqlite3_stmt *s, int first, const struct field *fields, enum field_home home,
                 void *base)
{
    for (const struct field *field = fields; field->type; field++) {
        if (!is_in(field, home))
            continue;
        if (read_field(s, first, field, base) < 0)
            return -EUCLEAN;
        first++;
    }
    return first;
}

/* Limit for bytes and seconds, which no real value reaches: such a number can be cast to an
 * integer. */
#define MOST 1e18

int columns_read_summary(sqlite3_stmt *s, int first, struct record_summary *summary)
{
    for (const struct field *field = sample_fields(); field->type; field++) {
        void *at = (char *)summary + field->rolled;
        double *number = at;

        if (!is_in(field, HOME_SUMMARY))
            continue;
        if (field_is_named(field)
                ? read_names(s, first, field, at) < 0
                : sql_double(s, first, number) < 0 || *number < 0 || *number > MOST)
            return -EUCLEAN;
        first++;
    }
    return first;
}
