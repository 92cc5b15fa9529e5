// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file fuzz_status.c  /proc/PID/status: before and after, divided by a NUL, as resident bytes are
 * followed; and a thread's. */
#include "below.h"
#include "guest/domain/qemu_vcpus.h"
#include "guest/ram/resident.h"

#include <errno.h>

static void follow(const uint8_t *before, size_t n_before, const uint8_t *after, size_t n_after)
{
    struct ram_block block = {
        .hva = 1 << 30, .bytes = 64 << 20, .mapped_bytes = 10 << 20, .resident_bytes = 12 << 20};
    const struct guest_ram ram = {
        .bytes = 64 << 20, .n_pages = 16384, .n_blocks = 1, .blocks = &block};
    struct resident_meter meter;
    struct resident_now now;

    block.backing = n_before % 4;
    block.shared = n_after % 2;
    below_write("proc/1/status", before, n_before);
    if (resident_meter_init(&meter, below_root(), 1, &ram) == 0) {
        below_write("proc/1/status", after, n_after);
        if (resident_meter_read(&meter, below_root(), 1, &now) == 0)
            CLAIM(now.mapped_bytes <= now.resident_bytes && now.resident_bytes <= ram.bytes);
    }
    resident_meter_free(&meter);
}

/* An unnamed thread: whether it is a vCPU is in its SigBlk, so all of them are taken when it is
 * none. */
static void find_vcpus(const uint8_t *data, size_t size)
{
    struct qemu_process process = {.pid = 1, .pidfd = -1};

    below_write("proc/1/task/1/status", data, size);
    CLAIM(qemu_vcpus_find(below_root(), &process) == 0);
    CLAIM(process.n_vcpus == 1 && process.vcpus[0] == 1);
    free(process.vcpus);
    qemu_threads_free(&process.threads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t n = nul ? (size_t)(nul - data) : size;

    follow(data, n, nul ? nul + 1 : data, nul ? size - n - 1 : size);
    find_vcpus(data, size);
    return 0;
}
