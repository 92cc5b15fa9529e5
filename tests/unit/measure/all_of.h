// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file all_of.h  Memory that is resident, and all of which is drawn from. */
#pragma once

#include "measure/estimate/wss.h"

#define ALL_OF(bytes) (&(struct wss_memory){.resident_bytes = (bytes), .population_bytes = (bytes)})
