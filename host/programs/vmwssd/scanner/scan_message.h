// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file scan_message.h  The messages between the two processes of vmwssd (scanner.h).
 *
 * Theory of operation. A request is one message, and so is its reply; several requests may wait in
 * a channel. Each kind of request has one size, and so has each reply, except for the two that end
 * in an array: their length is exactly that of the elements that they count. A shorter or longer
 * message is refused. Every field is checked before any other code reads it: a text ends within its
 * array, a number is within the range given beside it, a switch is 0 or 1. So the privileged
 * scanner only acts on plain numbers and names of guests from the other process, and it verifies
 * what it is about to touch: that the process is a QEMU, and the same as when it was opened. Both
 * processes are the same program, so the structs themselves are sent. Pure functions; messages
 * contain no pointers.
 */
#pragma once

#include "guest/domain/ram_config.h"
#include "measure/record/field.h"

#include <sys/types.h>

#define SCAN_MAX_PROCESSES 8192
#define SCAN_MAX_SAMPLES 100000000ULL
#define SCAN_MAX_SECONDS 1e9

enum scan_op {
    SCAN_ALIVE, /* on the first channel only: asks whether the scanner lives */
    /* on the first channel only: opens another channel; its descriptor comes with the reply */
    SCAN_LANE,
    SCAN_LIST,    /* lists all QEMU processes */
    SCAN_FIND,    /* finds a domain's process */
    SCAN_START,   /* reads when a process was started */
    SCAN_OPEN,    /* opens a guest; a descriptor of its process comes with the reply */
    SCAN_HAS_RAM, /* for an open guest: checks whether its RAM has these backends */
    SCAN_SAMPLE,  /* for an open guest: reads and marks its panel */
    SCAN_BELL,    /* once for each channel: an eventfd, rung when a batch was answered */
    SCAN_CLOSE,   /* for an open guest: restores it */
    SCAN_CONNECT, /* connects to a guest's agent; the socket comes with the reply */
    SCAN_JOBS,    /* for an open guest: reads QEMU's own jobs on its RAM */
    SCAN_WRITES,  /* for an open guest: measures what it writes, which takes as long as the windows
                   */
    N_SCAN_OPS
};

/** A domain as libvirt knows it. */
struct scan_domain {
    char pid_dir[512]; /* directory of its pid file, relative to the root; empty: unknown */
    char name[256];    /* no slash; not empty */
    char uuid[37];
};

struct scan_backend {
    uint64_t size_bytes; /* 1 .. RAM_CONFIG_MAX_BYTES, which also limits the sum of all */
    uint8_t source;      /* enum ram_source */
    uint8_t hugetlb, dimm;
    char id[64];
};

/** struct ram_config */
struct scan_ram {
    uint32_t n_backends; /* at most RAM_CONFIG_MAX_BACKENDS */
    uint8_t locked;
    uint8_t in_guest_memfd;
    struct scan_backend backends[RAM_CONFIG_MAX_BACKENDS];
};

struct scan_open {
    int32_t pid; /* process of a guest without libvirt; 0: use the domain */
    uint8_t migrating;
    struct scan_domain domain; /* if pid is 0 */
    struct scan_ram ram;       /* if pid is 0: from the live XML */
};

struct scan_sample {
    uint64_t samples;            /* 1 .. SCAN_MAX_SAMPLES */
    uint64_t suspended_total_ns; /* total over its life */
    /* at most SCAN_MAX_SECONDS; CPU time of earlier scans that is in no record */
    double cpu_s;
    uint32_t jobs; /* enum sample_flag, seen since the last scan */
    uint8_t anew;  /* the rules have changed */
    /* 1 + its index in methods[]; 0: the first one whose probe succeeds */
    uint8_t method;
    /* the last request of a batch: ring the bell when it was answered */
    uint8_t ring;
    uint32_t n_windows;               /* 1 .. RUN_MAX_WINDOWS */
    double window_s[RUN_MAX_WINDOWS]; /* ascending, above 0, at most SCAN_MAX_SECONDS */
    double tick_s;                    /* above 0, at most SCAN_MAX_SECONDS */
};

struct scan_connect {
    uint32_t vsock_cid; /* if path is empty: above 2, because lower numbers are the host's own */
    char path[256];
    char uuid[37];
};

struct scan_writes {
    uint32_t n_windows;                /* 1 .. WRITE_POINTS_MAX */
    double window_s[WRITE_POINTS_MAX]; /* ascending, above 0, at most SCAN_MAX_SECONDS */
};

struct scan_request {
    uint32_t op;
    uint64_t guest; /* number that SCAN_OPEN returned; for requests about an open guest */
    union {
        struct scan_domain find;
        int32_t pid; /* for SCAN_START */
        struct scan_open open;
        struct scan_ram has_ram;
        struct scan_sample sample;
        struct scan_connect connect;
        struct scan_writes writes;
    };
};

struct scan_list {
    uint32_t n; /* at most SCAN_MAX_PROCESSES */
    int32_t pids[SCAN_MAX_PROCESSES];
};

struct scan_opened {
    uint64_t guest; /* not 0 */
    int32_t pid;
    uint64_t start_ticks;
    char name[256]; /* from its command line, or empty */
    char uuid[37];  /* from its command line, or empty */
    struct guest_owner owner;
};

#define SCAN_MAX_BINS (RUN_MAX_WINDOWS + 1)

/* Number of slots for all fields (measure/record/field.h) of a record and of a window. */
#define SCAN_RECORD_SLOTS 24
#define SCAN_WINDOW_SLOTS 16

union scan_part {
    uint64_t window[SCAN_WINDOW_SLOTS]; /* window_fields() */
    struct age_bin bin;
};

/** struct ages_record, without its method, its texts, the guest's own statistics and the fields of
 * --fine. */
struct scan_record {
    uint64_t slots[SCAN_RECORD_SLOTS];                      /* sample_fields() */
    uint32_t n_windows;                                     /* at most RUN_MAX_WINDOWS */
    uint32_t n_bins;                                        /* at most SCAN_MAX_BINS */
    union scan_part parts[RUN_MAX_WINDOWS + SCAN_MAX_BINS]; /* the windows, then the bins */
};

struct scan_sampled {
    uint64_t pages_before, pages; /* pages of its panel, before and after; 0: there was no panel */
    double cpu_s;                 /* CPU time of the scanner */
    uint8_t method;               /* as in scan_sample; 0: none */
    /* 0: the reply ends before the record. If rc is not 0, the record has the guest's size, and no
     * windows. */
    uint8_t has_record;
    struct scan_record record;
};

struct scan_jobs {
    uint32_t jobs; /* bits of enum qemu_job */
    double cpu_s;  /* CPU time of the scanner */
};

/* Number of slots for all fields of a curve and of a point. */
#define SCAN_CURVE_SLOTS 8
#define SCAN_POINT_SLOTS 8

struct scan_written {
    double cpu_s;                     /* CPU time of the scanner */
    uint8_t method;                   /* as in scan_sample; 0: rc is not 0, and there is no curve */
    uint64_t curve[SCAN_CURVE_SLOTS]; /* write_fields() */
    uint32_t n_points;                /* 1 .. WRITE_POINTS_MAX */
    uint64_t points[WRITE_POINTS_MAX][SCAN_POINT_SLOTS]; /* write_point_fields() */
};

struct scan_reply {
    uint32_t op;
    int32_t rc;     /* 0 or a negative errno */
    uint32_t files; /* number of files that the scanner may still open */
    char error[sizeof(((struct error *)NULL)->text)];
    union {
        int32_t pid;          /* for SCAN_FIND; 0: none, -1: two */
        uint64_t start_ticks; /* for SCAN_START */
        uint8_t has_ram;      /* for SCAN_HAS_RAM */
        struct scan_list list;
        struct scan_opened opened;
        struct scan_sampled sampled;
        struct scan_jobs jobs;
        struct scan_written written;
    };
};

/** Returns the size of a request of this kind; 0: there is no such kind. */
size_t scan_request_size(unsigned op);

/** Makes an empty reply to @p op, with all bytes that are sent zeroed; elements follow their count.
 */
void scan_reply_begin(struct scan_reply *reply, unsigned op);

/** Returns the size of this reply, including the elements that it counts; 0: there is no such kind,
 * or the count is too large. */
size_t scan_reply_size(const struct scan_reply *reply);

/** Returns the size of its filled part, including its record if it has one. For a message that was
 * begun or is valid. */
size_t scan_sampled_size(const struct scan_sampled *sampled);

/** Returns true if the first @p size bytes of @p request are a request with every field in its
 * range. */
bool scan_request_valid(const struct scan_request *request, size_t size);

/** As scan_request_valid(), for a reply to @p op. */
bool scan_reply_valid(const struct scan_reply *reply, size_t size, unsigned op);

/** Returns 0 or -E2BIG. */
int scan_ram_put(struct scan_ram *out, const struct ram_config *config);

/** Takes the RAM from a valid message; the caller frees it with ram_config_free(). Returns 0 or
 * -ENOMEM. */
int scan_ram_take(const struct scan_ram *ram, struct ram_config *out);

/** Returns 1 + the index of @p method in methods[]; 0 for NULL. */
uint8_t scan_method_put(const struct method *method);
const struct method *scan_method_take(uint8_t number);

/** Puts the result of ages_record_fill() behind the rest of @p sampled, which was begun. */
void scan_record_put(struct scan_sampled *sampled, const struct ages_record *record);

/** Takes the record of a valid message that has one; its host is this host, and its domain and uuid
 * are empty. */
void scan_record_take(const struct scan_sampled *sampled, struct ages_record *out);

/** Puts a curve into @p written, which was begun, and takes it from a valid message that has one.
 */
void scan_curve_put(struct scan_written *written, const struct write_curve *curve);
void scan_curve_take(const struct scan_written *written, struct write_curve *out);
