// SPDX-License-Identifier: LGPL-2.1-or-later
#include "command/triggers.h"

#include "command/command.h"

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

int triggers_add(void *at, const char *value)
{
    struct triggers *triggers = at;

    if (triggers->n == TRIGGERS_MAX)
        return command_bad_value("--trigger", value, "at most " TEXT(TRIGGERS_MAX) " triggers");
    if (stall_trigger_parse(value, &triggers->trigger[triggers->n]) < 0)
        return command_bad_value("--trigger", value, STALL_TRIGGER_EXPECTED);
    triggers->n++;
    return 0;
}
