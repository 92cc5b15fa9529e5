// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fleet_private.h  What fleet.c, fleet_workers.c and fleet_threads.c share. */
#pragma once

#include "measure/estimate/pace.h"
#include "programs/vmwssd/scan/deadline.h"
#include "programs/vmwssd/scan/fleet.h"
#include "programs/vmwssd/scanner/budget.h"
#include "programs/vmwssd/scanner/guest_epoll.h"
#include "programs/vmwssd/scanner/scanner.h"

#include <pthread.h>

#define FLEET_WORKERS 2      /* that are free to scan guests */
#define FLEET_WORKERS_MAX 64 /* a stalled storage may hold up all guests that are on it */

/** A scan that takes so long hangs: another thread holds the lock of QEMU's mappings, say. Another
 * worker takes its place. */
#define FLEET_HANGS_NS 10000000000ULL
/** A thread that scans nothing shows itself every few seconds. */
#define FLEET_STUCK_NS 60000000000ULL

/** Guests that one worker scans together: fleet_batch.c. */
struct fleet_batch {
    size_t n;      /* fewer, once the rest was released */
    bool released; /* by its own worker */
    uint64_t sent_ns;
    size_t at;       /* the one that is scanned; those before it are done */
    uint64_t due_ns; /* the deadline of the first, from which the next one of each is reckoned */
    double planned_s;
    double max_period_s; /* for a guest that does not change */
    struct fleet_guest *guests[SCANNER_BATCH];
    uint64_t generations[SCANNER_BATCH]; /* that their panels had before */
    struct scanner_batch asked;          /* all that were sent, finished or not */
};

struct fleet_worker {
    struct fleet *fleet;
    pthread_t thread;
    uint64_t seen_ns; /* when it began with that guest, or with its turn; or had been stopped */
    const struct fleet_guest *at; /* the guest that it scans, or restores; NULL: none */
    bool restores;
    bool logged; /* it was logged that this scan hangs */
    struct fleet_batch batch;
};

struct fleet_guest {
    struct deadline deadline; /* first, so that the one is the other */
    struct fleet_guest *next;
    uint64_t serial;
    unsigned source;
    bool from_libvirt;
    char uuid[37];
    char name[256];
    pid_t pid;
    uint64_t start_ticks;
    bool suspended;
    uint64_t suspended_ns;       /* since then */
    uint64_t suspended_total_ns; /* in sum, before that */
    unsigned jobs;               /* enum sample_flag, since the last scan */
    bool gone;
    bool refused; /* the last scan failed, and it was logged */
    bool regular; /* its deadline is a period after the last one */
    struct budget_cost cost;
    /* Its worker's own while it is busy: */
    bool busy;
    bool introduced;            /* it was logged that it is watched */
    uint64_t retry_ns;          /* how long it was to wait then; 0: it did not fail */
    uint64_t apart_ns;          /* likewise, as its last scan hung */
    struct scan_guest_ref scan; /* what the scanner has of it */
    struct pace pace;
    uint64_t generation;            /* of the rules that its panel was drawn by */
    double cpu_s;                   /* not in a record yet */
    uint64_t recorded_ns;           /* 0: there is no record yet */
    uint64_t recorded_suspended_ns; /* how long it had been suspended in total by then */
    char refusal[200];              /* why it was refused */
};

struct fleet {
    const struct fsroot *root;
    struct writer *writer;
    struct publisher *publisher;
    struct agents *agents;
    struct scanner *scanner;
    int epoll_fd;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    struct config config;
    uint64_t generation; /* of the config, as far as panels must begin anew */
    size_t n;
    struct fleet_guest *guests;
    struct fleet_guest *let_go; /* while a worker had them, and not restored yet */
    uint64_t serials;
    struct deadline_queue queue;
    struct budget_plan plan;
    uint64_t plan_ns; /* when it was made; 0: not yet */
    bool replan;      /* what it was made for has changed */
    struct ledger ledger;
    bool over;                             /* the ledger has all wait, and it was logged */
    bool opening_late;                     /* guests wait to be opened, and it was logged */
    bool short_of_files;                   /* likewise */
    size_t waiting[PUBLISHER_MAX_SOURCES]; /* guests of each source that are to be opened */
    double scans_cpu_s;                    /* CPU time of all scans so far */
    double plan_cpu_s,
        plan_scans_s; /* CPU time of the process, and of scans, when it was planned */
    double recent_share, overhead;
    double polling_s;       /* what asking all guests once costs */
    uint64_t held_until_ns; /* the ledger has all wait, those who ask them as well */
    uint64_t records;
    uint64_t jobs_serial;  /* of the guest whose jobs were looked for last */
    double jobs_credit_s;  /* CPU time that finding them may take */
    uint64_t jobs_ns;      /* when it was last counted */
    uint64_t led_until_ns; /* a worker waits for the next deadline, then; 0: none does */
    uint64_t relieved_ns;  /* when fleet_relieve() was called last; 0: not yet */
    bool stop;
    size_t n_workers; /* that were started */
    struct fleet_worker workers[FLEET_WORKERS_MAX];
};

/** Guests that wait to be opened, of all sources. */
size_t fleet_waiting(const struct fleet *fleet);

/** CPU time that the budget has to pay for, so far. */
double fleet_cpu_s(const struct fleet *fleet);

/** fleet_state() as of @p now_ns: what hangs does so by then. */
struct fleet_state fleet_state_at(struct fleet *fleet, uint64_t now_ns);

void fleet_guest_free(struct fleet *fleet, struct fleet_guest *guest);

/** Takes @p guest out of the table. While a worker has it a worker frees it later; else it is put
 * before *freed, to be freed without the mutex. */
void fleet_unlink(struct fleet *fleet, struct fleet_guest *guest, struct fleet_guest **freed);

/** ns of so many seconds. */
uint64_t fleet_ns(double seconds);

/** What the budget allows now. The mutex is held. */
struct budget_limits fleet_limits(const struct fleet *fleet);

/** Queues a guest that is suspended again: nothing is touched, and its panel does not age. The
 * mutex is held. */
void fleet_put_off(struct fleet *fleet, struct fleet_guest *guest, uint64_t now_ns);

/** Takes @p first, which is due, and others with it out of the queue. The mutex is held. */
void fleet_batch_take(struct fleet *fleet, struct fleet_batch *batch, struct fleet_guest *first,
                      uint64_t now_ns);

/** Scans the batch of @p worker, which is at its first guest; without the mutex. */
void fleet_batch_scan(struct fleet *fleet, struct fleet_worker *worker);

/** Puts those that come after the guest that is scanned back into the queue, with the deadlines
 * that they had, for others to take. The mutex is held. */
void fleet_batch_release(struct fleet *fleet, struct fleet_batch *batch);

/** What a thread does until the fleet stops; @p worker is its own. */
void *fleet_work(void *worker);

int fleet_start_workers(struct fleet *fleet);

/** Ends the threads, which restore and free all guests before they go; but for those whose scan
 * hangs, which are left to the end of the process, as are their guests. */
void fleet_stop_workers(struct fleet *fleet);

/** Does every thread that does not scan a guest show itself, and is there one that does not hang?
 * The mutex is held. */
bool fleet_workers_alive(const struct fleet *fleet, uint64_t now_ns);

/** Threads whose scan hangs. The mutex is held. */
size_t fleet_workers_hanging(const struct fleet *fleet, uint64_t now_ns);

/** When to scan it again, of a scan that began at @p began_ns: @p due_ns, but of one that hung a
 * minute later at least, and ever later while it goes on so, that it does not take the threads from
 * others again at once. 0 stays 0. */
uint64_t fleet_set_apart(struct fleet_guest *guest, uint64_t began_ns, uint64_t due_ns);
