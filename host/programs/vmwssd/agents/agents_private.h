// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file agents_private.h  Declarations shared by agents.c, agents_ask.c and agents_receive.c. */
#pragma once

#include "guest/agent/agent_channel.h"
#include "measure/record/guest_tracker.h"
#include "programs/vmwssd/agents/agents.h"
#include "programs/vmwssd/agents/log_limit.h"
#include "programs/vmwssd/agents/polling.h"

#include <poll.h>
#include <pthread.h>

/* After a stall the guest is asked at once, but not after each of many stalls: reports at shorter
 * intervals give no rates. */
#define ASK_AGAIN_NS 5000000000ULL

/* While the ledger blocks everything, unsolicited messages of guests are received this often: a
 * controller of balloons must know of a stall within two seconds. agent_channel.h limits what a
 * guest may send. */
#define HELD_LISTEN_NS 500000000ULL

/* A stall of one guest is stored at most this often. */
#define KEEP_STALL_NS 2000000000ULL

/* A guest's last report is stored as a whole this often: some 3 KB, for commands that run beside
 * vmwssd. */
#define KEEP_REPORT_NS 60000000000ULL

/* One guest, with the connection to its agent. Only the thread adds, removes and uses it; the
 * tracker is also used by threads that annotate records, under the mutex. */
struct agent_peer {
    struct agent_peer *next;
    unsigned source;
    char uuid[37];
    char name[256];
    int id; /* ID of this run in libvirt */
    bool there;
    struct agent_channel *channel; /* NULL: it has no channel */
    struct xml_turn xml;           /* xml.plugged is under the mutex */
    uint64_t asked_ns;
    uint64_t stall_ns; /* time of the last stored stall */
    /* it has a port and vsock: when one fails, its XML shows which of them exist */
    bool two_ways;
    bool answers; /* it answered the last request: the balloon's statistics are not needed */
    struct log_limit log_limit;
    /* why its agent reports nothing; "": it reports, or has yet to */
    char unavailable[GUEST_STATS_REASON_TEXT];
    struct guest_tracker tracker;
    uint64_t lines_ns; /* time at which lines was made */
    char *lines;       /* its last report, until it is taken; under the mutex */
};

struct agent_source {
    struct agents_libvirt at; /* zeroed: not used yet */
    bool wanted;
    /* used only by the thread: */
    struct domain_connection *libvirt; /* NULL: not connected */
    bool logged;                       /* its failure was logged */
    uint64_t retry_ns;                 /* do not connect before this time */
};

struct agents {
    pthread_t thread;
    struct scanner *scanner;
    int wake_fd;           /* eventfd: signals a change */
    pthread_mutex_t mutex; /* protects the fields below, the trackers and the list */
    bool on, stop;
    struct writer *writer; /* NULL: there is no history */
    struct polling polling;
    struct agent_source sources[AGENTS_MAX_SOURCES];
    struct agent_peer *list;
    /* used only by the thread: */
    size_t n;
    size_t xml_left;      /* XML documents that may still be read in this round */
    bool held;            /* the ledger blocks everything: no guest is asked */
    uint64_t listened_ns; /* while held: last time at which all were listened to */
    /* CPU time of the threads that asked libvirt for balloon statistics */
    double balloon_stats_cpu_s;
    struct pollfd *fds; /* room for n_fds; the first is wake_fd */
    size_t n_fds;
};

/** Returns NULL if there is no guest with this UUID. The thread, or with the mutex held. */
struct agent_peer *agents_find(const struct agents *agents, const char *uuid);

/** Asks libvirt and all agents. */
void agents_poll(struct agents *agents);

/** Asks the guest's agent, unless it is to be left alone for now. */
void agents_ask(struct agent_peer *peer);

/** Notes the reason why its agent reports nothing; the balloon driver may still report. */
void agents_set_unavailable(struct agents *agents, struct agent_peer *peer, const char *why);

/** Passes on why the agent reports nothing, unless the balloon driver reports in its place. */
void agents_forward_unavailable(struct agents *agents, struct agent_peer *peer);

/** Returns the time by the clock of the records, store_clock_now(). */
double agents_boot_s(void);

/** Waits until something is received, or until @p until_ns, and handles it. @p held: receives only
 * answers, and every HELD_LISTEN_NS other messages. */
void agents_listen(struct agents *agents, uint64_t until_ns, bool held);

/** Removes all guests. */
void agents_forget(struct agents *agents);
