// SPDX-License-Identifier: LGPL-2.1-or-later
#include "wss/method.h"

#include <errno.h>
#include <string.h>

static const struct wss_method *const methods[] = {&wss_page_idle, &wss_clear_refs};

const struct wss_method *wss_method_find(const struct fsroot *root, const char *name,
                                         struct error *why)
{
    bool automatic = !strcmp(name, "auto");

    for (size_t i = 0; i < COUNT(methods); i++) {
        if (!automatic && strcmp(methods[i]->name, name) != 0)
            continue;
        if (methods[i]->check(root, why) == 0)
            return methods[i];
        if (!automatic)
            return NULL;
    }
    if (!automatic)
        error_set(why, -EINVAL, "'%s' is no method; there are page_idle and clear_refs", name);
    return NULL;
}
