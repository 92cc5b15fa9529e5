// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_curve_file.c  A write curve from a file, and the forecast that is made of it:
 * whatever it says, the forecast ends, and its bounds hold its numbers. */
#include "decide/migrate/curve_file.h"
#include "decide/migrate/forecast.h"
#include "fuzz.h"

#include <math.h>

static struct migrate_range around(double value)
{
    return (struct migrate_range){value, value / 2, value * 2};
}

static void check(const struct migrate_range *range)
{
    CLAIM(isnan(range->value) || (range->low <= range->value && range->value <= range->high));
}

static void foretell(const struct migrate_guest *guest)
{
    const struct migrate_memory memory = {.ram_bytes = (double)guest->ram_bytes,
                                          .filled_bytes = around((double)guest->resident_bytes),
                                          .wss_bytes = (double)guest->wss_bytes,
                                          .writes = &guest->writes};
    const struct migrate_path path = {.bandwidth_bytes_s = around(1e8),
                                      .link_bytes_s = around(1e9),
                                      .downtime_s = 0.3,
                                      .device_s = around(0.02),
                                      .zero_page_s = around(1e-6),
                                      .tracks_pieces = guest->kvm,
                                      .auto_converge = guest->ram_bytes % 2 == 1};
    struct migrate_forecast forecast;

    migrate_foretell(&memory, &path, &forecast);
    check(&forecast.total_s);
    check(&forecast.downtime_s);
    CLAIM(forecast.n_rounds > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct migrate_guest guest;
    struct error error = {0};

    if (migrate_curve_parse((const char *)data, size, &guest, &error) == 0) {
        CLAIM(guest.writes.n > 0 && guest.writes.n <= WRITE_POINTS_MAX && guest.ram_bytes > 0);
        foretell(&guest);
    } else {
        CLAIM(*error.text);
    }
    return 0;
}
