// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/sources/source.h"

#include "programs/vmwssd/config/config.h"
#include "programs/vmwssd/sources/connection.h"
#include "programs/vmwssd/sources/processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* If only processes are followed, libvirt is not needed, and perhaps not installed. */
static int start_connection(struct source *source, unsigned number, const struct fsroot *root,
                            struct fleet *fleet, struct error *error)
{
    static bool events;
    int rc = events ? 0 : connections_init(error);

    if (rc < 0)
        return rc;
    events = true;
    source->connection = connection_start(number, source->uri, root, fleet);
    return source->connection ? 0 : -ENOMEM;
}

int source_start(struct source *source, unsigned number, const char *uri, const struct fsroot *root,
                 struct fleet *fleet, struct error *error)
{
    int rc = 0;

    *source = (struct source){0};
    snprintf(source->uri, sizeof(source->uri), "%s", uri);
    if (strcmp(uri, CONFIG_PROCESSES) != 0)
        rc = start_connection(source, number, root, fleet, error);
    else if (!(source->processes = processes_start(number, root, fleet)))
        rc = -ENOMEM;
    return rc == -ENOMEM ? error_set(error, rc, "%s: no thread for it", uri) : rc;
}

void source_use(const struct source *source, bool wanted)
{
    if (source->connection)
        connection_use(source->connection, wanted);
    else
        processes_use(source->processes, wanted);
}

bool source_up(const struct source *source)
{
    return !source->connection || connection_up(source->connection);
}
