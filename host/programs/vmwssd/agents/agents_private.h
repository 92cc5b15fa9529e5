// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents_private.h  What agents.c, agents_ask.c and agents_receive.c share. */
#pragma once

#include "guest/agent/agent_channel.h"
#include "measure/record/guest_tracker.h"
#include "programs/vmwssd/agents/agents.h"
#include "programs/vmwssd/agents/log_limit.h"
#include "programs/vmwssd/agents/polling.h"

#include <poll.h>
#include <pthread.h>

/* After a stall it is asked at once, but not for every one of many: reports of a shorter interval
 * make no rates. */
#define ASK_AGAIN_NS 5000000000ULL

/* So often, while the ledger has all wait, what guests send unasked is received: a stall is to be
 * known to who drives balloons within two seconds. What a guest may send is limited
 * (agent_channel.h). */
#define HELD_LISTEN_NS 500000000ULL

/* So often a stall of one guest is kept. */
#define KEEP_STALL_NS 2000000000ULL

/* So often its last report is kept as a whole: some 3 KB, for commands that run beside vmwssd. */
#define KEEP_REPORT_NS 60000000000ULL

/* One guest, with the way to its agent. Only the thread adds, removes and uses it; the tracker also
 * those who annotate records, under the mutex. */
struct agent_peer {
    struct agent_peer *next;
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
    bool answers;      /* as of the last question: the balloon's statistics are not needed */
    struct log_limit log_limit;
    char unavailable[GUEST_STATS_REASON_TEXT]; /* why its agent reports nothing; "": it does, or is
                                                  yet to */
    struct guest_tracker tracker;
    uint64_t lines_ns; /* when lines was made */
    char *lines;       /* its last report, until it is taken; under the mutex */
};

struct agent_source {
    struct agents_libvirt at; /* zeroed: not used yet */
    bool wanted;
    /* the thread's own */
    struct domain_connection *libvirt; /* NULL: not connected */
    bool logged;                       /* that it fails */
    uint64_t retry_ns;                 /* not connected before */
};

struct agents {
    pthread_t thread;
    struct scanner *scanner;
    int wake_fd;           /* eventfd: something changed */
    pthread_mutex_t mutex; /* of what follows, and of trackers and the list */
    bool on, stop;
    struct writer *writer; /* NULL: no history */
    struct polling polling;
    struct agent_source sources[AGENTS_MAX_SOURCES];
    struct agent_peer *list;
    /* the thread's own */
    size_t n;
    size_t xml_left;            /* may be read in this round */
    bool held;                  /* the ledger has all wait: nothing is asked */
    uint64_t listened_ns;       /* while it does: when all of them were listened to last */
    double balloon_stats_cpu_s; /* used by threads that asked libvirt for it */
    struct pollfd *fds;         /* room for n_fds; the first is wake_fd */
    size_t n_fds;
};

/** Asks libvirt and all agents. */
void agents_poll(struct agents *agents);

/** Asks its agent, unless it is to be left alone for now. */
void agents_ask(struct agent_peer *peer);

/** Its agent reports nothing, for this reason; the balloon driver still may. */
void agents_set_unavailable(struct agents *agents, struct agent_peer *peer, const char *why);

/** Passes on why the agent reports nothing, unless the balloon driver reports in its place. */
void agents_forward_unavailable(struct agents *agents, struct agent_peer *peer);

/** By the clock of the records, store_clock_now(). */
double agents_boot_s(void);

/** Waits until something is received, or @p until_ns, and handles it. @p held: nothing but
 * answers, and every HELD_LISTEN_NS what is there. */
void agents_listen(struct agents *agents, uint64_t until_ns, bool held);

/** Lets all guests go. */
void agents_forget(struct agents *agents);
