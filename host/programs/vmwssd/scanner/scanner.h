// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scanner.h  The privileged half of vmwssd, as the other half sees it.
 *
 *   the rest                                            the scanner
 *   libvirt, agents, budget, history                    /proc, idle bits, pagemap, perf
 *   ┌───────────────────────────────────────┐  request  ┌───────────────────────────────────────┐
 *   │ fleet, connections, processes, agents ├──────────►│ scan_table ── watched: RAM, sample    │
 *   │ writer, publisher                     │◄──────────┤                                       │
 *   └───────────────────────────────────────┘   reply   └───────────────────────────────────────┘
 *
 * Theory of operation. Each thread that asks has a channel of its own, a pair of sockets of type
 * SOCK_SEQPACKET with a thread of the scanner's at its other end: a scan that hangs holds up its
 * own channel only. A channel carries one request at a time, and its reply (scan_message.h), or a
 * batch: requests to scan several guests at once, which the scanner answers one by one. The other
 * half sleeps until all are answered, when the scanner rings a bell, an eventfd. When that takes a
 * second the batch is cut: of the guests that were not reached others may be asked for elsewhere.
 * Descriptors cross in one direction only, from the scanner. The first channel is the scanner's
 * main thread's: it makes the others, and answers every few seconds that it lives. When that
 * channel closes, or no question has come for too long, the scanner restores all guests and ends;
 * when no answer comes, scanner_alive() says so and the other half ends.
 *
 * Costs two switches of a thread for each batch, and what the other process finds cold in its
 * caches: some 70 us for a single guest, a few for each of eight (tests/bench/many --scans).
 */
#pragma once

#include "guest/agent/agent_endpoint.h"
#include "guest/domain/domain.h"
#include "programs/vmwssd/scanner/scan_message.h"

/** How long neither half waits for the other, if no watchdog says otherwise. */
#define SCANNER_PATIENCE_NS 60000000000ULL

/** Each half looks after the other about once a second. One that has not done so for this long was
 * stopped itself, as by SIGSTOP or a freezer of control groups that stops both, and begins to wait
 * anew. */
#define SCANNER_STOPPED_NS 3000000000ULL

struct scanner; /* opaque */

/** A guest that the scanner has open. */
struct scan_guest_ref {
    uint64_t guest; /* the scanner's number; 0: none */
    pid_t pid;
    int pidfd; /* the caller's */
    uint64_t start_ticks;
    char name[256]; /* as its command line says, or empty */
    char uuid[37];  /* likewise */
    bool from_libvirt;
};

/** A scanner within this process: for tests. Borrows @p root. */
int scanner_local(struct scanner **out, const struct fsroot *root);

/** The one at the other end of @p channel_fd, which is owned from here on; @p pid: its process. */
int scanner_beyond(struct scanner **out, int channel_fd, pid_t pid);

/** Ends the first channel, upon which the scanner ends. */
void scanner_leave(struct scanner *scanner);

/** Asks whether it lives, and hears the answer to the last time. Never waits. By one thread, every
 * second or more often.
 * @param patience_ns  how long an answer may take
 * @return 0; -EPIPE: it has ended; -ETIMEDOUT */
int scanner_alive(struct scanner *scanner, uint64_t patience_ns);

/** Readable when it answers, or has ended; -1 of a local one. */
int scanner_fd(const struct scanner *scanner);

/** CPU time of its process so far; 0 of a local one. */
double scanner_cpu_s(const struct scanner *scanner);

/** How many files it could still open, when it answered last. */
uint32_t scanner_files(const struct scanner *scanner);

/* Each of these waits for the answer, from any thread. -EPIPE: the scanner has ended; -ESHUTDOWN:
 * it is about to; -EINVAL: what is asked is no request (scan_message.h), and was not sent. */

/** Does @p rc, a result of one of these, mean that the scanner has ended or is about to? Then it
 * says nothing about a guest. */
bool scanner_is_gone(int rc);

/** As qemu_process_find_all(). */
ssize_t scanner_list(struct scanner *scanner, pid_t **pids);

/** As domain_process_find(), or DOMAIN_PID_UNKNOWN; @p context is the scanner. */
pid_t scanner_find(const struct domain_name *domain, void *context);

/** When process @p pid was started. 0, or as proc_stat_read(). */
int scanner_start_ticks(struct scanner *scanner, pid_t pid, uint64_t *start_ticks);

/** Opens a domain; @p ram as its live XML has it. As domain_process_open(). */
int scanner_open_domain(struct scanner *scanner, const char *pid_dir,
                        const struct domain_info *info, const struct ram_config *ram,
                        struct scan_guest_ref *out, struct error *error);

/** As guest_open_pid(). */
int scanner_open_process(struct scanner *scanner, pid_t pid, struct scan_guest_ref *out,
                         struct error *error);

/** Puts an opened guest into a local scanner, and closes it if that fails. 0 or -ENOMEM. */
int scanner_adopt(struct scanner *scanner, struct guest *guest, struct scan_guest_ref *out);

/** As guest_scan_has_ram(); true if the scanner is gone. */
bool scanner_has_ram(struct scanner *scanner, uint64_t guest, const struct ram_config *xml);

/** As qemu_process_read_jobs(), of an open guest. @p cpu_s: what it cost the scanner. */
int scanner_jobs(struct scanner *scanner, uint64_t guest, unsigned *jobs, double *cpu_s);

/** How many guests one batch has at most: their records are within what a channel holds, and each
 * further one would save less than the ones before. */
#define SCANNER_BATCH 16

/** How long the others of a batch wait for one that takes long. */
#define SCANNER_BATCH_WAIT_MS 1000

/** Guests that are scanned one after the other. */
struct scanner_batch {
    size_t n; /* 1 .. SCANNER_BATCH */
    struct {
        uint64_t guest; /* scan_guest_ref.guest */
        struct scan_sample sample;
    } of[SCANNER_BATCH];
    /* Not the caller's: */
    size_t answered;
    int failed; /* why no further answer comes */
    bool cut;
    struct scanner_lane *lane;
};

/** Asks for a scan of each guest of the batch. What goes wrong scanner_batch_receive() says. Until
 * scanner_batch_end() this thread asks the scanner for nothing else. */
void scanner_batch_send(struct scanner *scanner, struct scanner_batch *batch);

/**
 * Takes the answer about the next guest of the batch, in the order in which they were sent: result
 * and error as guest_scan_sample().
 * @param wait_ms  how long to wait for it at most
 * @param out      also when it fails; a record then, if there is one, is of the guest's size
 * @return -ETIME: there is none yet; to be called again
 */
int scanner_batch_receive(struct scanner *scanner, struct scanner_batch *batch, int wait_ms,
                          struct scan_sampled *out, struct error *error);

/** The scanner begins with no further guest of the batch. When scanner_batch_receive() has no
 * answer after that, the guest that it would be about is the one that is being scanned, if any is;
 * its answer can still be received, or -EPIPE. Of a local scanner no further one is scanned. */
void scanner_batch_cut(struct scanner_batch *batch);

/** Ends the batch; answers that were not received are dropped. */
void scanner_batch_end(struct scanner *scanner, struct scanner_batch *batch);

/** Restores and closes the guest, and @p ref's descriptor. Nothing if there is none. */
void scanner_close(struct scanner *scanner, struct scan_guest_ref *ref);

/** As agent_endpoint_connect(); @p context is the scanner. */
int scanner_connect(const struct agent_endpoint *endpoint, void *context, struct error *error);
