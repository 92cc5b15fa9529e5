// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_balloon.c  libvirt's statistics of a balloon, whose driver in the guest tells what it
 * likes. */
#include <libvirt/libvirt.h>

/* The domain is none of libvirt's. */
#define virDomainGetName(domain) ((void)(domain), "web1")
#define virDomainGetID(domain) ((void)(domain), 1U)
#define virDomainGetUUIDString(domain, uuid) ((void)(domain), snprintf(uuid, 37, "%s", "u") - 1)

#include "guest/domain/domain_memory.c" /* NOLINT(bugprone-suspicious-include): one record of libvirt's */

#include "base/array.h"

#include "fuzz.h"

#define MAX_PARAMETERS 32

/* Each of ten bytes: which field, which type, what number. */
static int read_parameter(virTypedParameter *parameter, const uint8_t *at)
{
    static const char *const others[] = {"state.state", "balloon.rss", "", "balloon.currentx"};
    size_t n_fields = COUNT(fields);
    size_t which = at[0] % (n_fields + 4);

    *parameter = (virTypedParameter){.type = at[1] % 16 ? VIR_TYPED_PARAM_ULLONG : at[1] / 16 % 8};
    snprintf(parameter->field, sizeof(parameter->field), "%s",
             which < n_fields ? fields[which].field : others[which - n_fields]);
    if (which == n_fields)
        parameter->type = VIR_TYPED_PARAM_INT;
    memcpy(&parameter->value, at + 2, 8);
    return 10;
}

static bool known(uint64_t bytes)
{
    return bytes != DOMAIN_MEMORY_UNKNOWN;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    virTypedParameter parameters[MAX_PARAMETERS];
    virDomainStatsRecord record = {.params = parameters};
    struct domain_memory memory;

    for (size_t at = 0; at + 10 <= size && record.nparams < MAX_PARAMETERS;)
        at += (size_t)read_parameter(&parameters[record.nparams++], data + at);
    CLAIM(read_domain(&memory, &record));
    CLAIM(!known(memory.current_bytes) || memory.current_bytes <= memory.maximum_bytes);
    CLAIM(!known(memory.total_bytes) || memory.total_bytes <= memory.maximum_bytes);
    CLAIM(!known(memory.free_bytes) || memory.free_bytes <= memory.total_bytes);
    CLAIM(!known(memory.available_bytes) || memory.available_bytes <= memory.total_bytes);
    CLAIM(!domain_memory_is_reported(&memory) || memory.updated_s > 0);
    return 0;
}
