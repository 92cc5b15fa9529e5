// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scan_message.h  What crosses the wall between the two processes of vmwssd (scanner.h).
 *
 * Theory of operation. A request is one message, and so is its reply; several requests may wait in
 * a channel. Each kind of request has one size. So has a reply, but for the two that end in an
 * array: these are as long as the elements that they count, to the byte. What is shorter or longer
 * is no message. Every field is checked before anything else looks at it: a text ends within its
 * array, a number is within the range that stands beside it, a switch is 0 or 1. So the scanner,
 * which has privileges, acts on nothing that another process made up but plain numbers and the
 * names of guests, and of these it proves what it is about to touch: that the process is a QEMU,
 * and the same as when it was opened. Both processes are the same program, so the structs
 * themselves cross. Pure functions; no pointers cross.
 */
#pragma once

#include "guest/domain/ram_config.h"
#include "measure/record/field.h"

#include <sys/types.h>

#define SCAN_MAX_PROCESSES 8192
#define SCAN_MAX_SAMPLES 100000000ULL
#define SCAN_MAX_SECONDS 1e9

enum scan_op {
    SCAN_ALIVE,   /* on the first channel only: both halves are */
    SCAN_LANE,    /* likewise: another channel; its descriptor comes with the reply */
    SCAN_LIST,    /* all QEMU processes */
    SCAN_FIND,    /* a domain's process */
    SCAN_START,   /* when a process was started */
    SCAN_OPEN,    /* a guest; a descriptor of its process comes with the reply */
    SCAN_HAS_RAM, /* of an open guest: is its RAM made of this? */
    SCAN_SAMPLE,  /* likewise: reads and marks its panel */
    SCAN_BELL,    /* of the channel, once: an eventfd, rung when a batch was answered */
    SCAN_CLOSE,   /* of an open guest: restores it */
    SCAN_CONNECT, /* to a guest's agent; the socket comes with the reply */
    SCAN_JOBS,    /* of an open guest: what does QEMU itself do to its RAM? */
    N_SCAN_OPS
};

/** A domain as libvirt knows it. */
struct scan_domain {
    char pid_dir[512]; /* where its pid file is, relative to the root; empty: unknown */
    char name[256];    /* no slash; not empty */
    char uuid[37];
};

struct scan_backend {
    uint64_t size_bytes; /* 1 .. RAM_CONFIG_MAX_BYTES, as is the sum of all */
    uint8_t source;      /* enum ram_source */
    uint8_t hugetlb, dimm;
    char id[64];
};

/** struct ram_config */
struct scan_ram {
    uint32_t n_backends; /* .. RAM_CONFIG_MAX_BACKENDS */
    uint8_t locked;
    uint8_t in_guest_memfd;
    struct scan_backend backends[RAM_CONFIG_MAX_BACKENDS];
};

struct scan_open {
    int32_t pid; /* of a guest without libvirt; 0: the domain's */
    uint8_t migrating;
    struct scan_domain domain; /* if pid is 0 */
    struct scan_ram ram;       /* likewise, as the live XML says */
};

struct scan_sample {
    uint64_t samples;            /* 1 .. SCAN_MAX_SAMPLES */
    uint64_t suspended_total_ns; /* all its life */
    double cpu_s;                /* .. SCAN_MAX_SECONDS; of earlier scans that are in no record */
    uint32_t jobs;               /* enum sample_flag, seen since the last scan */
    uint8_t anew;                /* the rules have changed */
    uint8_t method;              /* 1 + its place in methods[]; 0: the first that proves itself */
    uint8_t ring;                /* the last of a batch: ring the bell when it was answered */
    uint32_t n_windows;          /* 1 .. RUN_MAX_WINDOWS */
    double window_s[RUN_MAX_WINDOWS]; /* ascending, > 0 .. SCAN_MAX_SECONDS */
    double tick_s;                    /* likewise */
};

struct scan_connect {
    uint32_t vsock_cid; /* if path is empty: more than 2, which are the host's own */
    char path[256];
    char uuid[37];
};

struct scan_request {
    uint32_t op;
    uint64_t guest; /* that SCAN_OPEN returned; of the requests that are about an open one */
    union {
        struct scan_domain find;
        int32_t pid; /* of SCAN_START */
        struct scan_open open;
        struct scan_ram has_ram;
        struct scan_sample sample;
        struct scan_connect connect;
    };
};

struct scan_list {
    uint32_t n; /* .. SCAN_MAX_PROCESSES */
    int32_t pids[SCAN_MAX_PROCESSES];
};

struct scan_opened {
    uint64_t guest; /* not 0 */
    int32_t pid;
    uint64_t start_ticks;
    char name[256]; /* as its command line says, or empty */
    char uuid[37];  /* likewise */
};

#define SCAN_MAX_BINS (RUN_MAX_WINDOWS + 1)

/* Room for the slots of all fields (measure/record/field.h), of a record and of a window. */
#define SCAN_RECORD_SLOTS 24
#define SCAN_WINDOW_SLOTS 16

union scan_part {
    uint64_t window[SCAN_WINDOW_SLOTS]; /* window_fields() */
    struct age_bin bin;
};

/** struct ages_record, without its method, texts, and what the guest itself and --fine say. */
struct scan_record {
    uint64_t slots[SCAN_RECORD_SLOTS];                      /* sample_fields() */
    uint32_t n_windows;                                     /* .. RUN_MAX_WINDOWS */
    uint32_t n_bins;                                        /* .. SCAN_MAX_BINS */
    union scan_part parts[RUN_MAX_WINDOWS + SCAN_MAX_BINS]; /* the windows, then the bins */
};

struct scan_sampled {
    uint64_t pages_before, pages; /* of its panel, before and after; 0: there was none */
    double cpu_s;                 /* of the scanner */
    uint8_t method;               /* as in scan_sample; 0: none */
    uint8_t has_record;           /* if rc is not 0: of its size, without windows. 0: the reply ends
                                     before it */
    struct scan_record record;
};

struct scan_jobs {
    uint32_t jobs; /* enum qemu_job, or-ed */
    double cpu_s;  /* of the scanner */
};

struct scan_reply {
    uint32_t op;
    int32_t rc;     /* 0 or a negative errno */
    uint32_t files; /* that the scanner may still open */
    char error[sizeof(((struct error *)NULL)->text)];
    union {
        int32_t pid;          /* of SCAN_FIND; 0: none, -1: two */
        uint64_t start_ticks; /* of SCAN_START */
        uint8_t has_ram;      /* of SCAN_HAS_RAM */
        struct scan_list list;
        struct scan_opened opened;
        struct scan_sampled sampled;
        struct scan_jobs jobs;
    };
};

/** How large a request of this kind is; 0: there is no such kind. */
size_t scan_request_size(unsigned op);

/** Makes an empty reply to @p op, all that crosses of it zeroed; elements follow their count. */
void scan_reply_begin(struct scan_reply *reply, unsigned op);

/** How large this reply is, with the elements that it counts; 0: there is no such kind, or it
 * counts more than there can be. */
size_t scan_reply_size(const struct scan_reply *reply);

/** How much of it, its record included if it has one, is filled. Of one that was begun or is
 * valid. */
size_t scan_sampled_size(const struct scan_sampled *sampled);

/** Are the first @p size bytes of @p request one, and every field in its range? */
bool scan_request_valid(const struct scan_request *request, size_t size);

/** Likewise of a reply to @p op. */
bool scan_reply_valid(const struct scan_reply *reply, size_t size, unsigned op);

/** 0; -E2BIG */
int scan_ram_put(struct scan_ram *out, const struct ram_config *config);

/** Of a valid one; the caller frees it with ram_config_free(). 0 or -ENOMEM. */
int scan_ram_take(const struct scan_ram *ram, struct ram_config *out);

/** 1 + the place of @p method in methods[]; 0 of NULL. */
uint8_t scan_method_put(const struct method *method);
const struct method *scan_method_take(uint8_t number);

/** Puts what ages_record_fill() wrote behind the rest of @p sampled, which was begun. */
void scan_record_put(struct scan_sampled *sampled, const struct ages_record *record);

/** The record of a valid one that has a record; its host is this one, and its domain and uuid are
 * empty. */
void scan_record_take(const struct scan_sampled *sampled, struct ages_record *out);
