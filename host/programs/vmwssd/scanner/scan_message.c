// SPDX-License-Identifier: LGPL-2.1-or-later
#include "programs/vmwssd/scanner/scan_message.h"

#include "base/array.h"
#include "guest/domain/qemu_vcpus.h"
#include "measure/method.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define FIRST_VSOCK_GUEST 3 /* VMADDR_CID_HOST is 2 */
/* Sockets of a QEMU that libvirt started, by libvirt's names: its monitor, which commands QEMU
 * (src/qemu/qemu_process.c), and QEMU's own agent, which runs programs in the guest. */
static const char *const forbidden[] = {"/monitor.sock", "/org.qemu.guest_agent.0"};

#define KNOWN_JOBS (((unsigned)QEMU_JOB_DUMP << 1) - 1)

/* Values of ram_config.in_guest_memfd; the first: none. */
static const char *const memfd_names[] = {NULL, "SEV-SNP", "TDX", "guest_memfd"};

/* --- sizes ------------------------------------------------------------------------------------ */

#define REQUEST_WITH(part) \
    (offsetof(struct scan_request, part) + sizeof(((struct scan_request *)NULL)->part))
#define REPLY_UNTIL(part) offsetof(struct scan_reply, part)
#define REPLY_WITH(part) (REPLY_UNTIL(part) + sizeof(((struct scan_reply *)NULL)->part))
#define REQUEST_PLAIN offsetof(struct scan_request, find)
#define REPLY_PLAIN offsetof(struct scan_reply, list)

size_t scan_request_size(unsigned op)
{
    static const size_t sizes[N_SCAN_OPS] = {
        [SCAN_ALIVE] = REQUEST_PLAIN,
        [SCAN_LANE] = REQUEST_PLAIN,
        [SCAN_LIST] = REQUEST_PLAIN,
        [SCAN_FIND] = REQUEST_WITH(find),
        [SCAN_START] = REQUEST_WITH(pid),
        [SCAN_OPEN] = REQUEST_WITH(open),
        [SCAN_HAS_RAM] = REQUEST_WITH(has_ram),
        [SCAN_SAMPLE] = REQUEST_WITH(sample),
        [SCAN_CLOSE] = REQUEST_PLAIN,
        [SCAN_CONNECT] = REQUEST_WITH(connect),
        [SCAN_JOBS] = REQUEST_PLAIN,
        [SCAN_WRITES] = REQUEST_WITH(writes),
        [SCAN_BELL] = REQUEST_PLAIN,
    };

    return op < N_SCAN_OPS ? sizes[op] : 0;
}

/* Sizes without the elements of an array, and without a record. */
static const size_t reply_sizes[N_SCAN_OPS] = {
    [SCAN_ALIVE] = REPLY_PLAIN,
    [SCAN_LANE] = REPLY_PLAIN,
    [SCAN_LIST] = REPLY_UNTIL(list.pids),
    [SCAN_FIND] = REPLY_WITH(pid),
    [SCAN_START] = REPLY_WITH(start_ticks),
    [SCAN_OPEN] = REPLY_WITH(opened),
    [SCAN_HAS_RAM] = REPLY_WITH(has_ram),
    [SCAN_SAMPLE] = REPLY_UNTIL(sampled.record),
    [SCAN_CLOSE] = REPLY_PLAIN,
    [SCAN_CONNECT] = REPLY_PLAIN,
    [SCAN_JOBS] = REPLY_WITH(jobs),
    [SCAN_WRITES] = REPLY_WITH(written),
    [SCAN_BELL] = REPLY_PLAIN,
};

void scan_reply_begin(struct scan_reply *reply, unsigned op)
{
    memset(reply, 0, op == SCAN_SAMPLE ? REPLY_UNTIL(sampled.record.parts) : reply_sizes[op]);
    reply->op = op;
}

size_t scan_sampled_size(const struct scan_sampled *sampled)
{
    const struct scan_record *record = &sampled->record;

    if (!sampled->has_record)
        return offsetof(struct scan_sampled, record);
    return offsetof(struct scan_sampled, record.parts) +
           ((size_t)record->n_windows + record->n_bins) * sizeof(record->parts[0]);
}

size_t scan_reply_size(const struct scan_reply *reply)
{
    const struct scan_record *record = &reply->sampled.record;

    if (reply->op >= N_SCAN_OPS)
        return 0;
    if (reply->op == SCAN_LIST)
        return reply->list.n > SCAN_MAX_PROCESSES
                   ? 0
                   : reply_sizes[SCAN_LIST] + reply->list.n * sizeof(reply->list.pids[0]);
    if (reply->op != SCAN_SAMPLE)
        return reply_sizes[reply->op];
    if (reply->sampled.has_record &&
        (record->n_windows > RUN_MAX_WINDOWS || record->n_bins > SCAN_MAX_BINS))
        return 0;
    return REPLY_UNTIL(sampled) + scan_sampled_size(&reply->sampled);
}

/* Reads no count that is beyond the received bytes. */
static bool reply_size_valid(const struct scan_reply *reply, size_t size, unsigned op)
{
    if (op >= N_SCAN_OPS || size < reply_sizes[op] || reply->op != op)
        return false;
    if (op == SCAN_SAMPLE && reply->sampled.has_record && size < REPLY_UNTIL(sampled.record.parts))
        return false;
    return size == scan_reply_size(reply);
}

/* --- fields ----------------------------------------------------------------------------------- */

#define ENDS(text) (memchr(text, '\0', sizeof(text)) != NULL)

static bool is_switch(uint8_t value)
{
    return value <= 1;
}

static bool is_within(double value, double least, double most)
{
    return isfinite(value) && value >= least && value <= most;
}

static bool is_method(uint8_t number)
{
    return number == 0 || scan_method_take(number);
}

/* The name cannot leave the directory, or name another file in it. */
static bool domain_valid(const struct scan_domain *domain)
{
    return ENDS(domain->pid_dir) && ENDS(domain->name) && ENDS(domain->uuid) &&
           domain->pid_dir[0] != '/' && !strstr(domain->pid_dir, "..") && *domain->name &&
           !strchr(domain->name, '/') && strlen(domain->uuid) == sizeof(domain->uuid) - 1;
}

static bool backend_valid(const struct scan_backend *backend)
{
    return backend->size_bytes > 0 && backend->size_bytes <= RAM_CONFIG_MAX_BYTES &&
           backend->source <= RAM_SOURCE_SHARED && is_switch(backend->hugetlb) &&
           is_switch(backend->dimm) && ENDS(backend->id);
}

static bool ram_valid(const struct scan_ram *ram)
{
    uint64_t left = RAM_CONFIG_MAX_BYTES;

    if (ram->n_backends > RAM_CONFIG_MAX_BACKENDS || !is_switch(ram->locked) ||
        ram->in_guest_memfd >= COUNT(memfd_names))
        return false;
    for (uint32_t i = 0; i < ram->n_backends; i++) {
        if (!backend_valid(&ram->backends[i]) || ram->backends[i].size_bytes > left)
            return false;
        left -= ram->backends[i].size_bytes;
    }
    return true;
}

static bool open_valid(const struct scan_open *open)
{
    if (!is_switch(open->migrating) || open->pid < 0)
        return false;
    return open->pid > 0 || (domain_valid(&open->domain) && ram_valid(&open->ram));
}

static bool windows_valid(const double *window_s, uint32_t n, uint32_t most)
{
    double before_s = 0;

    if (n == 0 || n > most)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_within(window_s[i], before_s, SCAN_MAX_SECONDS) || window_s[i] == before_s)
            return false;
        before_s = window_s[i];
    }
    return true;
}

static bool sample_valid(const struct scan_sample *sample)
{
    return sample->samples > 0 && sample->samples <= SCAN_MAX_SAMPLES &&
           is_within(sample->cpu_s, 0, SCAN_MAX_SECONDS) &&
           (sample->jobs & ~(unsigned)FLAGS_ALL) == 0 && is_switch(sample->anew) &&
           is_switch(sample->ring) && is_method(sample->method) &&
           windows_valid(sample->window_s, sample->n_windows, RUN_MAX_WINDOWS) &&
           is_within(sample->tick_s, 0, SCAN_MAX_SECONDS);
}

static bool is_forbidden(const char *path)
{
    const char *name = strrchr(path, '/');

    for (size_t i = 0; i < COUNT(forbidden); i++)
        if (strcmp(name, forbidden[i]) == 0)
            return true;
    return false;
}

static bool connect_valid(const struct scan_connect *connect)
{
    if (!ENDS(connect->path) || !ENDS(connect->uuid))
        return false;
    if (!connect->path[0])
        return connect->vsock_cid >= FIRST_VSOCK_GUEST;
    return connect->path[0] == '/' && !is_forbidden(connect->path) &&
           strlen(connect->uuid) == sizeof(connect->uuid) - 1;
}

bool scan_request_valid(const struct scan_request *request, size_t size)
{
    if (size < REQUEST_PLAIN || request->op >= N_SCAN_OPS || size != scan_request_size(request->op))
        return false;
    switch ((enum scan_op)request->op) {
    case SCAN_FIND:
        return domain_valid(&request->find);
    case SCAN_START:
        return request->pid > 0;
    case SCAN_OPEN:
        return open_valid(&request->open);
    case SCAN_HAS_RAM:
        return ram_valid(&request->has_ram);
    case SCAN_SAMPLE:
        return sample_valid(&request->sample);
    case SCAN_CONNECT:
        return connect_valid(&request->connect);
    case SCAN_WRITES:
        return windows_valid(request->writes.window_s, request->writes.n_windows, WRITE_POINTS_MAX);
    default:
        return true;
    }
}

/* --- replies ---------------------------------------------------------------------------------- */

static bool list_valid(const struct scan_list *list)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->pids[i] <= 0)
            return false;
    return true;
}

static bool window_valid(const uint64_t *slots)
{
    struct window_record window;

    if (!field_slots_valid(window_fields(), sizeof(window), slots))
        return false;
    field_slots_take(window_fields(), sizeof(window), slots, &window);
    return window.wss_low_bytes <= window.wss_high_bytes;
}

static bool bin_valid(const struct age_bin *bin)
{
    return is_within(bin->from_s, 0, SCAN_MAX_SECONDS) && !isnan(bin->to_s) &&
           bin->to_s >= bin->from_s;
}

/* The message is as long as its counts say: that was checked before. */
static bool record_valid(const struct scan_record *record)
{
    const union scan_part *bins = &record->parts[record->n_windows];

    if (!field_slots_valid(sample_fields(), sizeof(struct ages_record), record->slots))
        return false;
    for (uint32_t i = 0; i < record->n_windows; i++)
        if (!window_valid(record->parts[i].window))
            return false;
    for (uint32_t i = 0; i < record->n_bins; i++)
        if (!bin_valid(&bins[i].bin))
            return false;
    return true;
}

static bool opened_valid(const struct scan_opened *opened)
{
    return opened->guest != 0 && opened->pid > 0 && ENDS(opened->name) && ENDS(opened->uuid) &&
           ENDS(opened->owner.manager) && ENDS(opened->owner.name);
}

static bool sampled_valid(const struct scan_sampled *sampled)
{
    return is_within(sampled->cpu_s, 0, SCAN_MAX_SECONDS) && is_method(sampled->method) &&
           is_switch(sampled->has_record) &&
           (!sampled->has_record || record_valid(&sampled->record));
}

static bool written_valid(const struct scan_written *written)
{
    struct write_curve curve = {0};

    if (written->method == 0 || !is_method(written->method) || written->n_points == 0 ||
        written->n_points > WRITE_POINTS_MAX ||
        !field_slots_valid(write_fields(), sizeof(curve), written->curve))
        return false;
    for (uint32_t i = 0; i < written->n_points; i++) {
        struct write_point *point = &curve.points[i];

        if (!field_slots_valid(write_point_fields(), sizeof(*point), written->points[i]))
            return false;
        field_slots_take(write_point_fields(), sizeof(*point), written->points[i], point);
        if (point->low_bytes > point->bytes || point->bytes > point->high_bytes ||
            point->est_window_s <= (i > 0 ? point[-1].est_window_s : 0))
            return false;
    }
    return true;
}

bool scan_reply_valid(const struct scan_reply *reply, size_t size, unsigned op)
{
    if (!reply_size_valid(reply, size, op) || reply->rc > 0 || !ENDS(reply->error))
        return false;
    switch ((enum scan_op)op) {
    case SCAN_LIST:
        return list_valid(&reply->list);
    case SCAN_FIND:
        return reply->pid >= -1;
    case SCAN_OPEN:
        return reply->rc < 0 || opened_valid(&reply->opened);
    case SCAN_HAS_RAM:
        return is_switch(reply->has_ram);
    case SCAN_SAMPLE:
        return sampled_valid(&reply->sampled);
    case SCAN_WRITES:
        return is_within(reply->written.cpu_s, 0, SCAN_MAX_SECONDS) &&
               (reply->rc < 0 || written_valid(&reply->written));
    case SCAN_JOBS:
        return (reply->jobs.jobs & ~KNOWN_JOBS) == 0 &&
               is_within(reply->jobs.cpu_s, 0, SCAN_MAX_SECONDS);
    default:
        return true;
    }
}

/* --- there and back --------------------------------------------------------------------------- */

static uint8_t memfd_number(const char *name)
{
    for (size_t i = 1; name && i < COUNT(memfd_names); i++)
        if (!strcmp(memfd_names[i], name))
            return (uint8_t)i;
    return name ? COUNT(memfd_names) - 1 : 0;
}

int scan_ram_put(struct scan_ram *out, const struct ram_config *config)
{
    if (config->n_backends > RAM_CONFIG_MAX_BACKENDS)
        return -E2BIG;
    memset(out, 0, sizeof(*out));
    out->n_backends = (uint32_t)config->n_backends;
    out->locked = config->locked;
    out->in_guest_memfd = memfd_number(config->in_guest_memfd);
    for (size_t i = 0; i < config->n_backends; i++) {
        const struct ram_backend *backend = &config->backends[i];

        out->backends[i] = (struct scan_backend){.size_bytes = backend->size_bytes,
                                                 .source = (uint8_t)backend->source,
                                                 .hugetlb = backend->hugetlb,
                                                 .dimm = backend->dimm};
        memcpy(out->backends[i].id, backend->id, sizeof(backend->id));
    }
    return 0;
}

int scan_ram_take(const struct scan_ram *ram, struct ram_config *out)
{
    int rc = 0;

    *out = (struct ram_config){.locked = ram->locked,
                               .in_guest_memfd = memfd_names[ram->in_guest_memfd]};
    for (uint32_t i = 0; rc == 0 && i < ram->n_backends; i++) {
        const struct scan_backend *given = &ram->backends[i];
        struct ram_backend backend = {.size_bytes = given->size_bytes,
                                      .source = (enum ram_source)given->source,
                                      .hugetlb = given->hugetlb,
                                      .dimm = given->dimm};

        memcpy(backend.id, given->id, sizeof(backend.id));
        rc = ram_config_add(out, &backend);
    }
    if (rc < 0)
        ram_config_free(out);
    return rc;
}

uint8_t scan_method_put(const struct method *method)
{
    for (uint8_t i = 0; method && methods[i]; i++)
        if (methods[i] == method)
            return (uint8_t)(i + 1);
    return 0;
}

const struct method *scan_method_take(uint8_t number)
{
    for (uint8_t i = 0; methods[i]; i++)
        if (i + 1 == number)
            return methods[i];
    return NULL;
}

/* Each part is zeroed first: a bin is shorter than its slot, and the rest must not leak old data.
 */
static void put_parts(struct scan_record *out, const struct ages_record *ages)
{
    union scan_part *part = out->parts;

    out->n_windows = (uint32_t)ages->sample.n_windows;
    out->n_bins = (uint32_t)ages->n_bins;
    memset(part, 0, ((size_t)out->n_windows + out->n_bins) * sizeof(*part));
    for (uint32_t i = 0; i < out->n_windows; i++)
        field_slots_put(window_fields(), sizeof(struct window_record), &ages->sample.windows[i],
                        (part++)->window);
    for (uint32_t i = 0; i < out->n_bins; i++)
        (part++)->bin = ages->bins[i];
}

void scan_record_put(struct scan_sampled *sampled, const struct ages_record *ages)
{
    sampled->has_record = 1;
    memset(sampled->record.slots, 0, sizeof(sampled->record.slots));
    field_slots_put(sample_fields(), sizeof(*ages), ages, sampled->record.slots);
    put_parts(&sampled->record, ages);
}

void scan_record_take(const struct scan_sampled *sampled, struct ages_record *out)
{
    const struct method *method = scan_method_take(sampled->method);
    const struct scan_record *crossed = &sampled->record;
    const union scan_part *part = crossed->parts;
    struct sample_record *record = &out->sample;

    memset(out, 0, sizeof(*out));
    field_slots_take(sample_fields(), sizeof(*out), crossed->slots, out);
    record->method = method && crossed->n_windows > 0 ? method->name : SAMPLE_NO_METHOD;
    if (gethostname(record->host, sizeof(record->host) - 1) < 0)
        record->host[0] = '\0';
    record->n_windows = crossed->n_windows;
    out->n_bins = crossed->n_bins;
    for (uint32_t i = 0; i < crossed->n_windows; i++)
        field_slots_take(window_fields(), sizeof(struct window_record), (part++)->window,
                         &record->windows[i]);
    for (uint32_t i = 0; i < crossed->n_bins; i++)
        out->bins[i] = (part++)->bin;
}

void scan_curve_put(struct scan_written *written, const struct write_curve *curve)
{
    written->method = scan_method_put(method_by_name(curve->method));
    written->n_points = (uint32_t)curve->n;
    field_slots_put(write_fields(), sizeof(*curve), curve, written->curve);
    for (uint32_t i = 0; i < written->n_points; i++)
        field_slots_put(write_point_fields(), sizeof(curve->points[i]), &curve->points[i],
                        written->points[i]);
}

void scan_curve_take(const struct scan_written *written, struct write_curve *out)
{
    *out = (struct write_curve){.method = scan_method_take(written->method)->name,
                                .n = written->n_points};
    field_slots_take(write_fields(), sizeof(*out), written->curve, out);
    for (uint32_t i = 0; i < written->n_points; i++)
        field_slots_take(write_point_fields(), sizeof(out->points[i]), written->points[i],
                         &out->points[i]);
}
