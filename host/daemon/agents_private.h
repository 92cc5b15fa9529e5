// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents_private.h  What agents.c, agents_ask.c and agents_hear.c share. */
#pragma once

#include "agent/agent_channel.h"
#include "daemon/agents.h"
#include "daemon/rounds.h"
#include "daemon/said.h"
#include "record/word_follower.h"

#include <poll.h>
#include <pthread.h>

/* After a stall it is asked at once, but not for every one of many: what is told in less time makes
 * no rates. */
#define ASK_AGAIN_NS 5000000000ULL

/* So often a stall of one guest is kept. */
#define KEEP_STALL_NS 2000000000ULL

/* So often what it told is kept as a whole: some 3 KB, for whoever asks beside vmwssd. */
#define KEEP_TOLD_NS 60000000000ULL

/* One guest. Only the thread adds, removes and uses it; the follower also those who are told, under
 * the mutex. */
struct asked {
    struct asked *next;
    unsigned source;
    char uuid[37];
    char name[256];
    int id; /* of this run, in libvirt */
    bool there;
    struct agent_channel *channel; /* NULL: it has none */
    struct xml_turn xml;           /* plugged: under the mutex */
    uint64_t asked_ns;
    uint64_t stall_ns; /* when one was kept */
    bool two_ways;     /* a port and vsock: when one fails the XML has which of them */
    bool answers;      /* as of the last question: what the balloon tells is not needed */
    struct said said;
    char lack[WORD_MISSING_TEXT]; /* why its agent tells nothing; "": it does, or is yet to */
    struct word_follower follower;
    uint64_t lines_ns; /* when lines was made */
    char *lines;       /* what it told, until somebody takes it; under the mutex */
};

struct agent_source {
    struct agents_libvirt at; /* zeroed: not used yet */
    bool wanted;
    /* the thread's own */
    struct domain_connection *libvirt; /* NULL: not connected */
    bool said;                         /* that it fails */
    uint64_t retry_ns;                 /* not connected before */
};

struct agents {
    pthread_t thread;
    struct scanner *scanner;
    int wake_fd;           /* eventfd: something changed */
    pthread_mutex_t mutex; /* of what follows, and of followers and the list */
    bool on, stop;
    struct writer *writer; /* NULL: no history */
    struct rounds rounds;
    struct agent_source sources[AGENTS_MAX_SOURCES];
    struct asked *list;
    /* the thread's own */
    size_t n;
    size_t xml_left;    /* may be read in this round */
    double news_cpu_s;  /* used by threads that asked libvirt for it */
    struct pollfd *fds; /* room for n_fds; the first is wake_fd */
    size_t n_fds;
};

/** Asks libvirt and all agents. */
void agents_round(struct agents *agents);

/** Asks its agent, unless it is to be left alone for now. */
void agents_ask(struct asked *asked);

/** Its agent tells nothing, and why; the balloon may still. */
void agents_miss(struct agents *agents, struct asked *asked, const char *why);

/** What the agent lacks is told when the balloon says nothing in its place. */
void agents_tell_lack(struct agents *agents, struct asked *asked);

/** By the clock of the records, store_clock_now(). */
double agents_boot_s(void);

/** Waits until something comes, or @p until_ns, and hears it. @p held: nothing but answers. */
void agents_listen(struct agents *agents, uint64_t until_ns, bool held);

/** Lets all guests go. */
void agents_forget(struct agents *agents);
