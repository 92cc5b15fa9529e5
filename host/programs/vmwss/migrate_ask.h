// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file migrate_ask.h  Asks libvirt, or QEMU itself, what is set for a guest's next migration. */
#pragma once

#include "decide/migrate/settings.h"
#include "guest/domain/domain.h"

/** Sets what is known; a guest without an answer is no error. @p uri: libvirt's, if the guest was
 * found there. */
void migrate_ask(const struct fsroot *root, const struct guest *guest, const char *uri,
                 struct migrate_settings *settings);
