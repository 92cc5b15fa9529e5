// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sinks/writer.h"

#include "base/cond.h"
#include "base/service/log.h"
#include "history/wal.h"
#include "programs/vmwssd/sinks/checker.h"
#include "programs/vmwssd/sinks/early_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_RECORDS 1024 /* enough while the history is checked, when no records are written */
#define GATHER_S 1
#define MAINTAIN_S 60
#define OPEN_AGAIN_S 5

/* A record, or an event of a guest. */
struct queued {
    bool is_event;
    struct store_event event;
    struct ages_record record;
    double period_s, precision;
    char *last_report;
};

struct writer {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t more;
    bool stop;
    size_t n;
    struct queued *queue[QUEUE_RECORDS];
    uint64_t written, dropped;
    bool full;   /* the queue is full, and this was logged */
    bool urgent; /* the queue must be written without waiting for more */
    struct store_retention retention;
    double opening_cpu_s; /* never changes */
    bool damaged;         /* the background check found damage */
    struct checker checker;
    /* used only by the thread: */
    struct store *store; /* NULL: it could not be opened again */
    char *path;
    int failing;         /* the error that was logged last; 0: there was none */
    int not_maintained;  /* the same for maintenance */
    bool held;           /* a reader holds its WAL, and this was logged */
    double maintained_s; /* CLOCK_BOOTTIME */
    struct early_events early;
};

static void queued_free(struct queued *one)
{
    if (one)
        free(one->last_report);
    free(one);
}

static void free_all(struct queued **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        queued_free(list[i]);
}

static void log_notice(const struct writer *writer, int rc)
{
    if (rc == 0 && *store_notice(writer->store))
        log_line(LOG_CLASS_HISTORY, LOG_WARNING, "%s", store_notice(writer->store));
}

/* Must not run during a check: opening reads the file, and closing it would drop the locks of the
 * check's connection. */
static int open_store(struct writer *writer, struct error *error)
{
    checker_wait(&writer->checker);

    int rc = store_open(writer->path, &writer->store, error);

    log_notice(writer, rc);
    return rc;
}

/* The damage is found again when the file is opened again, which quarantines it. */
static void drop_damaged(struct writer *writer)
{
    store_close(writer->store);
    writer->store = NULL;
}

static int add_entries(struct writer *writer, const struct store_entry *entries, size_t n,
                       struct error *error)
{
    int rc = writer->store ? 0 : open_store(writer, error);

    if (rc == 0)
        rc = store_add(writer->store, entries, n, error);
    if (rc == -EUCLEAN)
        drop_damaged(writer);
    return rc;
}

/* Logs when it begins to fail, when the reason changes, and when it works again. */
static void writer_log(struct writer *writer, int rc, const struct error *error)
{
    if (rc < 0 && rc != writer->failing)
        log_line(LOG_CLASS_HISTORY, LOG_ERR, "no history is kept: %s", error->text);
    if (rc == 0 && writer->failing)
        log_line(LOG_CLASS_HISTORY, LOG_NOTICE, "history is kept again");
    writer->failing = rc;
}

static void writer_count(struct writer *writer, uint64_t written, uint64_t dropped)
{
    HOLD(&writer->mutex);
    writer->written += written;
    writer->dropped += dropped;
}

/* The history is written while it is checked, because it was closed properly. */
static void note_checked(void *context, bool damaged)
{
    struct writer *writer = context;

    HOLD(&writer->mutex);
    writer->damaged = damaged;
    pthread_cond_signal(&writer->more);
}

/* If the last writer was killed, checks at once, before anything is written. Guests are measured
 * meanwhile. */
static void begin_checking(struct writer *writer)
{
    if (!writer->store || *store_notice(writer->store))
        return; /* it will be checked, or is new */
    if (!store_was_left_open(writer->store)) {
        checker_begin(&writer->checker);
        return;
    }
    log_line(LOG_CLASS_HISTORY, LOG_NOTICE,
             "%s was not closed by its last writer: it is checked before anything is added",
             writer->path);
    if (checker_finds_damage(&writer->checker, writer->store))
        drop_damaged(writer);
}

static struct store_entry entry_of(const struct queued *one)
{
    return (struct store_entry){.record = &one->record,
                                .period_s = one->period_s,
                                .precision = one->precision,
                                .last_report = one->last_report};
}

/* An entry that can never be stored must not cause the loss of the others. */
static void write_each(struct writer *writer, struct queued **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct error error = {0};
        struct store_entry entry = entry_of(list[i]);
        int rc = add_entries(writer, &entry, 1, &error);

        writer_count(writer, rc == 0, rc < 0);
        if (rc < 0)
            log_line(LOG_CLASS_HISTORY, LOG_ERR, "%s: a record is not kept: %s",
                     list[i]->record.sample.domain, error.text);
    }
}

static void write_records(struct writer *writer, struct queued **list, size_t n)
{
    struct store_entry entries[QUEUE_RECORDS];
    struct error error = {0};

    for (size_t i = 0; i < n; i++)
        entries[i] = entry_of(list[i]);

    int rc = add_entries(writer, entries, n, &error);

    if (rc == -EINVAL) {
        write_each(writer, list, n);
        return;
    }
    writer_log(writer, rc, &error);
    writer_count(writer, rc == 0 ? n : 0, rc == 0 ? 0 : n);
}

static int write_event(struct writer *writer, const struct store_event *event)
{
    struct error error = {0};
    int rc = writer->store ? 0 : open_store(writer, &error);

    if (rc == 0)
        rc = store_add_event(writer->store, event, &error);
    /* A disk may have room for an event but not for a record: only records log that the history is
     * written again. */
    if (rc < 0)
        writer_log(writer, rc, &error);
    return rc;
}

/* Records that are about to be written, or were. */
struct written {
    struct writer *writer;
    struct queued **records;
    size_t n;
};

static bool has_record(const struct written *written, const char *uuid)
{
    for (size_t i = 0; i < written->n; i++)
        if (!strcmp(written->records[i]->record.sample.uuid, uuid))
            return true;
    return false;
}

/* Writes an early event of these records' guests, which may be their first records. */
static bool write_early(void *context, const struct store_event *event)
{
    const struct written *written = context;

    return has_record(written, event->uuid) && write_event(written->writer, event) != 1;
}

static void write_events(struct writer *writer, struct queued **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (write_event(writer, &list[i]->event) == 1)
            early_events_note(&writer->early, &list[i]->event);
}

/* Writes records first: an event of a guest without records waits for its first record. */
static void write_all(struct writer *writer, struct queued **list, size_t n)
{
    struct queued *sorted[QUEUE_RECORDS];
    struct written written = {.writer = writer, .records = sorted};
    size_t events = 0;

    for (size_t i = 0; i < n; i++)
        if (!list[i]->is_event)
            sorted[written.n++] = list[i];
    for (size_t i = 0; i < n; i++)
        if (list[i]->is_event)
            sorted[written.n + events++] = list[i];
    if (written.n > 0)
        write_records(writer, sorted, written.n);
    early_events_take(&writer->early, write_early, &written);
    write_events(writer, sorted + written.n, events);
}

static void watch_wal(struct writer *writer)
{
    uint64_t bytes = store_wal_held_bytes(writer->store);

    /* our own check is a reader, but it does finish */
    if (bytes >= WAL_WARN_BYTES && !writer->held && !checker_runs(&writer->checker))
        log_line(
            LOG_CLASS_HISTORY, LOG_WARNING,
            "%s: a reader does not finish, and its WAL has grown to %llu MiB; end it (fuser -v "
            "%s-shm): at %llu MiB no history is kept",
            writer->path, (unsigned long long)(bytes >> 20), writer->path,
            (unsigned long long)(WAL_MAX_BYTES >> 20));
    writer->held = bytes >= WAL_WARN_BYTES;
}

/* Deletes old records, and writes new ones to the disk. A failure is tried again in a minute, and
 * logged again if it has worked meanwhile, or if the reason changes. */
static void maintain(struct writer *writer)
{
    struct store_clock clock = store_clock_now();
    struct store_retention retention;
    struct error error = {0};

    if (!writer->store || clock.steady_s - writer->maintained_s < MAINTAIN_S)
        return;
    writer->maintained_s = clock.steady_s;
    pthread_mutex_lock(&writer->mutex);
    retention = writer->retention;
    pthread_mutex_unlock(&writer->mutex);

    int rc = store_maintain(writer->store, &retention, &clock, &error);

    watch_wal(writer);

    /* as with a full disk: logged once, with its consequence */
    if (rc < 0 && rc == writer->failing)
        return;
    if (rc < 0 && rc != writer->not_maintained)
        log_line(LOG_CLASS_HISTORY, LOG_WARNING, "%s", error.text);
    writer->not_maintained = rc;
}

/* Waits for records, and a little longer for more of them; a host without guests sends none, but
 * its history must age too. Returns false if it is to stop, and everything has been written. */
static bool gather(struct writer *writer, struct queued **list, size_t *n, bool *damaged)
{
    uint64_t until_ns = cond_in_s(writer->store ? MAINTAIN_S : OPEN_AGAIN_S);
    int rc = 0;

    HOLD(&writer->mutex);
    while (rc == 0 && writer->n == 0 && !writer->stop && !writer->damaged)
        rc = cond_wait_until(&writer->more, &writer->mutex, until_ns);
    until_ns = cond_in_s(GATHER_S);
    while (writer->n > 0 && !writer->stop && !writer->urgent && writer->n < QUEUE_RECORDS / 2 &&
           cond_wait_until(&writer->more, &writer->mutex, until_ns) == 0)
        ;

    bool goes_on = writer->n > 0 || !writer->stop;

    *n = writer->n;
    memcpy(list, writer->queue, *n * sizeof(struct queued *));
    writer->n = 0;
    writer->full = writer->urgent = false;
    *damaged = writer->damaged;
    writer->damaged = false;
    return goes_on;
}

/* Used while nothing needs to be written. */
static void open_again(struct writer *writer)
{
    struct error error = {0};

    writer_log(writer, open_store(writer, &error), &error);
}

static void *writer_run(void *context)
{
    struct writer *writer = context;
    struct queued *list[QUEUE_RECORDS];
    size_t n;
    bool damaged;

    begin_checking(writer);
    while (gather(writer, list, &n, &damaged)) {
        if (damaged)
            drop_damaged(writer);
        if (n > 0)
            write_all(writer, list, n);
        else if (!writer->store)
            open_again(writer);
        free_all(list, n);
        maintain(writer);
    }
    return NULL;
}

void writer_free(struct writer *writer)
{
    if (!writer)
        return;
    free_all(writer->queue, writer->n);
    store_close(writer->store);
    early_events_free(&writer->early);
    free(writer->path);
    free(writer);
}

int writer_start(struct writer **out, const char *path, const struct store_retention *retention,
                 struct error *error)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    double cpu_s = thread_cpu_s();

    if (!writer)
        return error_set(error, -ENOMEM, "%s: out of memory", path);
    pthread_mutex_init(&writer->mutex, NULL);
    cond_init(&writer->more);
    writer->retention = *retention;
    writer->path = strdup(path);
    checker_init(&writer->checker);
    writer->checker.path = writer->path;
    writer->checker.ended = note_checked;
    writer->checker.context = writer;

    int rc = writer->path ? store_open_unchecked(path, &writer->store, error)
                          : error_set(error, -ENOMEM, "%s: out of memory", path);

    log_notice(writer, rc);

    writer->opening_cpu_s = thread_cpu_s() - cpu_s;
    if (rc == -EBUSY) { /* guests are measured nevertheless */
        writer_log(writer, rc, error);
        rc = 0;
    }
    if (rc == 0)
        rc = -pthread_create(&writer->thread, NULL, writer_run, writer);
    if (rc < 0) {
        writer_free(writer);
        return rc;
    }
    *out = writer;
    return 0;
}

double writer_checking_cpu_s(struct writer *writer)
{
    return writer ? checker_cpu_s(&writer->checker) : 0;
}

double writer_opening_cpu_s(const struct writer *writer)
{
    return writer ? writer->opening_cpu_s : 0;
}

void writer_retain(struct writer *writer, const struct store_retention *retention)
{
    if (!writer)
        return;
    HOLD(&writer->mutex);
    writer->retention = *retention;
}

/* NULL: out of memory. */
static void enqueue(struct writer *writer, struct queued *one)
{
    pthread_mutex_lock(&writer->mutex);
    if (writer->stop) {
        /* dropped: the writing thread has ended */
    } else if (one && writer->n < QUEUE_RECORDS) {
        writer->queue[writer->n++] = one;
        writer->urgent |= one->is_event && one->event.kind == EVENT_STALL;
        one = NULL;
        /* While the thread gathers, waking it for every record would be in vain: 10 us a record. */
        if (writer->n == 1 || writer->n == QUEUE_RECORDS / 2 || writer->urgent)
            pthread_cond_signal(&writer->more);
    } else {
        writer->dropped++;
        if (!writer->full)
            log_line(LOG_CLASS_HISTORY, LOG_WARNING,
                     "the history's disk does not keep up: records are dropped");
        writer->full = true;
    }
    pthread_mutex_unlock(&writer->mutex);
    queued_free(one);
}

void writer_put(struct writer *writer, const struct ages_record *record, double period_s,
                double precision, char *last_report)
{
    struct queued *one = malloc(sizeof(*one));

    if (one)
        *one = (struct queued){.record = *record,
                               .period_s = period_s,
                               .precision = precision,
                               .last_report = last_report};
    else
        free(last_report);
    enqueue(writer, one);
}

void writer_event(struct writer *writer, const char *uuid, enum event_kind kind)
{
    struct queued *one;

    if (!writer)
        return;
    one = calloc(1, sizeof(*one));
    if (one) {
        one->is_event = true;
        one->event.kind = kind;
        one->event.time_s = store_clock_now().wall_s;
        gethostname(one->event.host, sizeof(one->event.host) - 1);
        snprintf(one->event.uuid, sizeof(one->event.uuid), "%s", uuid);
    }
    enqueue(writer, one);
}

void writer_counts(struct writer *writer, uint64_t *written, uint64_t *dropped)
{
    HOLD(&writer->mutex);
    *written = writer->written;
    *dropped = writer->dropped;
}

void writer_stop(struct writer *writer)
{
    if (!writer)
        return;
    pthread_mutex_lock(&writer->mutex);
    writer->stop = true;
    pthread_cond_signal(&writer->more);
    pthread_mutex_unlock(&writer->mutex);
    checker_stop(&writer->checker);
    pthread_join(writer->thread, NULL);
    checker_wait(&writer->checker);
    store_close(writer->store);
    writer->store = NULL;
}
