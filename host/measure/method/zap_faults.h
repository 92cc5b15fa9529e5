// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file zap_faults.h  Method `zap`: which pages of a set a fault touches. */
#pragma once

#include "measure/method/zap_state.h"

/** Notes a fault at @p gpa: for fault_trace_drain(), with a struct zap as @p context. */
void zap_see_fault(uint64_t gpa, void *context);
