// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file plural.h  "1 guest", "2 guests". */
#pragma once

/** The suffix after the name of @p n things: "s", or "" for one. */
static inline const char *plural(double n)
{
    return n == 1 ? "" : "s";
}
