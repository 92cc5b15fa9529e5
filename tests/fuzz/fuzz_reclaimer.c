// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fuzz_reclaimer.c  Messages to the process that writes to memory.reclaim, on a host with two
 * guests, and a user's process that has any command line.
 *
 * The first byte is the length of that command line divided by four. Each message begins with a
 * byte: its length (low six bits), and whether the UUID of the first guest is put in (0x40).
 */
#include "base/clock.h"
#include "base/utf8.h"
#include "below.h"
#include "programs/balloond/reclaimer.h"

#include <strings.h>

#define GUESTS 2
#define USER 60
#define MACHINE(n) "machine.slice/machine-qemu-" n "-web.scope"
#define USERS "user.slice/machine-qemu-3-web.scope"

static const char *const uuids[GUESTS] = {"11111111-1111-4111-8111-111111111111",
                                          "abcdefab-cdef-4abc-8def-abcdefabcdef"};
static const char *const groups[] = {MACHINE("1"), MACHINE("2"), USERS};
static uint64_t asked_bytes[GUESTS], began_ns;

static void write_below(const char *format, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), format, name);
    below_write(path, text, strlen(text));
}

static void make_below(const char *path)
{
    CLAIM(mkdirat(below_root()->dirfd, path, 0700) == 0);
}

static void make_process(int pid, const char *group)
{
    char path[256], text[256];

    snprintf(path, sizeof(path), "proc/%d", pid);
    make_below(path);
    snprintf(
        text, sizeof(text),
        "%d (q) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        pid);
    write_below("%s/stat", path, text);
    snprintf(text, sizeof(text), "0::/%s\n", group);
    write_below("%s/cgroup", path, text);
    write_below("%s/cmdline", path, "");
    write_below("%s/status", path, "Name:\tq\nVmRSS:\t8 kB\n");
    snprintf(path, sizeof(path), "sys/fs/cgroup/%s", group);
    make_below(path);
    snprintf(text, sizeof(text), "%d\n", pid);
    write_below("%s/cgroup.procs", path, text);
    write_below("%s/memory.current", path, "4194304000\n");
    write_below("%s/memory.stat", path, "workingset_refault_anon 2\n");
    write_below("%s/memory.reclaim", path, "");
}

static void make_host(void)
{
    for (const char *const *at =
             (const char *const[]){"sys", "sys/fs", "sys/fs/cgroup", "sys/fs/cgroup/machine.slice",
                                   "sys/fs/cgroup/user.slice", NULL};
         *at; at++)
        make_below(*at);
    for (int i = 0; i < GUESTS; i++) {
        char text[64] = "kvm\0-uuid";

        make_process(50 + i, groups[i]);
        memcpy(text + 10, uuids[i], strlen(uuids[i]));
        below_write(i ? "proc/51/cmdline" : "proc/50/cmdline", text, 10 + strlen(uuids[i]) + 1);
    }
    make_process(USER, USERS);
    below_write("proc/swaps",
                "Filename Type Size Used Priority\n/dev/zram0 partition 9999999 0 1\n", 66);
    began_ns = clock_ns();
}

static int guest_of(const char *uuid)
{
    for (int i = 0; i < GUESTS; i++)
        if (!strcasecmp(uuid, uuids[i]))
            return i;
    return -1;
}

static void serve(const struct reclaimer_request *request)
{
    struct reclaimer_answer answer;
    const int guest = guest_of(request->uuid);

    reclaimer_serve(below_root(), true, request, &answer);
    CLAIM(!strcmp(answer.uuid, request->uuid));
    CLAIM(memchr(answer.group.refused, 0, sizeof(answer.group.refused)));
    CLAIM(utf8_is_printable(answer.group.refused));
    CLAIM(answer.asked_bytes <= request->bytes && answer.asked_bytes <= RECLAIMER_MAX_BYTES);
    CLAIM((guest >= 0) == !answer.group.refused[0]); /* no other process keeps a guest from it */
    if (guest < 0)
        return;
    asked_bytes[guest] += answer.asked_bytes;
    CLAIM((double)asked_bytes[guest] <=
          (double)RECLAIMER_MAX_BYTES +
              RECLAIMER_BYTES_PER_S * ((double)(clock_ns() - began_ns) / 1e9 + 0.1));
}

/* Returns true if the process would go on. */
static bool take(const uint8_t *data, size_t size, bool first_guest)
{
    struct reclaimer_request request = {.bytes = 0};
    _Alignas(struct reclaimer_request) uint8_t message[64] = {0};

    memcpy(message, data, size);
    if (first_guest) {
        memcpy(message, uuids[0], sizeof(request.uuid));
        size = sizeof(request);
    }
    if (!reclaimer_request_valid(message, size))
        return false;
    CLAIM(size == sizeof(request));
    memcpy(&request, message, size);
    serve(&request);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    struct stat others;

    if (!began_ns)
        make_host();
    if (size == 0)
        return 0;
    size = *data++ * 4UL;
    size = size < (size_t)(end - data) ? size : (size_t)(end - data);
    below_write("proc/60/cmdline", data, size);
    data += size;
    while (data < end) {
        const uint8_t head = *data++;

        size = head & 0x3fU;
        size = size < (size_t)(end - data) ? size : (size_t)(end - data);
        if (!take(data, size, head & 0x40))
            break;
        data += size;
    }
    CLAIM(fstatat(below_root()->dirfd, "sys/fs/cgroup/" USERS "/memory.reclaim", &others, 0) == 0);
    CLAIM(others.st_size == 0);
    return 0;
}
