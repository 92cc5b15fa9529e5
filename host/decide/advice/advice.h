// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file advice.h  Advice on the memory size of one guest, and the backtest of its past. */
#pragma once

#include "decide/advice/backtest.h"
#include "decide/advice/from_history.h"

struct advice {
    struct history_guest guest;
    double time_s; /* time of the record used, Unix time */
    struct decide_windows windows;
    enum guest_stats_source source; /* source of the guest's statistics */
    struct decide_input input;
    struct decide_decision decision;
};

/** One guest's past, replayed. */
struct replayed {
    struct history_guest guest;
    double from_s, to_s; /* the span that was replayed, Unix time */
    struct decide_windows windows;
    double horizon_s;
    struct backtest_result result;
    struct decide_past past; /* the needs of the whole past, and the backtest's result */
};
