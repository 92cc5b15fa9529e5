// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file qemu_config_text.h  The text of a file for QEMU's option -readconfig.
 *
 * Source: QEMU 7.2 to 11.1 util/qemu-config.c, qemu_config_foreach(): sections "[GROUP]" or "[GROUP
 * "ID"]", lines 'key = "value"', comments with '#'. A file that QEMU would refuse is refused,
 * because QEMU cannot have read it.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>

#define QEMU_CONFIG_MAX_BYTES (1UL << 20)

/** Called for each section, in the form of an option's argument: "key=value,...,id=ID". Nonzero
 * ends the walk. */
typedef int (*qemu_section_visitor)(const char *group, const char *argument, void *context,
                                    struct error *error);

/** Visits each section. 0; what @p visit returned; -EINVAL, with the number of the line but not its
 * text: the file may be anything. */
int qemu_config_text_walk(const char *text, size_t length, qemu_section_visitor visit,
                          void *context, struct error *error);
