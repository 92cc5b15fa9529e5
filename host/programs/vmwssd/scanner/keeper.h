// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file keeper.h  A child of the scanner that opens files for it: it has the privileges for those
 * files, and no others, and passes their descriptors. See lock_keeper.h and clear_keeper.h.
 */
#pragma once

#include "base/error.h"

#include <pthread.h>
#include <stddef.h>

/* Descriptors of the child, besides standard error. */
enum { KEEPER_CHANNEL = 3, KEEPER_DIRECTORY, KEEPER_ROOT };

#define KEEPER_MAX_REQUEST 256

struct keeper {
    const char *name;    /* for messages: "the keeper of locks" */
    const char *process; /* the name of its process */
    /* Gives up all privileges but those for the directory. */
    int (*drop)(int dir_fd, struct error *error);
    /* Answers a request, which is aligned for any type. Returns 0, with the descriptor if there is
     * one; a negative errno; or 1: the scanner sends no such request, and the child ends. */
    int (*answer)(const void *request, size_t size, int *fd);
    int fd; /* of the scanner's end */
    pthread_mutex_t one_at_a_time;
};

/** Initialises the last members. */
#define KEEPER_NOT_STARTED .fd = -1, .one_at_a_time = PTHREAD_MUTEX_INITIALIZER

/** Starts the child, with @p dir_fd and @p root_fd, which may be -1; a negative errno instead of @p
 * dir_fd is returned. Call it while there is one thread. Returns 0, or a negative errno with the
 * message. */
int keeper_start(struct keeper *keeper, int dir_fd, int root_fd, struct error *error);

/** Sends a request, and waits for the answer: 0, with the descriptor if there is one, or a negative
 * errno. @p fd NULL: a descriptor is refused. */
int keeper_ask(struct keeper *keeper, const void *request, size_t size, int *fd);

/** As keeper_ask(), for a request whose answer is a descriptor: returns it, or a negative errno. */
int keeper_ask_fd(struct keeper *keeper, const void *request, size_t size);
