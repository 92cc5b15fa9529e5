// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file method.h  A method of sampling: one table of operations.
 *
 * Life of a measurement: probe → open → mark → (wait) → collect, once per window → close. Touches
 * add up: collect reports all touches since mark, so one run answers several windows.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"
#include "measure/page_merge.h"
#include "measure/page_set.h"
#include "measure/tally.h"

/** How a method detects a touch; this decides which activities can disturb it. */
enum method_signal {
    /* faults and mappings, which do not depend on accessed bits and their other users */
    SIGNAL_MMU,
    /* accessed bits, and the idle flag, which classic reclaim clears when it takes a bit, but MGLRU
     * does not */
    SIGNAL_IDLE_FLAG,
    SIGNAL_REFERENCED, /* accessed bits, and PG_referenced: any reclaim takes them */
    /* accessed bits, as MGLRU itself takes them: the method includes the effect of ageing by
     * others */
    SIGNAL_GENERATIONS,
    /* writes only, and no accessed bits: for the write working set (estimate/write_curve.h), never
     * for the working set */
    SIGNAL_WRITES,
};

/** The orders in which a program chooses methods: most exact and least disturbing first. If MGLRU
 * ages the guest's memory, the host takes accessed bits, so methods that do not need them come
 * first, except zap-all, which disturbs. */
enum method_order {
    ORDER_KVM,
    ORDER_KVM_AGEING,
    ORDER_TCG,
    ORDER_TCG_AGEING,
    /* guests of both kinds, cheapest first; without damon, which exists only once per host */
    ORDER_DAEMON,
    ORDER_DAEMON_AGEING,
    ORDER_WRITES, /* for the write working set, guests of both kinds */
    N_METHOD_ORDERS,
};

/** Work between mark and collect. The first two members are for a method whose data the kernel
 * keeps only in a small buffer; a method without such work has NULL. */
struct method_wake {
    /** Fetches the data; call it between mark and collect whenever the descriptor is readable. */
    int (*poll)(void *state, struct error *error);
    /** A descriptor for poll(2). It stays the same until close() closes it. */
    int (*fd)(void *state);
    /** Counts what may be lost until collect; run.c calls it twice a second. */
    void (*between)(void *state);
};

/** Operations on several states of one target at once, which cost less than one by one; all NULL:
 * the method has none. @p merge: the merge of their sets, in the same order. */
struct method_many {
    int (*collect)(void *const *states, size_t n, const struct page_merge *merge,
                   struct tally *tallies, struct error *error);
    int (*rearm)(void *const *states, size_t n, const struct page_merge *merge,
                 struct error *error);
};

struct method {
    const char *name;
    const char *summary; /* one line, for doctor and the help */
    bool census;         /* can examine every page */
    bool panel;          /* can examine chosen pages */
    /**
     * Checks that this host has everything the method needs, independent of a guest. For
     * method_host().
     * @return 0, or a negative errno; then @p why names the missing part and the remedy.
     */
    int (*host)(const struct fsroot *root, struct error *why);
    /**
     * Checks that this method can see this guest, by a trial on this very process, not by a version
     * number.
     * @return 0, or a negative errno; then @p why names the missing part and the remedy.
     */
    int (*probe)(const struct target *target, struct error *why);
    /** Acquires the needed resources. @p set is NULL for methods that count without examining
     * pages. On success pass *state to close. */
    int (*open)(const struct target *target, struct page_set *set, void **state,
                struct error *error);
    /** Begins the window: clears the marks that a touch will set. */
    int (*mark)(void *state, struct error *error);
    struct method_wake wake;
    /** Ends the period without beginning the next; may be NULL. A method needs it if its collect
     * also marks: marking one set clears data of another one that shares its huge pages and is not
     * read yet, so all sets are stopped before the first one is collected. */
    int (*stop)(void *state, struct error *error);
    /** Counts the pages touched since mark. It may be called again: touches add up. */
    int (*collect)(void *state, struct tally *tally, struct error *error);
    /**
     * Begins the next period: marks again the pages that were touched, and those that could not be
     * measured; pages that stayed idle stay marked, and absent ones absent. A page that is
     * PAGE_TOUCHED afterwards was touched during marking, and counts for the new period. NULL: the
     * method cannot follow a panel over time.
     */
    int (*rearm)(void *state, struct error *error);
    struct method_many many; /* collect and rearm */
    /** Returns the CPU time in ns of kernel threads that worked only for this measurement, which
     * getrusage() does not show; may be NULL. It ends the measurement: only close may follow. */
    uint64_t (*kernel_thread_ns)(void *state);
    /** Restores everything that mark changed, and frees the state. The method's file names the
     * changes that the kernel undoes when the process is killed. */
    void (*close)(void *state);
    enum method_signal signal;
    bool needs_pages; /* works on a page_set */
    /* a touch may show at any watched page within the same aligned range of this size, so only one
     * page in each may be watched; 0: each page shows only its own touches */
    uint64_t reach_bytes;
    bool panel_by_default;         /* a census disturbs the guest, and is made only on request */
    uint8_t rank[N_METHOD_ORDERS]; /* its place in each order, from 1; 0: only by name */
    bool tells_damon; /* its tally accounts for pages whose bits DAMON took, or has DOUBT_DAMON */
    bool sees_qemu;   /* also sees QEMU's own touches: for the guest's devices, and for a dump */
    /* The base page sizes with which its numbers were verified against exact truth
     * (tests/lab/arm64/large_pages.sh), or-ed; 0: 4 KiB. With other sizes the method is refused. */
    uint64_t verified_page_sizes;
    size_t max_windows; /* number of windows that one run can answer; 0: any number */
    bool sees_unmapped; /* pages of a shared file that QEMU does not map count as present, too */
};

/** Returns true if the method sees writes only. */
static inline bool method_sees_writes(const struct method *method)
{
    return method->signal == SIGNAL_WRITES;
}

extern const struct method method_idle;
extern const struct method method_damon;
extern const struct method method_mglru;
extern const struct method method_zap;
extern const struct method method_pageout;
extern const struct method method_zap_all;
extern const struct method method_referenced;
extern const struct method method_cold;
extern const struct method method_soft_dirty;

/** All methods, NULL-terminated, in the order in which doctor shows them. */
extern const struct method *const methods[];

/** The method at @p place (from 0) of an order; NULL after the last. */
const struct method *method_at(enum method_order order, size_t place);

/** Writes "idle, damon, zap" into the caller's buffer and returns it; with @p follow only methods
 * that can follow a panel of touched pages over time. */
char *method_names(char *text, size_t size, bool follow);

/** NULL if there is no method of that name. */
const struct method *method_by_name(const char *name);

/** If KSM has merged more than a twentieth of a KVM guest's pages, methods that can measure merged
 * pages come first. */
#define MUCH_MERGED 20

/**
 * Returns true if the host itself takes accessed bits of the guest's memory all the time (MGLRU or,
 * under KVM, a module that uses DAMON), or if KSM has merged much of a KVM guest, which idle then
 * cannot measure. Methods that use no accessed bits then come first. DAMON and KSM do not count
 * under TCG: there is no zap, and DAMON does not affect cold.
 */
bool method_bits_are_taken(const struct target *target);

/**
 * Checks that the method can work on this host, independent of a guest. It also checks the base
 * page size, because `doctor` must not promise a method that a measurement would refuse.
 * @return 0, or a negative errno with the reason and the remedy
 */
int method_host(const struct method *method, const struct fsroot *root, struct error *why);

/** Why a method was chosen or not. */
struct method_verdict {
    const struct method *method;
    int rc; /* 0: the method can see the guest */
    struct error why;
};

/** The requirements of a measurement on its method. */
struct method_needs {
    /* a method that vmwssd, which follows this guest, has already proven on it, so that it is not
     * probed again; may be NULL */
    const struct method *proven;
    bool census;        /* must be able to examine every page */
    bool panel;         /* must be able to examine chosen pages */
    bool pages;         /* must tell which pages were touched */
    bool follow;        /* must be able to follow a panel over time */
    bool writes;        /* must see writes, and nothing else */
    bool beside_writes; /* must leave the bits that show writes (write_watch.h) alone */
    bool by_vcpus;      /* must count touches by the guest's vCPUs only */
    size_t windows;     /* number of windows that one run must answer; 0: one */
};

/** Checks that the method can see this guest and meets the needs. 0, or a negative errno with the
 * reason. */
int method_try(const struct method *method, const struct target *target,
               const struct method_needs *needs, struct error *why);

/**
 * The first method that proves itself on this guest, in the order that fits the guest: ORDER_KVM or
 * ORDER_TCG, or the order for ageing if the host takes accessed bits; ORDER_WRITES for writes.
 * @return NULL if no method can see the guest; @p error then names each method and its reason.
 */
const struct method *method_auto(const struct target *target, const struct method_needs *needs,
                                 struct error *error);

/** Makes the same choice from existing verdicts (of any methods, in any order). */
const struct method *method_choose(const struct target *target,
                                   const struct method_verdict *verdicts, size_t n);

#define METHODS_MAX 10
