// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file checker.h  Checks every page of the history, which costs CPU time that no budget pays for,
 * and is interrupted when vmwssd ends: SQLite itself does not ask whether to go on.
 */
#pragma once

#include "history/store.h"

#include <pthread.h>

struct checker {
    pthread_mutex_t mutex; /* protects the next six fields */
    bool stop;
    struct store *store; /* is checked now; NULL: none */
    clockid_t clock;     /* CPU time of the thread that checks it */
    double begun_s;      /* by that clock */
    double cpu_s;        /* of all checks before it */
    /* used only by the thread that begins it: */
    bool runs; /* a thread of its own checks */
    pthread_t thread;
    const char *path; /* borrowed */
    void (*ended)(void *context, bool damaged);
    void *context;
};

void checker_init(struct checker *checker);

/** Checks @p store in this thread. Returns true if it is damaged; an interrupted check shows
 * nothing. */
bool checker_finds_damage(struct checker *checker, struct store *store);

/** Checks the history at checker->path in a thread of its own, which calls checker->ended(). */
void checker_begin(struct checker *checker);

/** Returns true if that thread runs. */
bool checker_runs(struct checker *checker);

/** Waits for the end of that thread. */
void checker_wait(struct checker *checker);

/** Interrupts the check; later ones find nothing. */
void checker_stop(struct checker *checker);

/** Returns the CPU seconds of all checks so far. */
double checker_cpu_s(struct checker *checker);
