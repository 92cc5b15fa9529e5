// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/cache/resctrl_text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Event bits for reads of local and remote memory, and of slow memory of both kinds: "Memory
 * bandwidth events", resctrl.rst. */
#define READ_EVENTS 0x33

/* Parses a number without sign or blank at *at, and moves *at behind it. */
static int take_number(const char **at, int base, uint64_t *value)
{
    char *end;

    if (**at < '0' || **at > '9')
        return -EBADMSG;
    errno = 0;
    *value = strtoull(*at, &end, base);
    if (errno || *value == CACHE_UNKNOWN)
        return -EBADMSG;
    *at = end;
    return 0;
}

int resctrl_parse_counter(const char *text, uint64_t *value)
{
    uint64_t number;

    if (strcmp(text, "Unavailable") == 0 || strcmp(text, "Unassigned") == 0)
        return -ENODATA;
    if (strcmp(text, "Error") == 0)
        return -EIO;
    if (take_number(&text, 10, &number) < 0 || *text)
        return -EBADMSG;
    *value = number;
    return 0;
}

/* --- a thread's groups ------------------------------------------------------------------------ */

/* Copies the rest of the line that begins with @p key. */
static int take_name(const char *text, const char *key, char *name)
{
    while (text && strncmp(text, key, strlen(key)) != 0) {
        text = strchr(text, '\n');
        if (text)
            text++;
    }
    if (!text)
        return -EBADMSG;
    text += strlen(key);

    size_t length = strcspn(text, "\n");

    if (length >= RESCTRL_NAME_BYTES)
        return -EBADMSG;
    memcpy(name, text, length);
    name[length] = '\0';
    return 0;
}

static bool leads_out(const char *name)
{
    return strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int resctrl_parse_place(const char *text, struct resctrl_place *place)
{
    if (take_name(text, "res:", place->control) < 0 || take_name(text, "mon:", place->monitor) < 0)
        return -EBADMSG;
    if (!*place->control)
        return -ENODEV;
    if (strcmp(place->control, "/") == 0)
        *place->control = '\0';
    return leads_out(place->control) || leads_out(place->monitor) ? -EBADMSG : 0;
}

ssize_t resctrl_parse_tasks(const char *text, pid_t *tids, size_t max)
{
    size_t n = 0;

    while (*text) {
        uint64_t tid;

        if (take_number(&text, 10, &tid) < 0 || tid == 0 || tid > INT_MAX ||
            (*text && *text != '\n'))
            return -EBADMSG;
        if (n == max)
            return -E2BIG;
        tids[n++] = (pid_t)tid;
        text += *text == '\n';
    }
    return (ssize_t)n;
}

/* --- shares ----------------------------------------------------------------------------------- */

/* Returns the position behind "   NAME:" in its line; NULL if there is no such line. */
static const char *find_line(const char *text, const char *resource)
{
    const size_t length = strlen(resource);

    while (text) {
        text += strspn(text, " \t\n");
        if (strncmp(text, resource, length) == 0 && text[length] == ':')
            return text + length + 1;
        text = strchr(text, '\n');
    }
    return NULL;
}

/* Parses "ID=VALUE" at *at, and moves *at behind it and its ";". */
static int take_domain(const char **at, int base, uint64_t *id, uint64_t *value)
{
    int rc = take_number(at, 10, id);

    if (rc == 0 && (**at != '=' || *id > UINT_MAX))
        rc = -EBADMSG;
    if (rc == 0) {
        ++*at;
        rc = take_number(at, base, value);
    }
    if (rc == 0 && **at == ';')
        ++*at;
    else if (rc == 0 && **at && **at != '\n')
        rc = -EBADMSG;
    return rc;
}

int resctrl_parse_shares(const char *text, const char *resource, struct resctrl_shares *shares)
{
    const char *at = find_line(text, resource);

    shares->n = 0;
    if (!at)
        return -ENOENT;
    while (*at && *at != '\n') {
        uint64_t id, value;

        if (shares->n == CACHES_MAX || take_domain(&at, 10, &id, &value) < 0 ||
            resctrl_share(shares, (unsigned)id) != CACHE_UNKNOWN)
            return -EBADMSG;
        shares->domains[shares->n].id = (unsigned)id;
        shares->domains[shares->n++].value = value;
    }
    return 0;
}

uint64_t resctrl_share(const struct resctrl_shares *shares, unsigned id)
{
    for (size_t i = 0; i < shares->n; i++)
        if (shares->domains[i].id == id)
            return shares->domains[i].value;
    return CACHE_UNKNOWN;
}

bool resctrl_counts_all_reads(const char *config)
{
    bool any = false;

    while (*config && *config != '\n') {
        uint64_t id, events;

        if (take_domain(&config, 16, &id, &events) < 0 || (events & READ_EVENTS) != READ_EVENTS)
            return false;
        any = true;
    }
    return any;
}

static bool list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, length) == 0 && (!list[length] || strchr(",\n", list[length])))
            return true;
    }
    return false;
}

bool resctrl_filter_has_reads(const char *filter)
{
    return list_has(filter, "local_reads") && list_has(filter, "remote_reads") &&
           list_has(filter, "local_reads_slow_memory") &&
           list_has(filter, "remote_reads_slow_memory");
}
