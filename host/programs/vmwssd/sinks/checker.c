// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sinks/checker.h"

#include "base/clock.h"
#include "base/cond.h"
#include "history/history.h"

#include <errno.h>
#include <sys/resource.h>

void checker_init(struct checker *checker)
{
    pthread_mutex_init(&checker->mutex, NULL);
}

static int stops(void *context)
{
    struct checker *checker = context;

    HOLD(&checker->mutex);
    return checker->stop;
}

/* The mutex is held. */
static double spent_s(const struct checker *checker)
{
    return checker->store ? clock_s(checker->clock) - checker->begun_s : 0;
}

/* @p store: NULL when the check has ended. */
static void note(struct checker *checker, struct store *store)
{
    HOLD(&checker->mutex);
    checker->cpu_s += spent_s(checker);
    checker->store = NULL;
    if (store && pthread_getcpuclockid(pthread_self(), &checker->clock) == 0) {
        checker->begun_s = clock_s(checker->clock);
        checker->store = store;
    }
}

bool checker_finds_damage(struct checker *checker, struct store *store)
{
    note(checker, store);

    int rc = store_check(store, stops, checker, NULL);

    note(checker, NULL);
    return rc == -EUCLEAN && !stops(checker);
}

static void *check(void *context)
{
    struct checker *checker = context;
    struct store *store = NULL;
    bool damaged = false;

    setpriority(PRIO_PROCESS, 0, 19);
    if (history_open_beside(checker->path, &store, NULL) == 0)
        damaged = checker_finds_damage(checker, store);
    store_close(store);
    checker->ended(checker->context, damaged);
    return NULL;
}

void checker_begin(struct checker *checker)
{
    checker->runs = pthread_create(&checker->thread, NULL, check, checker) == 0;
}

bool checker_runs(struct checker *checker)
{
    if (checker->runs && pthread_tryjoin_np(checker->thread, NULL) == 0)
        checker->runs = false;
    return checker->runs;
}

void checker_wait(struct checker *checker)
{
    if (checker->runs)
        pthread_join(checker->thread, NULL);
    checker->runs = false;
}

void checker_stop(struct checker *checker)
{
    HOLD(&checker->mutex);
    checker->stop = true;
    if (checker->store)
        store_interrupt(checker->store);
}

double checker_cpu_s(struct checker *checker)
{
    HOLD(&checker->mutex);
    return checker->cpu_s + spent_s(checker);
}
