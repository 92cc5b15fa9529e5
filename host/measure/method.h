// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file method.h  A method of sampling: one file, one table of operations.
 *
 * Life of a measurement: probe → open → mark → (wait) → collect, once per window → close.
 * Touches add up: collect reports what was touched since mark, so one run answers several windows.
 */
#pragma once

#include "base/error.h"
#include "guest/ram/target.h"
#include "measure/page_merge.h"
#include "measure/page_set.h"
#include "measure/tally.h"

/** How a method detects a touch, and so what can disturb it. */
enum method_signal {
    SIGNAL_MMU,         /* faults and mappings: it does not matter who clears accessed bits */
    SIGNAL_IDLE_FLAG,   /* accessed bits, and the idle flag, which classic reclaim clears when it
                           takes a bit, but MGLRU   does not */
    SIGNAL_REFERENCED,  /* accessed bits, and PG_referenced: any reclaim takes them */
    SIGNAL_GENERATIONS, /* accessed bits, as MGLRU itself takes them: the method sees what others'
                           ageing did */
};

/** The choices that a program makes among methods: most exact and least disturbing first. Where
 * MGLRU ages the guest's memory, the host takes accessed bits, so what does not need them comes
 * first; but not zap-all, which disturbs. */
enum method_order {
    ORDER_KVM,
    ORDER_KVM_AGEING,
    ORDER_TCG,
    ORDER_TCG_AGEING,
    ORDER_DAEMON, /* guests of both kinds, cheapest first; not damon: there is one for the whole
                     host */
    ORDER_DAEMON_AGEING,
    N_METHOD_ORDERS,
};

struct method {
    const char *name;
    const char *summary; /* one line, for doctor and the help */
    bool census;         /* can look at every page */
    bool panel;          /* can look at chosen pages */
    /**
     * Does this host have what the method needs, whatever the guest? For method_host().
     * @return 0, or a negative errno; then @p why says what is missing and the remedy.
     */
    int (*host)(const struct fsroot *root, struct error *why);
    /**
     * Can this method see this guest? Proven by trying on this very process, not by a version
     * number.
     * @return 0, or a negative errno; then @p why says what is missing and the remedy.
     */
    int (*probe)(const struct target *target, struct error *why);
    /** Acquires what is needed. @p set is NULL for methods that count without looking at pages. On
     *  success *state must be given to close. */
    int (*open)(const struct target *target, struct page_set *set, void **state,
                struct error *error);
    /** Begins the window: clears what a touch will set. */
    int (*mark)(void *state, struct error *error);
    /** NULL, or fetches what the kernel keeps only in a small buffer; to be called between mark and
     * collect whenever wake_fd is readable. */
    int (*poll)(void *state, struct error *error);
    /** NULL if poll is. A descriptor for poll(2), the same from open to close, which closes it. */
    int (*wake_fd)(void *state);
    /** NULL, or ends the period without beginning the next. For a method whose collect marks at
     * once: that clears what another set with pages of the same huge pages has yet to read, so all
     * sets are stopped before one is collected. */
    int (*stop)(void *state, struct error *error);
    /** Counts what was touched since mark. May be called again: touches add up. */
    int (*collect)(void *state, struct tally *tally, struct error *error);
    /** NULL, or collect of @p n states of one target at once, which costs less than one after the
     * other. @p merge: of their sets, in the same order. */
    int (*collect_many)(void *const *states, size_t n, const struct page_merge *merge,
                        struct tally *tallies, struct error *error);
    /**
     * Begins the next period: marks again the pages that were touched, and those that could not be
     * measured; pages that stayed idle stay marked, and absent ones absent. A page that is
     * PAGE_TOUCHED afterwards was touched while it was marked, and counts for the new period. NULL:
     * cannot follow a panel over time.
     */
    int (*rearm)(void *state, struct error *error);
    /** NULL, or likewise of several states, as collect_many. */
    int (*rearm_many)(void *const *states, size_t n, const struct page_merge *merge,
                      struct error *error);
    /** NULL, or: CPU time in ns that kernel threads spent on this measurement alone, which
     * getrusage() does not show. Ends it: only close may follow. */
    uint64_t (*kernel_thread_ns)(void *state);
    /** Restores everything that mark changed, and frees. What it relies on the kernel to undo when
     * the process is killed stands in the method's file. */
    void (*close)(void *state);
    enum method_signal signal;
    bool needs_pages;     /* works on a page_set */
    uint64_t reach_bytes; /* a touch may show at any page that is watched in the same aligned reach,
                             so there may be one; 0: each page shows its own */
    bool panel_by_default; /* a census, though possible, disturbs the guest: only when asked for */
    uint8_t rank[N_METHOD_ORDERS]; /* its place in each order, from 1; 0: only by name */
    bool tells_damon; /* which pages DAMON took bits of is in its tally, or DOUBT_DAMON */
    bool
        sees_qemu; /* what QEMU itself touches, too: for the guest's devices, and also for a dump */
    /* The base pages of which its numbers were held against the truth
     * (tests/lab/arm64/large_pages.sh), or-ed; 0: 4 KiB. With others it is refused. */
    uint64_t verified_page_sizes;
    size_t max_windows; /* so many one run can answer; 0: any number */
    bool sees_unmapped; /* also pages of a shared file that QEMU does not map count as present */
};

extern const struct method method_idle;
extern const struct method method_damon;
extern const struct method method_mglru;
extern const struct method method_zap;
extern const struct method method_pageout;
extern const struct method method_zap_all;
extern const struct method method_referenced;
extern const struct method method_cold;

/** All methods, NULL-terminated, in the order in which doctor shows them. */
extern const struct method *const methods[];

/** The method at a place, from 0, of an order; NULL behind the last. */
const struct method *method_at(enum method_order order, size_t place);

/** "idle, damon, zap"; with @p follow only those that can follow a panel over time. Writes into the
 * caller's buffer and returns it. */
char *method_names(char *text, size_t size, bool follow);

/** NULL when there is no method of that name. */
const struct method *method_by_name(const char *name);

/** Where KSM has merged more than one in so many of a KVM guest's pages, methods to which merged
 * pages are no different come first. */
#define MUCH_MERGED 20

/**
 * Does the host itself take accessed bits of the guest's memory all the time: MGLRU, or under KVM a
 * module that uses DAMON? Or has KSM merged much of a KVM guest, which idle cannot measure then?
 * Then methods that use no such bits come first. Under TCG there is no zap, and cold does not mind
 * DAMON.
 */
bool method_bits_are_taken(const struct target *target);

/**
 * Can the method work on this host, whatever the guest? For `doctor`, which must promise nothing
 * that measuring then refuses: base pages of a size that cannot be measured come first.
 * @return 0, or a negative errno with the reason and the remedy
 */
int method_host(const struct method *method, const struct fsroot *root, struct error *why);

/** Why one method was taken, or not, in the search for the right one. */
struct method_verdict {
    const struct method *method;
    int rc; /* 0: it can see the guest */
    struct error why;
};

/** What a measurement needs of its method. */
struct method_needs {
    const struct method
        *proven; /* on this very guest, by vmwssd, which follows it: not to be tried; may be NULL */
    bool census; /* can look at every page */
    bool panel;  /* can look at chosen pages */
    bool follow; /* can follow a panel over time */
    bool by_vcpus;  /* counts what the guest's vCPUs touch, and nothing that others do */
    size_t windows; /* can answer so many by one run; 0: one */
};

/** Can the method see this guest, and do what is needed? 0, or a negative errno with the reason. */
int method_try(const struct method *method, const struct target *target,
               const struct method_needs *needs, struct error *why);

/**
 * The first method that proved itself on this guest, in the order that fits it: ORDER_KVM or
 * ORDER_TCG, or the one for ageing where the host takes accessed bits.
 * @return NULL when none can; @p error then names each and its reason.
 */
const struct method *method_auto(const struct target *target, const struct method_needs *needs,
                                 struct error *error);

/** The same choice from verdicts that are there already (of any methods, in any order). */
const struct method *method_choose(const struct target *target,
                                   const struct method_verdict *verdicts, size_t n);

#define METHODS_MAX 9
