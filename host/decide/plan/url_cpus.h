// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file url_cpus.h  CPUs of guests, from a Prometheus HTTP API. */
#pragma once

#include "decide/plan/prom_query.h"
#include "decide/plan/roster.h"

/** Sets the CPUs of the roster's guests by reading->cpu_query; reader->see is not used. Errors as
 * prom_each() */
int url_cpus_read(struct roster *roster, const struct prom_reader *reader);
