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
 * kinds; an output has one switch over these kinds, and knows no field by name. Outputs differ in
 * the order of their columns, and each order is a contract: so fields have a group, an output names
 * the groups in its own order, and within a group all outputs use the order of the table.
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
    FIELD_SET,     /* a set of bits with .names; its text is names with commas */
    FIELD_WINDOWS, /* struct sample_record: its windows */
    FIELD_AGES,    /* struct ages_record: its bins */
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

/** The history's table that has the column. */
enum field_home {
    HOME_NONE,
    HOME_GUEST,
    HOME_SAMPLE,
    HOME_GUEST_STATS,
    HOME_OWN_SET,
    HOME_WINDOW,  /* the text of a sample's windows: history/row.h */
    HOME_SUMMARY, /* no field has it; outputs use it to select the fields with a rollup */
};

/** How the field is summarised over a minute and an hour of records. */
enum field_rollup {
    ROLLUP_NONE, /* it is not summarised */
    ROLLUP_MEAN, /* mean over time */
    ROLLUP_SUM,
    ROLLUP_MIN,
    ROLLUP_MAX,
    ROLLUP_LAST,
    ROLLUP_ANY, /* for a set: the bits of any record */
};

struct field {
    enum field_type type;
    enum field_group group;
    size_t offset;             /* in the table's struct */
    size_t size;               /* FIELD_TEXT; FIELD_NAME, of an enum or a bool; else 0 */
    double most;               /* FIELD_REAL: see field_slots_valid(); 0: the default */
    const struct names *names; /* FIELD_NAME, FIELD_SET */
    /* AGENT_UNKNOWN and values that are not finite count as no value */
    bool may_lack;
    enum field_home home;
    const char *column; /* in the history */
    const char *json;   /* name in the object of a record, or of a window */
    /* rounded in JSON to multiples of it, because more digits would be noise; 0: not rounded */
    double digit;
    const char *csv; /* name in the history's CSV, and in its JSON */
    enum field_rollup rollup;
    size_t rolled;      /* ROLLUP_...: offset in struct record_summary, if it is summarised */
    const char *metric; /* the exporter's metric, and its help */
    const char *help;
};

/** The columns of a time's records, summarised; for a single record, its columns. */
struct record_summary {
    double ram_bytes, resident_bytes, unmeasurable_bytes;
    double vcpu_s, cpu_s, paused_s;
    double precision;
    const char *method;
    unsigned flags;
};

/** A record as it is kept. The record stands first, so a field's offset in struct sample_record and
 * in struct ages_record is also its offset here. */
struct kept_sample {
    struct ages_record record; /* its method's name is a known one, or "unknown" */
    /* The time for which it stands, and the half-width of the 95 % interval that the budget paid
     * for: struct store_entry. */
    double period_s, precision;
    int64_t id; /* grows from each added record to the next */
    /* Unix time when the guest ended, at this record or later; 0: not known to have ended. From
     * history_latest() */
    double ended_s;
};

/** The fields of struct kept_sample; those with a name in JSON are also fields of struct
 * sample_record. */
const struct field *sample_fields(void);
/** The fields of struct window_record. */
const struct field *window_fields(void);
/** The fields of struct guest_stats. */
const struct field *guest_stats_fields(void);

/** Parses "idle", ... as in the methods' tables, SAMPLE_NO_METHOD, or "unknown". */
const char *sample_method_parse(const char *name);

enum value_kind {
    VALUE_NONE, /* not known */
    VALUE_WHOLE,
    VALUE_REAL,
    VALUE_BOOL,
    VALUE_TIME,
    VALUE_TEXT,
    VALUE_SET, /* .text: names with commas */
};

struct field_value {
    enum value_kind kind;
    uint64_t whole; /* VALUE_WHOLE, VALUE_BOOL */
    double real;    /* VALUE_REAL */
    struct timespec time;
    char text[256];
};

/** Reads the member of the struct at @p base. Not for FIELD_WINDOWS and FIELD_AGES. */
void field_get(const struct field *field, const void *base, struct field_value *value);

/** Returns true if its value is a text made from a member that is none: FIELD_METHOD, FIELD_NAME,
 * FIELD_SET. */
bool field_is_named(const struct field *field);

/** Parses such a text into the member at @p at. An unknown name is the first one, or no bit. */
void field_parse_names(const struct field *field, const char *text, void *at);

/** Reads the same from a summary; the mean of whole numbers is cut off to a whole number. */
void field_get_summary(const struct field *field, const struct record_summary *summary,
                       struct field_value *value);

/*
 * Values that cross between two processes of one program: a table's values as numbers of 64 bits,
 * slots. Texts, names that are pointers, windows and ages do not cross, nor does a member at @p end
 * or behind it in the struct.
 */

/** The number of slots that the fields take. */
size_t field_slots_count(const struct field *fields, size_t end);

/** Fills field_slots_count() slots from the struct at @p base. */
void field_slots_put(const struct field *fields, size_t end, const void *base, uint64_t *slots);

/** Returns true if each slot is a possible value of its field: a real is finite and from 0 to .most
 * (1e9), a process positive, a bool 0 or 1, an enum or a set among its names, a time not negative,
 * with nanoseconds below 1e9. */
bool field_slots_valid(const struct field *fields, size_t end, const uint64_t *slots);

/** Fills the struct from valid slots; its other members stay as they are. */
void field_slots_take(const struct field *fields, size_t end, const uint64_t *slots, void *base);

/** The value as a number; NAN if it has no value. */
double field_number(const struct field_value *value);

/** Adds a record to a summary. @p share: its share of the time so far, its own time included. */
void summary_add(struct record_summary *summary, const struct kept_sample *kept, double share);

/** The first field of a group, and the next one, in the order of the table; NULL: no more. */
const struct field *field_of_group(const struct field *fields, enum field_group group);
const struct field *field_next_of_group(const struct field *field);
