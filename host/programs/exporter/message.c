// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/exporter/message.h"

#include "base/command.h"

void message_outcome(int *failing, int rc, const struct error *error)
{
    if (rc < 0 && rc != *failing)
        command_error("%s", error->text);
    if (rc == 0 && *failing)
        command_error("it works again");
    *failing = rc;
}
