// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file members.h  The running guests and what is known of each: sizes from libvirt, working sets
 * and statistics from vmwssd's history.
 */
#pragma once

#include "balloond/config.h"
#include "balloond/journal.h"
#include "domain/domain_memory.h"

#define MEMBER_AFTERS 3

/** Beside its control_guest, which has the same number. */
struct member {
    char uuid[37];
    char name[256];
    int domain_id; /* another one: another run, and all is forgotten */
    bool seen;
    struct domain_memory memory;
    char last[128]; /* what was journalled last, in short */
    struct {
        int64_t id; /* of the journal; 0: none */
        double at_s;
        unsigned step; /* 0, 1, 2: 5, 30, 60 s */
    } after;
};

struct members {
    struct member *members;
    struct control_guest *guests;
    size_t n, room;
};

void members_free(struct members *members);

/** Sizes, from libvirt: guests that came and went. 0 or negative with the message. */
int members_follow(struct members *members, struct domain_connection *libvirt,
                   const struct balloond_config *config, struct error *error);

/** Working sets, from the history; a guest that is not in it keeps what it has. */
int members_measure(struct members *members, const struct balloond_config *config,
                    struct error *error);

/** The number of that guest; -1: it does not run. */
ssize_t members_find(const struct members *members, const char *uuid);
