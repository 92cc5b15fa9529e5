// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file port.h  In the lab: asks the oracle outside (serve.h) over a virtio port. */
#pragma once

#include "answer.h"

/** Opens the port; waits while another process has it, for it can be opened once only. The
 * descriptor, or a negative errno. */
int oracle_port_open(const char *path, struct error *error);

/** Has the oracle note what is touched from now on; the lab is slower then. Answers once it does.
 */
int oracle_port_begin(int port, struct error *error);

/** One moment by both clocks: the lab has a clock of its own. */
struct oracle_moment {
    uint64_t lab_ns, outside_ns; /* CLOCK_REALTIME of each */
    uint64_t error_ns;           /* at most so much apart: half of how long the answer took */
};

/** Asks for the time, several times; the quickest answer counts. */
int oracle_port_moment(int port, struct oracle_moment *out, struct error *error);

/** Asks what was touched of these frames in a window, of which the four times are set, by the clock
 * outside; *out is the caller's. */
int oracle_port_count(int port, const struct oracle_window *window,
                      const struct oracle_frames *frames, json_t **out, struct error *error);
