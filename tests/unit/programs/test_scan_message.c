// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_scan_message.c  What crosses the wall between vmwssd's halves, and what does not. */
#include "measure/estimate/wss.h"
#include "programs/vmwssd/scanner/scan_message.h"

#include "fixture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UUID "00000000-0000-4000-8000-000000000001"

static struct scan_request request;
static struct scan_reply reply;

static bool request_valid(void)
{
    return scan_request_valid(&request, scan_request_size(request.op));
}

static bool reply_valid(void)
{
    return scan_reply_valid(&reply, scan_reply_size(&reply), reply.op);
}

static void fill_domain(struct scan_domain *domain)
{
    strcpy(domain->pid_dir, "run/libvirt/qemu");
    strcpy(domain->name, "web1");
    strcpy(domain->uuid, UUID);
}

TEST(plain, of_each_kind_there_is_one_size)
{
    for (unsigned op = 0; op < N_SCAN_OPS; op++) {
        size_t size = scan_request_size(op);
        size_t reply_size;

        scan_reply_begin(&reply, op);
        reply_size = scan_reply_size(&reply);
        ck_assert_uint_gt(size, 0);
        ck_assert_uint_le(size, sizeof(request));
        ck_assert_uint_gt(reply_size, 0);
        ck_assert_uint_le(reply_size, sizeof(reply));
        request.op = op;
        ck_assert(!scan_request_valid(&request, size - 1));
        ck_assert(!scan_request_valid(&request, size + 1));
        ck_assert(!scan_reply_valid(&reply, reply_size - 1, op));
        ck_assert(!scan_reply_valid(&reply, reply_size + 1, op));
        ck_assert(!scan_reply_valid(&reply, reply_size, (op + 1) % N_SCAN_OPS));
    }
    reply.op = N_SCAN_OPS;
    ck_assert_uint_eq(scan_reply_size(&reply), 0);
    ck_assert(!scan_reply_valid(&reply, 0, N_SCAN_OPS));
    request.op = N_SCAN_OPS;
    ck_assert(!scan_request_valid(&request, sizeof(request)));
    ck_assert(!scan_request_valid(&request, 0));
    ck_assert_uint_eq(scan_request_size(UINT32_MAX), 0);
}

TEST(plain, a_domain_leads_nowhere_else)
{
    request.op = SCAN_FIND;
    fill_domain(&request.find);
    ck_assert(request_valid());
    strcpy(request.find.pid_dir, "run/../etc");
    ck_assert(!request_valid());
    strcpy(request.find.pid_dir, "/run");
    ck_assert(!request_valid());
    fill_domain(&request.find);
    strcpy(request.find.name, "a/b");
    ck_assert(!request_valid());
    fill_domain(&request.find);
    memset(request.find.name, 'x', sizeof(request.find.name)); /* without an end */
    ck_assert(!request_valid());
    fill_domain(&request.find);
    strcpy(request.find.uuid, "short");
    ck_assert(!request_valid());
}

TEST(plain, a_process_has_a_number)
{
    request.op = SCAN_START;
    ck_assert(!request_valid());
    request.pid = -1;
    ck_assert(!request_valid());
    request.pid = 1;
    ck_assert(request_valid());
}

TEST(plain, ram_is_no_more_than_there_can_be)
{
    struct scan_backend *backends = request.open.ram.backends;

    request.op = SCAN_OPEN;
    fill_domain(&request.open.domain);
    request.open.ram.n_backends = 2;
    backends[0].size_bytes = backends[1].size_bytes = RAM_CONFIG_MAX_BYTES / 2;
    ck_assert(request_valid());
    backends[1].size_bytes++;
    ck_assert(!request_valid());
    backends[1].size_bytes = 0;
    ck_assert(!request_valid());
    backends[1].size_bytes = 1;
    backends[1].source = RAM_SOURCE_SHARED + 1;
    ck_assert(!request_valid());
    backends[1].source = 0;
    backends[1].dimm = 2;
    ck_assert(!request_valid());
    backends[1].dimm = 1;
    ck_assert(request_valid());
    request.open.ram.n_backends = RAM_CONFIG_MAX_BACKENDS + 1;
    ck_assert(!request_valid());
    request.open.pid = 42; /* then there is no domain to be looked at */
    ck_assert(request_valid());
    request.open.pid = -1;
    ck_assert(!request_valid());
}

static void fill_sample(void)
{
    request.op = SCAN_SAMPLE;
    request.sample = (struct scan_sample){
        .samples = 2000, .n_windows = 2, .window_s = {10, 60}, .tick_s = 30, .method = 1};
}

TEST(plain, a_scan_has_windows_that_ascend)
{
    fill_sample();
    ck_assert(request_valid());
    request.sample.window_s[1] = 10;
    ck_assert(!request_valid());
    request.sample.window_s[1] = NAN;
    ck_assert(!request_valid());
    request.sample.window_s[1] = HUGE_VAL;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.window_s[0] = 0;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.n_windows = RUN_MAX_WINDOWS + 1;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.n_windows = 0;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.samples = SCAN_MAX_SAMPLES + 1;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.method = 200;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.jobs = 1U << 31;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.anew = 2;
    ck_assert(!request_valid());
    fill_sample();
    request.sample.ring = 1;
    ck_assert(request_valid());
    request.sample.ring = 2;
    ck_assert(!request_valid());
}

TEST(plain, agents_are_reached_and_nobody_else)
{
    request.op = SCAN_CONNECT;
    ck_assert(!request_valid()); /* vsock, of the host itself */
    request.connect.vsock_cid = 2;
    ck_assert(!request_valid());
    request.connect.vsock_cid = 3;
    ck_assert(request_valid());
    strcpy(request.connect.path, "/run/libvirt/qemu/channel/1-web1/org.vmwss.agent.0");
    ck_assert(!request_valid()); /* no UUID yet */
    strcpy(request.connect.uuid, UUID);
    ck_assert(request_valid());
    strcpy(request.connect.path, "/var/lib/libvirt/qemu/domain-1-web1/monitor.sock");
    ck_assert(!request_valid());
    strcpy(request.connect.path, "/run/libvirt/qemu/channel/1-web1/org.qemu.guest_agent.0");
    ck_assert(!request_valid());
    strcpy(request.connect.path, "relative");
    ck_assert(!request_valid());
}

TEST(plain, ram_comes_back_as_it_went)
{
    cleanup_ram_config struct ram_config config = {.locked = true, .in_guest_memfd = "TDX"};
    const struct ram_backend backends[] = {
        {.id = "pc.ram", .size_bytes = 1ULL << 30, .source = RAM_SOURCE_MEMFD, .hugetlb = true},
        {.id = "memdimm0", .size_bytes = 128ULL << 20, .dimm = true},
    };
    cleanup_ram_config struct ram_config back;

    for (size_t i = 0; i < 2; i++)
        ck_assert_int_eq(ram_config_add(&config, &backends[i]), 0);
    request.op = SCAN_HAS_RAM;
    ck_assert_int_eq(scan_ram_put(&request.has_ram, &config), 0);
    ck_assert(request_valid());
    ck_assert_int_eq(scan_ram_take(&request.has_ram, &back), 0);
    ck_assert(ram_config_equal(&config, &back));
    ck_assert_uint_eq(back.total_bytes, config.total_bytes);
    ck_assert_str_eq(back.in_guest_memfd, "TDX");
}

static struct ages_record record_of(void)
{
    struct ages_record record = {.n_bins = 2};

    record.sample.time = (struct timespec){.tv_sec = 3, .tv_nsec = 4};
    record.sample.pid = 42;
    record.sample.method = method_idle.name;
    record.sample.accel = ACCEL_KVM;
    record.sample.census = true;
    record.sample.samples = 5;
    record.sample.granularity_bytes = 6;
    record.sample.ram_bytes = 1 << 30;
    record.sample.resident_bytes = 1 << 29;
    record.sample.unmeasurable_bytes = 7;
    record.sample.vcpu_s = 8;
    record.sample.cpu_s = 9;
    record.sample.marking_s = 10;
    record.sample.reading_s = 11;
    record.sample.paused_s = 12;
    record.sample.flags = FLAG_KSM;
    record.sample.n_windows = 1;
    strcpy(record.sample.domain, "web1");
    record.sample.windows[0] = (struct window_record){.window_s = 10,
                                                      .est_window_s = 11,
                                                      .wss_bytes = 5,
                                                      .wss_low_bytes = 4,
                                                      .wss_high_bytes = 6,
                                                      .unit_low_bytes = 3,
                                                      .unmeasurable_bytes = 2,
                                                      .resident_high_bytes = 1,
                                                      .touched_fraction = 0.5,
                                                      .gone_bytes = GONE_NOT_KEPT,
                                                      .unsettled = true};
    record.bins[0] = (struct age_bin){.to_s = 10, .bytes = 2, .low_bytes = 1, .high_bytes = 3};
    record.bins[1].from_s = 10;
    record.bins[1].to_s = HUGE_VAL;
    return record;
}

static void put(const struct ages_record *record)
{
    scan_record_put(&reply.sampled, record);
}

/* Room for as much as there can be; what follows what was given is no record's. */
static void fill_reply_over(int before, uint32_t n_windows, uint32_t n_bins)
{
    struct ages_record record = record_of();

    for (uint32_t i = 0; i < n_windows; i++)
        record.sample.windows[i] = (struct window_record){
            .window_s = i + 1, .est_window_s = i + 1, .wss_high_bytes = i};
    for (uint32_t i = 0; i < n_bins; i++)
        record.bins[i] = (struct age_bin){.from_s = i, .to_s = i + 1, .bytes = 7 * i};
    record.sample.n_windows = n_windows;
    record.n_bins = n_bins;
    memset(&reply, before, sizeof(reply));
    scan_reply_begin(&reply, SCAN_SAMPLE);
    reply.sampled.method = scan_method_put(&method_idle);
    put(&record);
}

static void fill_reply(uint32_t n_windows, uint32_t n_bins)
{
    fill_reply_over(0xff, n_windows, n_bins);
}

TEST(plain, a_record_is_as_long_as_what_it_has)
{
    static const uint32_t counts[][2] = {
        {0, 0}, {0, 1}, {1, 2}, {3, 4}, {RUN_MAX_WINDOWS, SCAN_MAX_BINS}};
    struct ages_record back;
    size_t before = 0;

    for (size_t i = 0; i < COUNT(counts); i++) {
        const uint32_t n_windows = counts[i][0];
        const uint32_t n_bins = counts[i][1];

        fill_reply(n_windows, n_bins);

        const size_t size = scan_reply_size(&reply);

        ck_assert(size > before && size <= sizeof(reply));
        before = size;
        ck_assert(reply_valid());
        scan_record_take(&reply.sampled, &back);
        ck_assert_uint_eq(back.sample.n_windows, n_windows);
        ck_assert_uint_eq(back.n_bins, n_bins);
        if (n_windows > 0)
            ck_assert(back.sample.windows[n_windows - 1].window_s == n_windows);
        if (n_bins > 0)
            ck_assert_uint_eq(back.bins[n_bins - 1].bytes, 7 * (n_bins - 1));
    }
    fill_reply(3, 4); /* by default */
    ck_assert_uint_le(scan_reply_size(&reply), 2048);
}

/* Replies are refused whose counts differ from what came with them, or that were cut. */
TEST(plain, no_count_is_believed_but_of_what_came)
{
    struct scan_record *record = &reply.sampled.record;
    size_t size;

    fill_reply(3, 4);
    size = scan_reply_size(&reply);
    for (size_t other = 0; other <= sizeof(reply); other++)
        ck_assert(scan_reply_valid(&reply, other, SCAN_SAMPLE) == (other == size));
    record->n_windows = 4; /* than there are */
    ck_assert(!scan_reply_valid(&reply, size, SCAN_SAMPLE));
    record->n_windows = 2;
    ck_assert(!scan_reply_valid(&reply, size, SCAN_SAMPLE));
    record->n_windows = 3;
    record->n_bins = 5;
    ck_assert(!scan_reply_valid(&reply, size, SCAN_SAMPLE));
    record->n_windows = UINT32_MAX; /* as many in all, in 32 bits */
    record->n_bins = 8;
    ck_assert(!scan_reply_valid(&reply, size, SCAN_SAMPLE));
    ck_assert_uint_eq(scan_reply_size(&reply), 0);
    fill_reply(3, 4);
    reply.sampled.has_record = 0; /* and yet one came */
    ck_assert(!scan_reply_valid(&reply, size, SCAN_SAMPLE));
    size = scan_reply_size(&reply);
    ck_assert(scan_reply_valid(&reply, size, SCAN_SAMPLE));
    reply.sampled.has_record = 1; /* and none came, but its counts, from an earlier reply */
    ck_assert(!scan_reply_valid(&reply, size, SCAN_SAMPLE));
    reply.sampled.has_record = 2;
    ck_assert(!reply_valid());
}

/* Memory that ends where the message does: what is read behind it the sanitizer sees. */
TEST(plain, what_did_not_come_is_not_read)
{
    fill_reply(3, 4);

    const size_t size = scan_reply_size(&reply);

    for (size_t cut = 0; cut <= size; cut++) {
        struct scan_reply *given = malloc(cut + 1);

        memcpy(given, &reply, cut);
        ck_assert(scan_reply_valid(given, cut, SCAN_SAMPLE) == (cut == size));
        free(given);
    }
}

/* Old content of the buffer does not belong to the other half. */
TEST(plain, nothing_else_crosses_with_a_record)
{
    static unsigned char first[sizeof(struct scan_reply)];
    size_t size;

    fill_reply_over(0xff, 3, 4);
    size = scan_reply_size(&reply);
    memcpy(first, &reply, size);
    fill_reply_over(0x55, 3, 4);
    ck_assert_uint_eq(scan_reply_size(&reply), size);
    ck_assert_mem_eq(first, &reply, size);
}

/* Compares each field of the table whose value can cross. */
static void check_same(const struct field *fields, const void *back, const void *was, size_t end)
{
    for (const struct field *field = fields; field->type; field++) {
        const bool crosses = field->type != FIELD_TEXT && field->type != FIELD_WINDOWS &&
                             field->type != FIELD_AGES && field->type != FIELD_POINTS &&
                             field->type != FIELD_METHOD && field->offset < end;
        struct field_value value[2] = {0};

        if (!crosses)
            continue;
        field_get(field, back, &value[0]);
        field_get(field, was, &value[1]);
        ck_assert_msg(value[0].kind == value[1].kind && value[0].whole == value[1].whole &&
                          value[0].real == value[1].real &&
                          value[0].time.tv_sec == value[1].time.tv_sec &&
                          value[0].time.tv_nsec == value[1].time.tv_nsec &&
                          !strcmp(value[0].text, value[1].text),
                      "the field at %zu", field->offset);
    }
}

/* Where the slot of a field is; the table has one at that offset. */
static uint64_t *slot_of(const struct field *fields, size_t offset, uint64_t *slots)
{
    const struct field *field = fields;

    while (field->offset != offset)
        field++;

    struct field before[64] = {0};

    memcpy(before, fields, (size_t)(field - fields) * sizeof(*fields));
    return slots + field_slots_count(before, sizeof(struct ages_record));
}

TEST(plain, there_is_room_for_every_field)
{
    ck_assert_uint_le(field_slots_count(sample_fields(), sizeof(struct ages_record)),
                      SCAN_RECORD_SLOTS);
    ck_assert_uint_le(field_slots_count(window_fields(), sizeof(struct window_record)),
                      SCAN_WINDOW_SLOTS);
    ck_assert_uint_le(field_slots_count(write_fields(), sizeof(struct write_curve)),
                      SCAN_CURVE_SLOTS);
    ck_assert_uint_le(field_slots_count(write_point_fields(), sizeof(struct write_point)),
                      SCAN_POINT_SLOTS);
}

TEST(plain, a_record_comes_back_without_names)
{
    const struct ages_record record = record_of();
    struct ages_record back;

    reply.op = SCAN_SAMPLE;
    reply.sampled.method = scan_method_put(&method_idle);
    put(&record);
    ck_assert(reply_valid());
    scan_record_take(&reply.sampled, &back);
    ck_assert_str_eq(back.sample.method, "idle");
    ck_assert_str_eq(back.sample.domain, "");
    ck_assert(back.bins[1].to_s == HUGE_VAL);
    check_same(sample_fields(), &back, &record, sizeof(back));
    check_same(window_fields(), &back.sample.windows[0], &record.sample.windows[0],
               sizeof(struct window_record));
    ck_assert_mem_eq(back.bins, record.bins, sizeof(record.bins)); /* no padding in these */
}

/* Shares of three strata add up to a little more than 1, as floating point goes. */
TEST(plain, a_guest_that_touches_all_is_believed)
{
    static const uint64_t sizes[] = {4096, 65536, 2 << 20};
    static const uint64_t draws[] = {134, 200, 32};
    const struct wss_memory memory = {
        .ram_bytes = 1 << 30, .resident_bytes = 1 << 29, .population_bytes = 1 << 29};
    struct ages_record record = record_of();
    struct wss_estimate estimate;
    struct tally tally = {0};

    for (size_t i = 0; i < 3; i++)
        tally.strata[tally.n_strata++] = (struct stratum){.granularity_bytes = sizes[i],
                                                          .draws = draws[i],
                                                          .units = draws[i],
                                                          .touched_units = draws[i]};
    ck_assert_int_eq(wss_estimate(&tally, &memory, &estimate), 0);
    ck_assert(estimate.touched_fraction == 1);
    ck_assert_uint_gt(estimate.unit_low_bytes, 9 * (memory.population_bytes / 10));
    ck_assert_uint_le(estimate.unit_low_bytes, memory.population_bytes);
    record.sample.windows[0].touched_fraction = estimate.touched_fraction;
    reply.op = SCAN_SAMPLE;
    put(&record);
    ck_assert(reply_valid());
}

/* One slot of a valid record or of its window is another value. */
static bool valid_with(const struct field *fields, size_t offset, uint64_t value)
{
    const struct ages_record record = record_of();
    struct scan_record *crossed = &reply.sampled.record;

    put(&record);
    ck_assert(reply_valid());
    *slot_of(fields, offset,
             fields == window_fields() ? crossed->parts[0].window : crossed->slots) = value;
    return reply_valid();
}

static uint64_t real(double value)
{
    uint64_t slot;

    memcpy(&slot, &value, sizeof(slot));
    return slot;
}

TEST(plain, an_impossible_record_is_none)
{
    const struct ages_record record = record_of();
    struct scan_record *crossed = &reply.sampled.record;
#define WINDOW(member) window_fields(), offsetof(struct window_record, member)
#define RECORD(member) sample_fields(), offsetof(struct ages_record, sample.member)

    reply.op = SCAN_SAMPLE;
    ck_assert(!valid_with(WINDOW(touched_fraction), real(NAN)));
    ck_assert(!valid_with(WINDOW(touched_fraction), real(1.01)));
    ck_assert(!valid_with(WINDOW(vcpu_s), real(-1)));
    ck_assert(!valid_with(WINDOW(est_window_s), real(HUGE_VAL)));
    ck_assert(!valid_with(WINDOW(unsettled), 2));
    ck_assert(!valid_with(WINDOW(wss_low_bytes), 7));
    ck_assert(!valid_with(RECORD(census), 2));
    ck_assert(!valid_with(RECORD(accel), ACCEL_TCG + 1));
    ck_assert(!valid_with(RECORD(pid), 0));
    ck_assert(!valid_with(RECORD(pid), 1ULL << 32));
    ck_assert(!valid_with(RECORD(flags), 1ULL << 32));
    ck_assert(!valid_with(RECORD(flags), (uint64_t)FLAGS_ALL + 1));
    ck_assert(!valid_with(RECORD(cpu_s), real(1e10)));
    put(&record);
    slot_of(RECORD(time), crossed->slots)[1] = 1000000000;
    ck_assert(!reply_valid());
    put(&record);
    crossed->n_windows = RUN_MAX_WINDOWS + 1;
    ck_assert(!reply_valid());
    put(&record);
    crossed->n_bins = SCAN_MAX_BINS + 1;
    ck_assert(!reply_valid());
    put(&record);
    crossed->parts[1].bin.to_s = NAN;
    ck_assert(!reply_valid());
    put(&record);
    reply.rc = 1;
    ck_assert(!reply_valid());
    reply.rc = 0;
    memset(reply.error, 'x', sizeof(reply.error));
    ck_assert(!reply_valid());
}

TEST(plain, no_list_is_longer_than_its_room)
{
    reply.op = SCAN_LIST;
    reply.list.n = 1;
    ck_assert(!reply_valid()); /* of process 0 */
    reply.list.pids[0] = 1;
    ck_assert(reply_valid());
    ck_assert(!scan_reply_valid(&reply, sizeof(reply), SCAN_LIST));
    reply.list.n = 2; /* of which one came */
    ck_assert(!scan_reply_valid(&reply, offsetof(struct scan_reply, list.pids[1]), SCAN_LIST));
    reply.list.n = 0;
    ck_assert(reply_valid());
    reply.list.n = SCAN_MAX_PROCESSES + 1;
    ck_assert(!reply_valid());
    ck_assert_uint_eq(scan_reply_size(&reply), 0);
    ck_assert(!scan_reply_valid(&reply, sizeof(reply), SCAN_LIST));
}

/* --- what a guest writes ---------------------------------------------------------------------- */

TEST(plain, windows_of_writes_ascend)
{
    request.op = SCAN_WRITES;
    ck_assert(!request_valid());
    request.writes = (struct scan_writes){.n_windows = 2, .window_s = {0.1, 10}};
    ck_assert(request_valid());
    request.writes.window_s[1] = 0.1;
    ck_assert(!request_valid());
    request.writes.window_s[1] = NAN;
    ck_assert(!request_valid());
    request.writes = (struct scan_writes){.n_windows = WRITE_POINTS_MAX + 1};
    for (uint32_t i = 0; i < WRITE_POINTS_MAX; i++)
        request.writes.window_s[i] = i + 1;
    ck_assert(!request_valid());
    request.writes.n_windows--;
    ck_assert(request_valid());
}

static const struct write_curve curve = {
    .method = "soft-dirty",
    .flags = FLAG_THP | FLAG_SWAP,
    .granularity_bytes = 4096,
    .sparse_end_bytes = 1 << 20,
    .n = 2,
    .points = {{0.1, 0.11, 8192, 4096, 12288}, {10, 10.5, 16384, 16384, 20480}}};

static void put_curve(void)
{
    reply = (struct scan_reply){.op = SCAN_WRITES};
    scan_curve_put(&reply.written, &curve);
}

TEST(plain, a_curve_comes_back)
{
    struct write_curve back;

    put_curve();
    ck_assert(reply_valid());
    scan_curve_take(&reply.written, &back);
    ck_assert_str_eq(back.method, "soft-dirty");
    ck_assert_uint_eq(back.n, 2);
    check_same(write_fields(), &back, &curve, sizeof(back));
    for (size_t i = 0; i < 2; i++)
        check_same(write_point_fields(), &back.points[i], &curve.points[i],
                   sizeof(struct write_point));
}

TEST(plain, an_impossible_curve_is_none)
{
    const size_t bytes = offsetof(struct write_point, bytes);
    const size_t est_window_s = offsetof(struct write_point, est_window_s);

    put_curve();
    *slot_of(write_point_fields(), bytes, reply.written.points[1]) = 1 << 30;
    ck_assert(!reply_valid());
    put_curve();
    *slot_of(write_point_fields(), est_window_s, reply.written.points[1]) = real(0.11);
    ck_assert(!reply_valid());
    put_curve();
    reply.written.curve[2] = 1ULL << 40; /* no flag */
    ck_assert(!reply_valid());
    put_curve();
    reply.written.n_points = 0;
    ck_assert(!reply_valid());
    put_curve();
    reply.written.n_points = WRITE_POINTS_MAX + 1;
    ck_assert(!reply_valid());
    put_curve();
    reply.written.method = 0;
    ck_assert(!reply_valid());
    reply.rc = -ENOTSUP; /* then nobody takes it */
    ck_assert(reply_valid());
    reply.written.cpu_s = NAN;
    ck_assert(!reply_valid());
}
