// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_monitor.h"

#include "base/array.h"

#include <string.h>

/* The places where each syntax has the members of a socket. */
struct spelling {
    const char *kind, *path, *fd, *abstract, *server;
    bool server_by_default;
};

static const struct spelling plain = {"backend", "path", "fd", "abstract", "server", false};
static const struct spelling qapi = {"backend.type",
                                     "backend.data.addr.data.path",
                                     "backend.data.addr.data.str",
                                     "backend.data.addr.data.abstract",
                                     "backend.data.server",
                                     true};

static bool has(const struct qemu_option *option, const char *key)
{
    char value[8];

    return qemu_option_get(option, NULL, key, value, sizeof(value)) != 0;
}

/* Sets the path of @p chardev, or the reason why it has none. */
static void read_socket(struct qemu_chardev *chardev, const struct qemu_option *option,
                        const char *implied, const struct spelling *in)
{
    int rc = qemu_option_get(option, implied, in->path, chardev->path, sizeof(chardev->path));

    chardev->unreachable = NULL;
    if (rc < 0)
        chardev->unreachable = "its path is too long";
    else if (rc == 0 || !chardev->path[0])
        chardev->unreachable = has(option, in->fd) ? "it was passed as a descriptor"
                                                   : "it is no UNIX socket";
    else if (qemu_option_is_on(option, in->abstract))
        chardev->unreachable = "it is an abstract one";
    else if (has(option, in->server) ? !qemu_option_is_on(option, in->server)
                                     : !in->server_by_default)
        chardev->unreachable = "QEMU is its client";
}

void qemu_monitors_add_chardev(struct qemu_monitors *monitors, const struct qemu_option *option)
{
    struct qemu_chardev *chardev = &monitors->chardevs[monitors->n_chardevs];
    const struct spelling *in = has(option, qapi.kind) ? &qapi : &plain;
    char kind[16];

    if (monitors->n_chardevs == COUNT(monitors->chardevs) ||
        qemu_option_get(option, NULL, "id", chardev->id, sizeof(chardev->id)) != 1 ||
        qemu_option_get(option, in->kind, in->kind, kind, sizeof(kind)) == 0)
        return;
    if (strcmp(kind, "socket") == 0)
        read_socket(chardev, option, in->kind, in);
    else
        chardev->unreachable = "it is no UNIX socket";
    monitors->n_chardevs++;
}

static void add_used(struct qemu_monitors *monitors, const struct qemu_option *option)
{
    char *id = monitors->used[monitors->n_used];

    if (monitors->n_used < COUNT(monitors->used) &&
        qemu_option_get(option, "chardev", "chardev", id, QEMU_MONITOR_ID) == 1)
        monitors->n_used++;
}

void qemu_monitors_add_mon(struct qemu_monitors *monitors, const struct qemu_option *option)
{
    char mode[16];

    if (qemu_option_get(option, NULL, "mode", mode, sizeof(mode)) == 1 &&
        strcmp(mode, "control") == 0)
        add_used(monitors, option);
}

void qemu_monitors_add_object(struct qemu_monitors *monitors, const struct qemu_option *option)
{
    add_used(monitors, option);
}

/* Adds "unix:PATH,server=on,wait=off", or a chardev that is defined elsewhere. */
void qemu_monitors_add_qmp(struct qemu_monitors *monitors, const struct qemu_option *option)
{
    const char *argument = option->text;
    const struct qemu_option address = {.text = argument + 5};
    struct qemu_chardev *own = &monitors->own;

    if (strncmp(argument, "chardev:", 8) == 0) {
        add_used(monitors, &(struct qemu_option){.text = argument + 8});
        return;
    }
    if (own->path[0] && !own->unreachable)
        return;
    if (strncmp(argument, "unix:", 5) == 0)
        read_socket(own, &address, plain.path, &plain);
    else
        own->unreachable = "it is no UNIX socket";
}

static const struct qemu_chardev *find_chardev(const struct qemu_monitors *monitors, const char *id)
{
    for (size_t i = 0; i < monitors->n_chardevs; i++)
        if (strcmp(monitors->chardevs[i].id, id) == 0)
            return &monitors->chardevs[i];
    return NULL;
}

const struct qemu_chardev *qemu_monitors_find(const struct qemu_monitors *monitors)
{
    const struct qemu_chardev *best = monitors->own.path[0] || monitors->own.unreachable
                                          ? &monitors->own
                                          : NULL;

    for (size_t i = 0; i < monitors->n_used && (!best || best->unreachable); i++) {
        const struct qemu_chardev *chardev = find_chardev(monitors, monitors->used[i]);

        if (chardev)
            best = chardev;
    }
    return best;
}
