// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz.h  What every target has: its entry, and a claim that must hold. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Called by libFuzzer with each input; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A finding when it does not hold. */
#define CLAIM(truth)                                       \
    do {                                                   \
        if (!(truth)) {                                    \
            fprintf(stderr, "%s does not hold\n", #truth); \
            abort();                                       \
        }                                                  \
    } while (0)
