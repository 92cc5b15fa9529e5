// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file wss_element.h  A sample record as one flat XML element, as published in a domain's
 * metadata.
 *
 *   <wss at="2026-01-02T03:04:05.678Z" host="host1" method="idle" precision="0.0219"
 *        windows="1m 10m 1h"
 *        wss-1m="67239936" low-1m="65011712" high-1m="69337088" ... ram="1073741824"
 *        resident="536870912" reclaimable="402653184" flags="thp,partial"/>
 *
 * Sizes are in bytes, "at" is UTC. The attributes are described in vmwssd.conf(5).
 */
#pragma once

#include "measure/record/sample_record.h"

/** Writes the name of a window for attributes, in the largest unit that divides it: "90s", "1m",
 * "10m", "1h", "2d". */
char *wss_element_window(char *text, size_t size, double window_s);

/**
 * @param precision  half the width of the widest 95 % interval, as a share of resident memory
 * @return malloc'ed, the caller frees; NULL: out of memory
 */
char *wss_element_text(const struct sample_record *record, double precision);
