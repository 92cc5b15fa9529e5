// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file field.h  One table of what a record consists of, which every output walks: the history
 * (history/columns.h), JSON, CSV, Prometheus's page, and the message between the two processes of
 * vmwssd (programs/vmwssd/scanner/scan_message.h).
 *
 * A new column is a member of its struct and a line of its table: where it stands, of what type it
 * is, and what it is called in each output, NULL where it does not appear. The columns of
 * the tables for people are chosen by hand.
 *
 * Theory of operation. field_get() makes a value of what stands in the struct, of one of a few
 * kinds; an output has one switch over these, and knows no field by name. Outputs differ in the
 * order of their columns, all of which are contracts: so fields have a group, an output names the
 * groups in its order, and within a group all have the order of the table.
 */
#pragma once

#include "measure/estimate/guest_stats.h"
#include "measure/record/ages_record.h"

/** What stands in the struct. */
enum field_type {
    FIELD_END,     /* of a table */
    FIELD_U64,     /* uint64_t */
    FIELD_REAL,    /* double */
    FIELD_PID,     /* pid_t */
    FIELD_BOOL,    /* bool */
    FIELD_TIME,    /* struct timespec, Unix time */
    FIELD_TEXT,    /* char[] of .size */
    FIELD_NAME,    /* what .names has the text of: an enum, a method */
    FIELD_SET,     /* likewise, a set of bits: its text is names with commas */
    FIELD_WINDOWS, /* struct sample_record: its windows */
    FIELD_AGES,    /* struct ages_record: its bins */
};

/** Which fields go together. */
enum field_group {
    GROUP_WHEN,
    GROUP_GUEST,
    GROUP_METHOD,
    GROUP_PANEL,
    GROUP_SIZE,
    GROUP_WINDOWS,
    GROUP_COST,
    GROUP_FLAGS,
    /* Of a window. */
    GROUP_WINDOW,
    GROUP_WSS,
    GROUP_UNITS,
    GROUP_TOUCHED,
    GROUP_RAN,
    /* Of the guest's statistics. */
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
    HOME_SAMPLE,
    HOME_GUEST_STATS,
    HOME_OWN_SET,
    HOME_WINDOW,  /* the text of a sample's windows: history/row.h */
    HOME_SUMMARY, /* of no field, but of outputs: those that have a rollup */
};

/** What becomes of it in a minute and an hour of records. */
enum field_rollup {
    ROLLUP_NONE, /* it goes with its record */
    ROLLUP_MEAN, /* over time */
    ROLLUP_SUM,
    ROLLUP_MIN,
    ROLLUP_MAX,
    ROLLUP_LAST,
    ROLLUP_ANY, /* of a set: what was in any of them */
};

struct field_names {
    void (*text)(char *text, size_t size, const void *at);
    void (*parse)(const char *text, void *at);
};

struct field {
    enum field_type type;
    enum field_group group;
    size_t offset;                   /* in the struct that the table is of */
    size_t size;                     /* FIELD_TEXT; FIELD_NAME, of an enum or a bool; else 0 */
    double most;                     /* see field_slots_valid(); 0: the default of the type */
    const struct field_names *names; /* FIELD_NAME, FIELD_SET */
    bool may_lack;                   /* AGENT_UNKNOWN and what is not finite are no value */
    enum field_home home;
    const char *column; /* there */
    const char *json;   /* in the object of a record, or of a window */
    double digit;       /* there rounded to multiples of it: more would be noise; 0: as it is */
    const char *csv;    /* in the history's CSV, and in its JSON */
    enum field_rollup rollup;
    size_t rolled;      /* ROLLUP_...: offset in struct record_summary, if there is one */
    const char *metric; /* of the exporter, and its help */
    const char *help;
};

/** What the columns of the records of a time sum up to; of one record, its columns. */
struct record_summary {
    double ram_bytes, resident_bytes, unmeasurable_bytes;
    double vcpu_s, cpu_s, paused_s;
    double precision;
    const char *method;
    unsigned flags;
};

/** A record as it is kept. The record stands first: where a field is in struct sample_record and in
 * struct ages_record, there it is in this. */
struct kept_sample {
    struct ages_record record; /* its method's name is a known one, or "unknown" */
    /* The time that it stands for, and the half-width of the 95 % interval that the budget paid
     * for: struct store_entry. */
    double period_s, precision;
    int64_t id;     /* grows from one record to the next that is added */
    double ended_s; /* Unix time when the guest ended, at this record or later; 0: not known to
                       have. Of history_latest() */
};

/** Of struct kept_sample; those with a name in JSON are of struct sample_record as well. */
const struct field *sample_fields(void);
/** Of struct window_record. */
const struct field *window_fields(void);
/** Of struct guest_stats. */
const struct field *guest_stats_fields(void);

/** "idle", ... as the methods' tables have it, SAMPLE_NO_METHOD, or "unknown". */
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

/** What stands in the struct at @p base. Not of FIELD_WINDOWS and FIELD_AGES. */
void field_get(const struct field *field, const void *base, struct field_value *value);

/** The same of a summary; whole numbers of what is whole, cut off. */
void field_get_summary(const struct field *field, const struct record_summary *summary,
                       struct field_value *value);

/*
 * What crosses between two processes of one program: a table's values as numbers of 64 bits, slots.
 * Texts, names that are pointers, windows and ages do not cross, nor does what is at @p end or
 * behind it in the struct.
 */

/** How many slots the fields take. */
size_t field_slots_count(const struct field *fields, size_t end);

/** Fills field_slots_count() slots of what stands in the struct at @p base. */
void field_slots_put(const struct field *fields, size_t end, const void *base, uint64_t *slots);

/** Whether each slot is a value that its field can have: a real is finite and from 0 to .most
 * (1e9), a process positive, a switch 0 or 1, an enum at most .most, a set made of known flags, a
 * time's nanoseconds below 1e9. */
bool field_slots_valid(const struct field *fields, size_t end, const uint64_t *slots);

/** Fills the struct from valid slots; its other members stay as they are. */
void field_slots_take(const struct field *fields, size_t end, const uint64_t *slots, void *base);

/** The value as a number; NAN when it is none. */
double field_number(const struct field_value *value);

/** Takes a record into a summary. @p share: of the time so far, its own included. */
void summary_add(struct record_summary *summary, const struct kept_sample *kept, double share);

/** The first, and the next field of a group, in the order of the table; NULL: no more. */
const struct field *field_of_group(const struct field *fields, enum field_group group);
const struct field *field_next_of_group(const struct field *field);
