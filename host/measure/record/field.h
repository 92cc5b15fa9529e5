// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file field.h  One table of the members of a record, which every output walks: the history
 * (history/columns.h), JSON, CSV, Prometheus's page, and the message between the two processes of
 * vmwssd (programs/vmwssd/scanner/scan_message.h).
 *
 * A new column is a member of its struct and a line of its table: the member's offset, its type,
 * and its name in each output, NULL if it does not appear there. The columns of the tables for
 * people are chosen by hand.
 *
 * Theory of operation. field_get() converts a member of the struct to a value of one of a few
 * kinds; an output has one switch over these kinds, and knows no field by name. The order of
 * columns differs between outputs, and must not change. So each field belongs to a group; an output
 * lists the groups in its own order, and within a group uses the order of the table.
 */
#pragma once

#include "measure/estimate/guest_stats.h"
#include "measure/record/ages_record.h"

/** The type of the member. */
enum field_type {
    FIELD_END,     /* end of a table */
    FIELD_U64,     /* uint64_t */
    FIELD_REAL,    /* double */
    FIELD_PID,     /* pid_t */
    FIELD_BOOL,    /* bool */
    FIELD_TIME,    /* struct timespec, Unix time */
    FIELD_TEXT,    /* char[] of .size */
    FIELD_METHOD,  /* the name of a method, a constant */
    FIELD_NAME,    /* an enum or a bool with .names */
    FIELD_SET,     /* a set of bits with .names, as text separated by commas */
    FIELD_WINDOWS, /* struct sample_record: its windows */
    FIELD_AGES,    /* struct ages_record: its bins */
    FIELD_POINTS,  /* struct write_curve: its points */
};

/** The group of a field. */
enum field_group {
    GROUP_WHEN,
    GROUP_GUEST,
    GROUP_METHOD,
    GROUP_PANEL,
    GROUP_SIZE,
    GROUP_WINDOWS,
    GROUP_COST,
    GROUP_FLAGS,
    /* Groups of a window. */
    GROUP_WINDOW,
    GROUP_WSS,
    GROUP_UNITS,
    GROUP_TOUCHED,
    GROUP_RAN,
    /* Groups of the guest's statistics. */
    GROUP_SOURCE,
    GROUP_MEMORY,
    GROUP_CACHE,
    GROUP_RATES,
    GROUP_SPLIT,
    GROUP_OWN,
    GROUP_VERDICT,
    GROUP_UNAVAILABLE,
};

/** The table of the history that has the column. */
enum field_home {
    HOME_NONE,
    HOME_GUEST,
    HOME_OWNER,
    HOME_SAMPLE,
    HOME_GUEST_STATS,
    HOME_OWN_SET,
    HOME_WRITE_SET,
    HOME_WINDOW,  /* the text of a sample's windows, or of a curve's points: history/row.h */
    HOME_SUMMARY, /* not used by fields: outputs use it to select the fields with a rollup */
};

/** How a field is summarised over the records of a minute and of an hour. */
enum field_rollup {
    ROLLUP_NONE, /* it is not summarised */
    ROLLUP_MEAN, /* mean over time */
    ROLLUP_SUM,
    ROLLUP_MIN,
    ROLLUP_MAX,
    ROLLUP_LAST,
    ROLLUP_ANY, /* for a set: the union of the records' bits */
};

struct field {
    enum field_type type;
    enum field_group group;
    size_t offset; /* in the table's struct */
    size_t size;   /* FIELD_TEXT; FIELD_NAME, of an enum or a bool; else 0 */
    /* FIELD_REAL: the maximum, see field_slots_valid(); 0: the default */
    double most;
    const struct names *names; /* FIELD_NAME, FIELD_SET */
    /* AGENT_UNKNOWN and values that are not finite count as no value */
    bool may_lack;
    enum field_home home;
    const char *column; /* in the history */
    const char *json;   /* name in the object of a record, or of a window */
    /* JSON rounds to multiples of it, because more digits would be noise; 0: not rounded */
    double digit;
    const char *csv; /* name in the history's CSV, and in its JSON */
    enum field_rollup rollup;
    size_t rolled;      /* ROLLUP_...: offset of the summary in struct record_summary */
    const char *metric; /* the exporter's metric, and its help */
    const char *help;
};

/** The summarised columns of the records of a minute or an hour; for a single record, its
 * columns. */
struct record_summary {
    double ram_bytes, resident_bytes, unmeasurable_bytes;
    double vcpu_s, cpu_s, paused_s;
    double precision;
    const char *method;
    unsigned flags;
};

/** A record in the history. Its struct ages_record comes first, so a field's offset in struct
 * sample_record and in struct ages_record is also its offset here. */
struct kept_sample {
    struct ages_record record; /* its method has the name of a known method, or "unknown" */
    /* The time that the record covers, and the half-width of the 95 % interval that the CPU budget
     * allowed: see struct store_entry. */
    double period_s, precision;
    int64_t id; /* increases with each added record */
    /* Unix time when the guest ended, at this record or later; 0: not known to have ended. Set by
     * history_latest() */
    double ended_s;
};

/** The fields of struct kept_sample; those with a JSON name are also fields of struct
 * sample_record. */
const struct field *sample_fields(void);
/** The fields of struct window_record. */
const struct field *window_fields(void);
/** The fields of struct write_curve. */
const struct field *write_fields(void);
/** The fields of struct write_point. */
const struct field *write_point_fields(void);
/** The fields of struct guest_stats. */
const struct field *guest_stats_fields(void);

/** Parses a method's name such as "idle", SAMPLE_NO_METHOD, or "unknown". */
const char *sample_method_parse(const char *name);

enum value_kind {
    VALUE_NONE, /* not known */
    VALUE_WHOLE,
    VALUE_REAL,
    VALUE_BOOL,
    VALUE_TIME,
    VALUE_TEXT,
    VALUE_SET, /* .text: names separated by commas */
};

struct field_value {
    enum value_kind kind;
    uint64_t whole; /* VALUE_WHOLE, VALUE_BOOL */
    double real;    /* VALUE_REAL */
    struct timespec time;
    char text[256];
};

/** Reads the member of the struct at @p base. Not for FIELD_WINDOWS, FIELD_AGES and FIELD_POINTS.
 */
void field_get(const struct field *field, const void *base, struct field_value *value);

/** Returns true if the field's value is a text although its member is not: FIELD_METHOD,
 * FIELD_NAME, FIELD_SET. */
bool field_is_named(const struct field *field);

/** Parses such a text into the member at @p at. An unknown name becomes the first name, or no
 * bit. */
void field_parse_names(const struct field *field, const char *text, void *at);

/** Like field_get(), but from a summary; the mean of whole numbers is rounded down. */
void field_get_summary(const struct field *field, const struct record_summary *summary,
                       struct field_value *value);

/*
 * Slots are the values of a table as 64-bit numbers, for messages between two processes of one
 * program. Texts, names that are pointers, windows, ages, and members at or after offset @p end are
 * not included.
 */

/** The number of slots for the fields. */
size_t field_slots_count(const struct field *fields, size_t end);

/** Fills field_slots_count() slots from the struct at @p base. */
void field_slots_put(const struct field *fields, size_t end, const void *base, uint64_t *slots);

/** Returns true if each slot is a possible value of its field: a real is finite and from 0 to .most
 * (default 1e9), a pid positive, a bool 0 or 1, an enum or a set among its names, a time not
 * negative, with nanoseconds below 1e9. */
bool field_slots_valid(const struct field *fields, size_t end, const uint64_t *slots);

/** Fills the struct from valid slots; other members do not change. */
void field_slots_take(const struct field *fields, size_t end, const uint64_t *slots, void *base);

/** The value as a number; NAN if it has no value. */
double field_number(const struct field_value *value);

/** Adds a record to a summary. @p share: the record's part of the time summarised so far, including
 * its own. */
void summary_add(struct record_summary *summary, const struct kept_sample *kept, double share);

/** The first field of a group; then the next field, in the order of the table; NULL: no more. */
const struct field *field_of_group(const struct field *fields, enum field_group group);
const struct field *field_next_of_group(const struct field *field);
