// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file sampling.h  The options of measure, profile, grow, ages, map and trace that configure the
 * sampling of a guest: options_read() → sampling_check() → sampling_run().
 */
#pragma once

#include "measure/session/session.h"
#include "programs/vmwss/cli.h"

/* The options; the command's struct begins with its struct sampling_choice. Commands describe some
 * of them differently. */
#define SAMPLING_AT(member) offsetof(struct sampling_choice, member)
#define SAMPLING_GUEST OPTION_PID(SAMPLING_AT(guest)), OPTION_CONNECT(SAMPLING_AT(guest))
#define SAMPLING_WINDOWS(text)                                                               \
    {                                                                                        \
        OPTION_CALL, 'w', "window", "S,...", 0, .help = (text), .call = sampling_set_windows \
    }
/* In the text, @names@ is replaced by the names of all methods, or of those that can follow a
 * panel. */
#define SAMPLING_METHOD(text, which)                                          \
    {                                                                         \
        OPTION_CALL, 'm', "method", "NAME", .help = (text), .names = (which), \
                                            .call = sampling_set_method       \
    }
#define SAMPLING_CENSUS(text)                                               \
    {                                                                       \
        OPTION_FLAG, 0, "census", NULL, SAMPLING_AT(census), .help = (text) \
    }
#define SAMPLING_SAMPLES(text)                                              \
    {                                                                       \
        OPTION_COUNT, 'n', "samples", "N", SAMPLING_AT(samples),            \
            .help = (text), 1, 10000000, "a number of pages, 1 to 10000000" \
    }
#define SAMPLING_PRECISION(text)                                      \
    {                                                                 \
        OPTION_SHARE, 'P', "precision", "P%", SAMPLING_AT(precision), \
            .help = (text), 1000, 500000, "a percentage, 0.1% to 50%" \
    }
#define SAMPLING_WITNESS(text)                                                          \
    {                                                                                   \
        OPTION_CALL, 0, "witness", "N", 0, .help = (text), .call = sampling_set_witness \
    }
#define SAMPLING_SVG(text)                                              \
    {                                                                   \
        OPTION_TEXT, 0, "svg", "FILE", SAMPLING_AT(svg), .help = (text) \
    }
#define SAMPLING_WAIT(text)                                                 \
    {                                                                       \
        OPTION_SECONDS, 0, "wait", "S", SAMPLING_AT(wait_s), .help = (text) \
    }
#define SAMPLING_JSON(text)                                               \
    {                                                                     \
        OPTION_FLAG, 'j', "json", NULL, SAMPLING_AT(json), .help = (text) \
    }

int sampling_set_windows(void *choice, const char *value);
int sampling_set_method(void *choice, const char *value);
int sampling_set_witness(void *choice, const char *value);
char *sampling_names(char *text, size_t size);
char *sampling_names_following(char *text, size_t size);

/** Takes DOMAIN from the arguments that getopt left, and checks that the options are compatible.
 * Returns 0; -EINVAL after printing. */
int sampling_check(struct sampling_choice *choice, int argc, char **argv);

/** Checks that all windows fit into --interval (0: not given), and without --wait sets the time
 * that remains: two programs that take turns at the same guest must find its gaps. Returns 0;
 * -EINVAL after printing. */
int sampling_check_interval(struct sampling_choice *choice, double interval_s);

/** Checks what --writes excludes, if it was given. Returns 0; -EINVAL after printing. */
int sampling_check_writes(const struct sampling_choice *choice);

/** Checks that the method shows which pages were touched. Returns 0; -ENOTSUP with the message. */
int sampling_needs_pages(const struct session *session, struct error *error);

/**
 * Calls session_run() after checking that the requested picture can be written.
 * @return the exit
 * code for main()
 */
int sampling_run(const struct sampling_choice *choice,
                 int (*work)(struct session *session, const void *options, struct error *error),
                 const void *options);
