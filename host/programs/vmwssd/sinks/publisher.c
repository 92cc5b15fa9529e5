// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sinks/publisher.h"

#include "base/cleanup.h"
#include "base/cond.h"
#include "base/service/log.h"
#include "guest/domain/domain_events.h"
#include "guest/domain/domain_metadata.h"
#include "programs/vmwssd/sinks/publish.h"
#include "show/wss_element.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ULL
#define INTERVAL_NS (PUBLISH_INTERVAL_S * SECOND_NS)
#define FAILED_NS \
    (300 * SECOND_NS)             /* a call may have waited 30 s for a guest that does not answer */
#define RETRY_NS (10 * SECOND_NS) /* libvirt is not available */
#define IDLE_NS (60 * SECOND_NS)

struct publication {
    struct sample_record record;
    double precision;
};

/* State of one guest. Only the thread frees it. */
struct entry {
    struct entry *next;
    unsigned source;
    char uuid[37];
    unsigned run;                  /* incremented each time the guest is forgotten */
    struct publication *published; /* NULL: nothing was published, or not in this run */
    struct publication *news;      /* NULL: there is no news */
    uint64_t hold_ns;              /* nothing is written before this time */
};

struct source {
    const char *uri; /* NULL: not used yet */
    bool wanted;
    bool wrote; /* elements of ours may exist */
    uint64_t retry_ns;
    /* used only by the thread: */
    struct domain_connection *libvirt; /* NULL: not connected */
    bool logged;                       /* its failure was logged */
};

struct publisher {
    pthread_t thread;
    pthread_mutex_t mutex; /* protects all that the thread does not use alone */
    pthread_cond_t changed, ended;
    bool on, stop, has_ended;
    struct entry *entries;
    struct source sources[PUBLISHER_MAX_SOURCES];
};

/* --- calls from other threads ----------------------------------------------------------------- */

static struct entry *publisher_find(struct publisher *publisher, const char *uuid)
{
    for (struct entry *one = publisher->entries; one; one = one->next)
        if (!strcmp(one->uuid, uuid))
            return one;
    return NULL;
}

static struct entry *find_or_add(struct publisher *publisher, const char *uuid)
{
    struct entry *entry = publisher_find(publisher, uuid);

    if (entry)
        return entry;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    snprintf(entry->uuid, sizeof(entry->uuid), "%s", uuid);
    entry->next = publisher->entries;
    publisher->entries = entry;
    return entry;
}

static void forget_entry(struct entry *entry)
{
    free(entry->published);
    free(entry->news);
    entry->published = NULL;
    entry->news = NULL;
    entry->run++;
    if (entry->hold_ns > clock_ns() + INTERVAL_NS) /* any earlier error belongs to another run */
        entry->hold_ns = clock_ns() + INTERVAL_NS;
}

static void forget_source(struct publisher *publisher, const struct source *source)
{
    for (struct entry *one = publisher->entries; one; one = one->next)
        if (&publisher->sources[one->source] == source)
            forget_entry(one);
}

static bool is_served(const struct publisher *publisher, const struct source *source)
{
    return publisher->on && !publisher->stop && source->uri && source->wanted;
}

/* The newest record counts, even if it equals the published one. */
static void publisher_note(struct entry *entry, const struct sample_record *record,
                           double precision)
{
    free(entry->news);
    entry->news = NULL;
    if (!publish_is_news(entry->published ? &entry->published->record : NULL, record))
        return;
    entry->news = malloc(sizeof(*entry->news));
    if (entry->news)
        *entry->news = (struct publication){*record, precision};
}

void publisher_put(struct publisher *publisher, unsigned source, const struct sample_record *record,
                   double precision)
{
    struct entry *entry = NULL;

    HOLD(&publisher->mutex);
    if (source < PUBLISHER_MAX_SOURCES && is_served(publisher, &publisher->sources[source]))
        entry = find_or_add(publisher, record->uuid);
    if (entry) {
        entry->source = source;
        publisher_note(entry, record, precision);
    }
    if (entry && entry->news)
        pthread_cond_signal(&publisher->changed);
}

void publisher_forget(struct publisher *publisher, const char *uuid)
{
    HOLD(&publisher->mutex);

    struct entry *entry = publisher_find(publisher, uuid);

    if (entry)
        forget_entry(entry);
}

void publisher_switch(struct publisher *publisher, bool on)
{
    HOLD(&publisher->mutex);
    publisher->on = on;
    pthread_cond_signal(&publisher->changed);
}

void publisher_source(struct publisher *publisher, unsigned source, const char *uri, bool wanted)
{
    if (source >= PUBLISHER_MAX_SOURCES)
        return;
    HOLD(&publisher->mutex);
    publisher->sources[source].uri = uri;
    publisher->sources[source].wanted = wanted;
    pthread_cond_signal(&publisher->changed);
}

/* --- libvirt: without the mutex --------------------------------------------------------------- */

static void log_failure(struct source *source, const struct error *error)
{
    if (!source->logged)
        log_line(LOG_CLASS_CONNECTION, LOG_WARNING, "nothing is published: %s; trying again",
                 error->text);
    source->logged = true;
}

static int connect_to(struct source *source, struct error *error)
{
    int rc = source->libvirt ? 0 : domain_connect_writable(source->uri, &source->libvirt, error);

    if (rc < 0)
        source->libvirt = NULL;
    else
        domain_keep_alive(source->libvirt);
    return rc;
}

static void hang_up(struct source *source)
{
    domain_disconnect(source->libvirt);
    source->libvirt = NULL;
}

/* Returns 0; -ENOTCONN: the connection is lost, or cannot be made; any other error is about this
 * guest. */
static int publish(struct source *source, const struct publication *news, struct error *error)
{
    const char *uuid = news->record.uuid;
    cleanup_free char *text = wss_element_text(&news->record, news->precision);
    int rc = connect_to(source, error);

    if (rc == 0)
        rc = text ? domain_metadata_set(source->libvirt, uuid, text, error)
                  : error_set(error, -ENOMEM, "domain %s: out of memory", uuid);
    else
        rc = -ENOTCONN;
    if (rc == -ENOTCONN)
        hang_up(source);
    return rc;
}

static void publisher_log(struct source *source, const struct publication *news, int rc,
                          const struct error *error)
{
    if (rc == -ENOTCONN)
        log_failure(source, error);
    else if (rc == -ENOENT || rc == -EBUSY)
        log_line(LOG_CLASS_GUEST, LOG_DEBUG, "not published: %s", error->text);
    else if (rc < 0)
        log_line(LOG_CLASS_GUEST, LOG_WARNING, "not published: %s", error->text);
    else
        log_line(LOG_CLASS_GUEST, LOG_DEBUG, "domain %s: published", news->record.domain);
    if (rc != -ENOTCONN)
        source->logged = false;
}

/* Uses a new connection: the old one may be to a libvirtd that has been restarted, and there is no
 * time to try twice. */
static int clear_metadata(struct source *source, struct error *error)
{
    hang_up(source);

    int rc = connect_to(source, error);
    ssize_t cleared = rc == 0 ? domain_metadata_clear(source->libvirt, error) : rc;

    hang_up(source);
    if (cleared < 0)
        return (int)cleared;
    log_line(LOG_CLASS_CONNECTION, LOG_INFO, "%s: no longer published; removed from %zd guests",
             source->uri, cleared);
    return 0;
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Returns when the next write to the guest may be, after one that ended in @p rc. */
static uint64_t hold_ns(int rc)
{
    return clock_ns() + (rc == 0 || rc == -EBUSY || rc == -ENOENT ? INTERVAL_NS : FAILED_NS);
}

/* Notes the result; the caller frees what is no longer used. */
static void settle(struct entry *entry, struct publication **news, int rc)
{
    if (rc != -ENOTCONN)
        entry->hold_ns = hold_ns(rc);
    if (rc == 0) {
        struct publication *old = entry->published;

        entry->published = *news;
        *news = old;
    } else if (rc != -ENOENT && !entry->news) {
        entry->news = *news; /* try again later */
        *news = NULL;
    }
}

static void write_news(struct publisher *publisher, struct entry *entry)
{
    struct source *source = &publisher->sources[entry->source];
    struct publication *news = entry->news;
    struct error error = {0};
    unsigned run = entry->run;

    entry->news = NULL;
    source->wrote = true;
    pthread_mutex_unlock(&publisher->mutex);

    int rc = publish(source, news, &error);

    publisher_log(source, news, rc, &error);
    pthread_mutex_lock(&publisher->mutex);
    if (rc == -ENOTCONN)
        source->retry_ns = clock_ns() + RETRY_NS;
    if (run == entry->run)
        settle(entry, &news, rc);
    else /* any earlier error belongs to another run */
        entry->hold_ns = clock_ns() + INTERVAL_NS;
    free(news);
}

/* Removes the elements written at sources where publishing has ended. Failures are tried again,
 * except at the end. */
static void clear_source(struct publisher *publisher, struct source *source)
{
    struct error error = {0};

    forget_source(publisher, source);
    source->wrote = false;
    pthread_mutex_unlock(&publisher->mutex);

    int rc = clear_metadata(source, &error);

    if (rc < 0)
        log_line(LOG_CLASS_CONNECTION, LOG_WARNING, "%s: the published elements stay there: %s",
                 source->uri, error.text);
    pthread_mutex_lock(&publisher->mutex);
    source->wrote |= rc < 0;
    if (rc < 0)
        source->retry_ns = clock_ns() + FAILED_NS;
}

/* Returns the first source whose elements are to be removed; NULL: none now. */
static struct source *to_clear(struct publisher *publisher, uint64_t now_ns)
{
    for (size_t i = 0; i < PUBLISHER_MAX_SOURCES; i++) {
        struct source *source = &publisher->sources[i];

        if (source->wrote && !is_served(publisher, source) && now_ns >= source->retry_ns)
            return source;
    }
    return NULL;
}

/* Removes guests that ended long ago. */
static void sweep(struct publisher *publisher, uint64_t now_ns)
{
    struct entry **at = &publisher->entries;

    while (*at) {
        struct entry *one = *at;

        if (one->published || one->news || now_ns < one->hold_ns) {
            at = &one->next;
        } else {
            *at = one->next;
            free(one);
        }
    }
}

/* Returns the first entry that may be written now; NULL: none until *until_ns. */
static struct entry *next_entry(struct publisher *publisher, uint64_t now_ns, uint64_t *until_ns)
{
    *until_ns = now_ns + IDLE_NS;
    for (struct entry *one = publisher->entries; one; one = one->next) {
        const struct source *source = &publisher->sources[one->source];
        uint64_t at_ns = one->hold_ns > source->retry_ns ? one->hold_ns : source->retry_ns;

        if (!one->news || !is_served(publisher, source))
            continue;
        if (at_ns <= now_ns)
            return one;
        if (at_ns < *until_ns)
            *until_ns = at_ns;
    }
    return NULL;
}

static void *publisher_run(void *context)
{
    struct publisher *publisher = context;

    HOLD(&publisher->mutex);
    while (!publisher->stop) {
        uint64_t now_ns = clock_ns();
        uint64_t until_ns;
        struct source *source = to_clear(publisher, now_ns);
        struct entry *entry = next_entry(publisher, now_ns, &until_ns);

        if (source) {
            clear_source(publisher, source);
        } else if (entry) {
            write_news(publisher, entry);
        } else {
            sweep(publisher, now_ns);
            cond_wait_until(&publisher->changed, &publisher->mutex, until_ns);
        }
    }
    for (size_t i = 0; i < PUBLISHER_MAX_SOURCES; i++)
        if (publisher->sources[i].wrote)
            clear_source(publisher, &publisher->sources[i]);
    publisher->has_ended = true;
    pthread_cond_signal(&publisher->ended);
    return NULL;
}

int publisher_start(struct publisher **out, struct error *error)
{
    struct publisher *publisher = calloc(1, sizeof(*publisher));

    if (!publisher)
        return error_set(error, -ENOMEM, "out of memory");
    pthread_mutex_init(&publisher->mutex, NULL);
    cond_init(&publisher->changed);
    cond_init(&publisher->ended);
    if (pthread_create(&publisher->thread, NULL, publisher_run, publisher) != 0) {
        free(publisher);
        return error_set(error, -EAGAIN, "the thread that publishes: no thread");
    }
    pthread_detach(publisher->thread);
    *out = publisher;
    return 0;
}

void publisher_end(struct publisher *publisher)
{
    HOLD(&publisher->mutex);
    publisher->stop = true;
    pthread_cond_signal(&publisher->changed);
}

bool publisher_wait(struct publisher *publisher, unsigned seconds)
{
    uint64_t until_ns = cond_in_s(seconds);
    int rc = 0;

    HOLD(&publisher->mutex);
    while (!publisher->has_ended && rc == 0)
        rc = cond_wait_until(&publisher->ended, &publisher->mutex, until_ns);

    return publisher->has_ended;
}
