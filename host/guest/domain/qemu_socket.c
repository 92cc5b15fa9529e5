// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guest/domain/qemu_socket.h"

#include "base/cleanup.h"
#include "guest/domain/qemu_option.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ID 256

#define cleanup_option __attribute__((cleanup(qemu_option_close)))

/* The argument after @p at; NULL: no more. All end with a NUL. */
static const char *next(const char *at, const char *end)
{
    at += strlen(at) + 1;
    return at < end ? at : NULL;
}

static bool is_option(const char *argument, const char *name)
{
    return argument[0] == '-' && strcmp(argument + (argument[1] == '-' ? 2 : 1), name) == 0;
}

/* Returns true if some text in the value, at any depth, is @p path. */
static bool json_names(const json_t *value, const char *path)
{
    void *at;
    size_t i;
    json_t *each;

    if (json_is_string(value))
        return strcmp(json_string_value(value), path) == 0;
    json_array_foreach(value, i, each) if (json_names(each, path)) return true;
    for (at = json_object_iter((json_t *)value); at;
         at = json_object_iter_next((json_t *)value, at))
        if (json_names(json_object_iter_value(at), path))
            return true;
    return false;
}

/* Returns true if @p text continues with @p path, in which a comma is doubled, and ends there or
 * with the item. */
static bool goes_on_with(const char *text, const char *path)
{
    for (; *path; path++, text++) {
        if (*text != *path)
            return false;
        if (*path == ',' && *++text != ',')
            return false;
    }
    return *text == '\0' || (text[0] == ',' && text[1] != ',');
}

/* Finds the path as the whole text, as a value ("path=PATH"), or as an address ("unix:PATH"). */
static bool text_names(const char *text, const char *path)
{
    for (const char *at = text; *at; at++)
        if ((at == text || strchr("=:,", at[-1])) && goes_on_with(at, path))
            return true;
    return false;
}

/* Text that begins like JSON but is not JSON is not an option of QEMU's. */
static bool names(const char *argument, const char *path)
{
    cleanup_option struct qemu_option option = {0};

    if (argument[0] == '{' && qemu_option_open(&option, argument) == 0)
        return json_names(option.json, path);
    return text_names(argument, path);
}

/* Reads the id of a chardev that is not multiplexed: QEMU refuses a second user of it, such as a
 * monitor. */
static bool read_chardev(const char *argument, char id[MAX_ID])
{
    cleanup_option struct qemu_option option = {0};

    return qemu_option_open(&option, argument) == 0 && !qemu_option_is_on(&option, "mux") &&
           qemu_option_get(&option, NULL, "id", id, MAX_ID) == 1;
}

static bool is_port(const char *argument, const char *chardev, const char *port)
{
    cleanup_option struct qemu_option option = {0};
    char value[MAX_ID];

    return qemu_option_open(&option, argument) == 0 &&
           qemu_option_get(&option, "driver", "driver", value, sizeof(value)) == 1 &&
           strcmp(value, "virtserialport") == 0 &&
           qemu_option_get(&option, NULL, "name", value, sizeof(value)) == 1 &&
           strcmp(value, port) == 0 &&
           qemu_option_get(&option, NULL, "chardev", value, sizeof(value)) == 1 &&
           strcmp(value, chardev) == 0;
}

static bool has_port(const char *cmdline, const char *end, const char *chardev, const char *port)
{
    for (const char *at = cmdline, *argument; (argument = next(at, end)); at = argument)
        if (is_option(at, "device") && is_port(argument, chardev, port))
            return true;
    return false;
}

struct uses {
    unsigned n;      /* number of arguments that name the path */
    bool by_chardev; /* the last of them defines a chardev */
    bool elsewhere;  /* a file has further options */
    char chardev[MAX_ID];
};

static void find_uses(const char *cmdline, const char *end, const char *path, struct uses *uses)
{
    for (const char *at = cmdline, *argument; (argument = next(at, end)); at = argument) {
        uses->elsewhere |= is_option(at, "readconfig");
        if (!names(argument, path))
            continue;
        uses->n++;
        uses->by_chardev = is_option(at, "chardev") && read_chardev(argument, uses->chardev);
    }
}

bool qemu_socket_may_be_port(const char *cmdline, size_t length, const char *path, const char *port)
{
    cleanup_free char *copy = malloc(length + 1); /* makes sure that it ends with a NUL */
    struct uses uses = {0};

    if (!copy)
        return false;
    memcpy(copy, cmdline, length);
    copy[length] = '\0';

    const char *end = copy + length;

    find_uses(copy, end, path, &uses);
    if (uses.n == 0)
        return !uses.elsewhere;
    return uses.n == 1 && uses.by_chardev && has_port(copy, end, uses.chardev, port);
}
