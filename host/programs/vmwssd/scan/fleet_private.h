// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fleet_private.h  Declarations shared by fleet.c, fleet_workers.c and fleet_threads.c. */
#pragma once

#include "measure/estimate/pace.h"
#include "programs/vmwssd/scan/deadline.h"
#include "programs/vmwssd/scan/fleet.h"
#include "programs/vmwssd/scanner/budget.h"
#include "programs/vmwssd/scanner/guest_epoll.h"
#include "programs/vmwssd/scanner/scanner.h"

#include <pthread.h>

#define FLEET_WORKERS 2      /* number of workers that are free to scan guests */
#define FLEET_WORKERS_MAX 64 /* a stalled storage may block all guests on it */

/** A scan that takes this long hangs: for instance, another thread holds the lock of QEMU's
 * mappings. Another worker takes its place. */
#define FLEET_HANGS_NS 10000000000ULL
/** A thread that scans no guest updates seen_ns every few seconds. */
#define FLEET_STUCK_NS 60000000000ULL

/** Guests that one worker scans together: fleet_batch.c. */
struct fleet_batch {
    size_t n;      /* smaller after the rest was released */
    bool released; /* by its own worker */
    uint64_t sent_ns;
    size_t at;       /* index of the guest being scanned; those before it are done */
    uint64_t due_ns; /* the deadline of the first guest; the next deadlines of all count from it */
    struct budget_plan plan;
    struct budget_limits limits;
    double max_period_s; /* for guests that do not change */
    struct fleet_guest *guests[SCANNER_BATCH];
    uint64_t generations[SCANNER_BATCH]; /* generations of their panels before the scan */
    struct scanner_batch requests;       /* all requests that were sent, finished or not */
};

struct fleet_worker {
    struct fleet *fleet;
    pthread_t thread;
    /* when it began with that guest, or with its turn; or when it last ran after a stop */
    uint64_t seen_ns;
    const struct fleet_guest *at; /* the guest that it scans or restores; NULL: none */
    bool restores;
    bool logged; /* it was logged that this scan hangs */
    struct fleet_batch batch;
};

/** Time in which a guest is suspended. */
struct fleet_pauses {
    bool suspended;
    uint64_t since_ns; /* suspended since then */
    uint64_t total_ns; /* total of earlier suspensions */
};

/** The last record of a guest. */
struct fleet_recorded {
    uint64_t at_ns;        /* 0: there is no record yet */
    uint64_t suspended_ns; /* total time suspended until then */
};

/** A guest's write working set, and when to measure it: fleet_writes.c. */
struct fleet_written {
    uint64_t due_ns;           /* when to measure it next; 0: now */
    uint64_t suspended_ns;     /* total time suspended when that began */
    double cost_s;             /* CPU time of the last measurement */
    struct write_curve *curve; /* for the next record; NULL: none */
    char refusal[200];         /* why it was refused last */
};

struct fleet_guest {
    struct deadline deadline; /* must be first: pointers to it are cast to the guest */
    struct fleet_guest *next;
    uint64_t serial;
    unsigned source;
    bool from_libvirt;
    char uuid[37];
    char name[256];
    uint64_t start_ticks;
    struct fleet_pauses pauses;
    struct fleet_written written;
    unsigned jobs; /* enum sample_flag, since the last scan */
    bool gone;
    bool refused; /* the last scan failed, and it was logged */
    bool regular; /* its deadline is one period after the last one */
    struct budget_cost cost;
    /* Used only by its worker while it is busy: */
    bool busy;
    struct {
        bool measured; /* the log says that the guest is measured, ... */
        bool slowed;   /* ... and seldom, because its smallest panel is dear */
    } logged;
    uint64_t retry_ns;          /* delay after the last failed scan; 0: it did not fail */
    uint64_t apart_ns;          /* delay after the last scan hung; 0: it did not hang */
    struct scan_guest_ref scan; /* the scanner's reference to it */
    struct pace pace;
    uint64_t generation; /* generation of the rules for its panel */
    double cpu_s;        /* CPU time that is not in a record yet */
    struct fleet_recorded recorded;
    char refusal[200]; /* why it was refused */
};

struct fleet_table {
    size_t n;
    struct fleet_guest *guests;
    struct fleet_guest *let_go; /* removed while a worker had them, and not restored yet */
    uint64_t serials;
    struct deadline_queue queue;
};

/** Guests that wait to be opened: fleet_openings.c. */
struct fleet_openings {
    size_t waiting[PUBLISHER_MAX_SOURCES]; /* of each source */
    bool late;                             /* guests wait, and this was logged */
    bool short_of_files;                   /* files run short, and this was logged */
};

/** The budget, and the time spent of it. */
struct fleet_spending {
    struct budget_plan plan;
    uint64_t plan_ns; /* when the plan was made; 0: not yet */
    bool replan;      /* the plan's inputs have changed */
    struct ledger ledger;
    bool over;                       /* the ledger blocks everything, and this was logged */
    double scans_cpu_s;              /* CPU time of all scans so far */
    double plan_cpu_s, plan_scans_s; /* of the process, and of scans, when it was planned */
    double recent_share, overhead;
    double polling_s;       /* cost of asking all guests once */
    uint64_t held_until_ns; /* the ledger blocks everything until then, also asking guests */
};

/** The guest whose writes are being measured, and what that has cost: fleet_writes.c. */
struct fleet_writes {
    uint64_t serial;   /* 0: none */
    double cost_s;     /* CPU time of the last measurement; while one runs, what it may cost */
    uint64_t since_ns; /* the last one is paid since then */
};

/** Looking for jobs between two scans: fleet_find_jobs(). */
struct fleet_jobs {
    uint64_t serial; /* the guest that was checked last */
    double credit_s; /* CPU time that it may take */
    uint64_t at_ns;  /* when the credit was last updated */
};

struct fleet_threads {
    uint64_t led_until_ns; /* deadline for which a worker waits; 0: no worker waits */
    uint64_t relieved_ns;  /* when fleet_relieve() was called last; 0: not yet */
    size_t n;              /* workers that were started */
    struct fleet_worker worker[FLEET_WORKERS_MAX];
};

struct fleet {
    const struct fsroot *root;
    struct fleet_sinks sinks;
    int epoll_fd;
    pthread_mutex_t mutex; /* protects all fields below */
    pthread_cond_t changed;
    bool stop;
    struct config config;
    uint64_t generation; /* changes with the config when panels must begin anew */
    uint64_t records;
    struct fleet_table table;
    struct fleet_openings openings;
    struct fleet_spending spending;
    struct fleet_jobs jobs;
    struct fleet_writes writes;
    struct fleet_threads threads;
};

/** Returns the guests of all sources that wait to be opened. */
size_t fleet_waiting(const struct fleet *fleet);

/** Returns the CPU time so far that the budget has to pay for. */
double fleet_cpu_s(const struct fleet *fleet);

/** Returns fleet_state() as of @p now_ns: scans hang that have taken too long by then. */
struct fleet_state fleet_state_at(struct fleet *fleet, uint64_t now_ns);

void fleet_guest_free(struct fleet *fleet, struct fleet_guest *guest);

/** Takes @p guest out of the table. If a worker has it, a worker frees it later; otherwise it is
 * put before *freed, to be freed without the mutex. */
void fleet_unlink(struct fleet *fleet, struct fleet_guest *guest, struct fleet_guest **freed);

/** Converts seconds to ns. */
uint64_t fleet_ns(double seconds);

/** Returns the current limits of the budget. The mutex is held. */
struct budget_limits fleet_limits(const struct fleet *fleet);

/** Queues a suspended guest again: nothing is touched, and its panel does not age. The mutex is
 * held. */
void fleet_put_off(struct fleet *fleet, struct fleet_guest *guest, uint64_t now_ns);

/** Takes @p first, which is due, and others that can be scanned with it out of the queue. The mutex
 * is held. */
void fleet_batch_take(struct fleet *fleet, struct fleet_batch *batch, struct fleet_guest *first,
                      uint64_t now_ns);

/** Scans the batch of @p worker, from its first guest on; without the mutex. */
void fleet_batch_scan(struct fleet *fleet, struct fleet_worker *worker);

/** Puts the guests after the one being scanned back into the queue, with their old deadlines, for
 * other workers. The mutex is held. */
void fleet_batch_release(struct fleet *fleet, struct fleet_batch *batch);

/** CPU time of measuring writes that the ledger is not charged for yet. The mutex is held. */
double fleet_writes_unpaid_s(const struct fleet *fleet, uint64_t now_ns);

/** Begins to measure what the guest writes, if that is due, right after a scan of it. The mutex is
 * held. */
void fleet_writes_begin(struct fleet *fleet, struct fleet_guest *guest);

/** Moves what was measured since the guest's last record into this one; without the mutex. */
void fleet_writes_take(struct fleet *fleet, struct fleet_guest *guest,
                       struct sample_record *record);

/** Body of a worker thread until the fleet stops; @p worker is its own. */
void *fleet_work(void *worker);

int fleet_start_workers(struct fleet *fleet);

/** Ends the threads, which restore and free all guests before they end; except for threads whose
 * scan hangs: they and their guests are left to the end of the process. */
void fleet_stop_workers(struct fleet *fleet);

/** Returns true if every thread that does not scan a guest has been seen running, and if there is
 * one that does not hang. The mutex is held. */
bool fleet_workers_alive(const struct fleet *fleet, uint64_t now_ns);

/** Returns the number of threads whose scan hangs. The mutex is held. */
size_t fleet_workers_hanging(const struct fleet *fleet, uint64_t now_ns);

/** Returns when to scan a guest again after a scan that began at @p began_ns: @p due_ns; but if the
 * scan hung, at least a minute later, and longer after each further hang, so that it does not take
 * threads from other guests again at once. 0 stays 0. */
uint64_t fleet_set_apart(struct fleet_guest *guest, uint64_t began_ns, uint64_t due_ns);
