// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file host_fix.h  Settings of this host that keep methods from working or disturb them, and that
 * can be changed safely and restored.
 *
 * Theory of operation. Before a change, a line with the fix's name and the earlier value is added
 * to run/vmwss/doctor.fixes, so what was changed is known also after kill -9. host_fix_undo()
 * restores what these lines name, the last one first, unless it was changed by others since: a
 * setting must still have the value that was written, and a mount the source HOST_FIX_SOURCE. Both
 * the file and the changes end with a reboot.
 */
#pragma once

#include "base/error.h"
#include "base/fsroot.h"

#include <stddef.h>

#define HOST_FIX_SOURCE "vmwss-doctor"
#define HOST_FIX_MAX 8

enum host_fix_state {
    HOST_FIX_NEEDED,  /* host_fix_apply() does it */
    HOST_FIX_BY_HAND, /* it changes how guests run, or who may do what: only printed */
    HOST_FIX_APPLIED, /* by host_fix_apply(), and not changed since */
    HOST_FIX_UNDONE,
    HOST_FIX_LEFT, /* others have changed it since */
    HOST_FIX_FAILED,
};

struct host_fix_line {
    const char *what;
    const char *command; /* for a shell of root; after an undo it is that of the fix */
    const char *purpose;
    enum host_fix_state state;
    struct error error; /* HOST_FIX_FAILED */
};

/** The calls that need the kernel; NULL: mount(2) and umount2(2). */
struct host_fix_calls {
    int (*mount)(const struct fsroot *root, const char *type, const char *path);
    int (*unmount)(const struct fsroot *root, const char *path);
};

/** Lists what may be changed on this host, and what was changed; returns the number of lines. */
size_t host_fix_list(const struct fsroot *root, struct host_fix_line lines[HOST_FIX_MAX]);

/** Makes the changes of state HOST_FIX_NEEDED. Returns 0, or the first error, which is in its line,
 * too; -EBUSY: another process makes or restores changes. */
int host_fix_apply(const struct fsroot *root, const struct host_fix_calls *calls,
                   struct host_fix_line lines[HOST_FIX_MAX], size_t *n, struct error *error);

/** Restores what was changed; as host_fix_apply(). The lines are of the changes only. */
int host_fix_undo(const struct fsroot *root, const struct host_fix_calls *calls,
                  struct host_fix_line lines[HOST_FIX_MAX], size_t *n, struct error *error);
