// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file hostile_names.h  Names of guests and hosts that a page of HTML must not obey. */
#pragma once

#include "base/array.h"

#include <stddef.h>

/** One of them, in turn. */
static inline const char *hostile_name(size_t n)
{
    static const char *const hostile[] = {
        "</script><img src=x onerror=alert(1)>",
        "\"'><svg/onload=alert(2)>",
        "exe.\xe2\x80\xaegpj",
        "<!--",
        "a\x01\x1b[31mb\xff\xc3",
        "]]>&lt;&amp;",
        "${7*7}{{constructor}}",
        "\xe5\xae\xa2 \xd9\x85",
    };

    return hostile[n % COUNT(hostile)];
}
