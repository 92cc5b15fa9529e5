// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scanner.h  The privileged half of vmwssd, as the other half sees it.
 *
 *   the rest                                            the scanner
 *   libvirt, agents, budget, history                    /proc, idle bits, pagemap, perf
 *   ┌───────────────────────────────────────┐  request  ┌───────────────────────────────────────┐
 *   │ fleet, connections, processes, agents ├──────────►│ scan_table ── guest_scan: RAM, sample │
 *   │ writer, publisher                     │◄──────────┤                                       │
 *   └───────────────────────────────────────┘   reply   └───────────────────────────────────────┘
 *
 * Theory of operation. Each thread that sends requests has its own channel, a pair of sockets of
 * type SOCK_SEQPACKET with one of the scanner's threads at the other end: a scan that hangs blocks
 * only its own channel. A channel carries one request at a time, and its reply (scan_message.h), or
 * a batch: requests to scan several guests, which the scanner answers one by one. The other half
 * sleeps until all are answered: then the scanner rings a bell, an eventfd. If that takes a second
 * the batch is cut, and the guests that were not reached may be scanned through other channels.
 * Descriptors are sent in one direction only, from the scanner. The scanner's main thread serves
 * the first channel: it makes the other channels, and replies every few seconds that it lives. If
 * that channel closes, or no request has come for too long, the scanner restores all guests and
 * ends; if no reply comes, scanner_alive() returns an error and the other half ends.
 *
 * Each batch costs two thread switches and the other process's cache misses: some 70 us for a
 * single guest, a few us for each of eight (tests/bench/many --scans).
 */
#pragma once

#include "guest/agent/agent_endpoint.h"
#include "guest/domain/domain.h"
#include "programs/vmwssd/scanner/scan_message.h"

/** How long each half waits for the other at most, unless a watchdog sets another time. */
#define SCANNER_PATIENCE_NS 60000000000ULL

/** Each half checks the other about once a second. A half that has not done so for this long was
 * itself stopped, for instance by SIGSTOP or by a control group freezer that stops both, and
 * starts to wait anew. */
#define SCANNER_STOPPED_NS 3000000000ULL

struct scanner; /* opaque */

/** A guest that the scanner has open. */
struct scan_guest_ref {
    uint64_t guest; /* the scanner's number; 0: no guest */
    pid_t pid;
    int pidfd; /* owned by the caller */
    uint64_t start_ticks;
    char name[256]; /* from its command line, or empty */
    char uuid[37];  /* from its command line, or empty */
    struct guest_owner owner;
    bool from_libvirt;
};

/** Makes a scanner within this process, for tests. Borrows @p root. */
int scanner_local(struct scanner **out, const struct fsroot *root);

/** Makes the handle of the scanner at the other end of @p channel_fd, which it owns from here on;
 * @p pid: the scanner's process. */
int scanner_beyond(struct scanner **out, int channel_fd, pid_t pid);

/** Closes the first channel, whereupon the scanner ends. */
void scanner_leave(struct scanner *scanner);

/** Asks whether it lives, and receives the answer to the last such request. Never waits. Call it
 * from one thread, every second or more often.
 * @param patience_ns how long an answer may take
 * @return 0; -EPIPE: it has ended; -ETIMEDOUT */
int scanner_alive(struct scanner *scanner, uint64_t patience_ns);

/** Returns a descriptor that is readable when it answers or has ended; -1 for a local scanner. */
int scanner_fd(const struct scanner *scanner);

/** Returns the CPU time of its process so far; 0 for a local scanner. */
double scanner_cpu_s(const struct scanner *scanner);

/** Returns how many more files it could open at its last answer. */
uint32_t scanner_files(const struct scanner *scanner);

/* Each of these waits for the answer; callable from any thread. -EPIPE: the scanner has ended;
 * -ESHUTDOWN: it is about to end; -EINVAL: the request is invalid (scan_message.h), and was not
 * sent. */

/** Returns true if @p rc, a result of one of these, means that the scanner has ended or is about
 * to. Such a result does not concern a guest. */
bool scanner_is_gone(int rc);

/** As qemu_process_find_all(). */
ssize_t scanner_list(struct scanner *scanner, pid_t **pids);

/** As domain_process_find(), or DOMAIN_PID_UNKNOWN; @p context is the scanner. */
pid_t scanner_find(const struct domain_name *domain, void *context);

/** Reads when process @p pid was started. Returns 0, or as proc_stat_read(). */
int scanner_start_ticks(struct scanner *scanner, pid_t pid, uint64_t *start_ticks);

/** Opens a domain; @p ram from its live XML. As domain_process_open(). */
int scanner_open_domain(struct scanner *scanner, const char *pid_dir,
                        const struct domain_info *info, const struct ram_config *ram,
                        struct scan_guest_ref *out, struct error *error);

/** As guest_open_pid(). */
int scanner_open_process(struct scanner *scanner, pid_t pid, struct scan_guest_ref *out,
                         struct error *error);

/** Puts an opened guest into a local scanner, and closes it if that fails. Returns 0 or -ENOMEM. */
int scanner_adopt(struct scanner *scanner, struct guest *guest, struct scan_guest_ref *out);

/** As guest_scan_has_ram(); true if the scanner is gone. */
bool scanner_has_ram(struct scanner *scanner, uint64_t guest, const struct ram_config *xml);

/** As qemu_process_read_jobs(), for an open guest. @p cpu_s: its cost in the scanner. */
int scanner_jobs(struct scanner *scanner, uint64_t guest, unsigned *jobs, double *cpu_s);

/** As guest_writes_measure(), for an open guest: waits as long as the longest window, and some
 * more.
 * @p cpu_s: its cost, also after a failure. */
int scanner_writes(struct scanner *scanner, uint64_t guest, const struct scan_writes *params,
                   struct write_curve *curve, double *cpu_s, struct error *error);

/** Maximum number of guests in one batch: their records fit into a channel, and each further guest
 * would save less than the ones before. */
#define SCANNER_BATCH 16

/** How long the other guests of a batch wait for a slow one. */
#define SCANNER_BATCH_WAIT_MS 1000

/** Guests that are scanned one after the other. */
struct scanner_batch {
    size_t n; /* 1 .. SCANNER_BATCH */
    struct {
        uint64_t guest; /* scan_guest_ref.guest */
        struct scan_sample sample;
    } of[SCANNER_BATCH];
    /* Internal: */
    size_t answered;
    int failed; /* the error because of which no further answer comes */
    bool cut;
    struct scanner_lane *lane;
};

/** Sends a request to scan for each guest of the batch. scanner_batch_receive() returns any errors.
 * Until scanner_batch_end() this thread must send no other request to the scanner. */
void scanner_batch_send(struct scanner *scanner, struct scanner_batch *batch);

/**
 * Takes the answer for the next guest of the batch, in the order of sending: result and error as
 * guest_scan_sample().
 * @param wait_ms  maximum time to wait for it
 * @param out      filled even on failure; it may then have a record with the guest's size
 * @return         -ETIME: there is no answer yet; call it again
 */
int scanner_batch_receive(struct scanner *scanner, struct scanner_batch *batch, int wait_ms,
                          struct scan_sampled *out, struct error *error);

/** Makes the scanner begin no further guest of the batch. The guest that is being scanned, if there
 * is one, is finished: scanner_batch_receive() still returns its answer, or -EPIPE. */
void scanner_batch_cut(struct scanner_batch *batch);

/** Ends the batch; answers that were not received are dropped. */
void scanner_batch_end(struct scanner *scanner, struct scanner_batch *batch);

/** Restores and closes the guest, and @p ref's descriptor. Does nothing if there is no guest. */
void scanner_close(struct scanner *scanner, struct scan_guest_ref *ref);

/** As agent_endpoint_connect(); @p context is the scanner. */
int scanner_connect(const struct agent_endpoint *endpoint, void *context, struct error *error);
