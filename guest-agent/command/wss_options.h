// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file wss_options.h  The command line of vmwss-guest wss. */
#pragma once

#include "command/wss_output.h"
#include "wss/plan.h"

#define WSS_PIDS_MAX 256

struct wss_options {
    struct plan plan;
    struct wss_output output;
    const char *method;
    bool all;
    pid_t pid[WSS_PIDS_MAX];
    size_t n_pids;
};

/** As options_read(). */
int wss_options_read(struct wss_options *options, int argc, char **argv);
