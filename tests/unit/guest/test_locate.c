// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_locate.c  Guest RAM in captured processes of every backing, and in made-up address
 * spaces. */
#include "fixture.h"
#include "guest/ram/candidates.h"
#include "guest/ram/guest_ram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)

static struct guest guest;
static struct guest_ram ram;
static struct error error;

static int locate_fixture(const char *name)
{
    struct fsroot root = fixture_open(name);

    ck_assert_msg(guest_open_pid(&root, FIXTURE_PID, &guest, &error) == 0, "%s", error.text);
    guest_ram_free(&ram);
    int rc = guest_ram_locate(&root, &guest.process, &guest.ram, &ram, &error);

    guest_close(&guest);
    fsroot_close(&root);
    return rc;
}

TEST(plain, every_captured_backing)
{
    static const struct {
        const char *fixture;
        uint64_t mib;
        enum ram_backing backing;
        bool shared, locked, huge;
    } cases[] = {
        {"anon-no-thp", 48, RAM_BACKING_ANON, false, false, false},
        {"anon-thp", 64, RAM_BACKING_ANON, false, false, true},
        {"six-gib", 6144, RAM_BACKING_ANON, false, false, true},
        {"mlock", 20, RAM_BACKING_ANON, false, true, true},
        {"memfd", 40, RAM_BACKING_SHMEM, true, false, false},
        {"file-shm", 32, RAM_BACKING_SHMEM, true, false, false},
        {"shared-ram", 36, RAM_BACKING_SHMEM, true, false, false},
        {"file-private", 24, RAM_BACKING_FILE, false, false, false},
        {"hugetlb-memfd", 40, RAM_BACKING_HUGETLB, true, false, true},
        {"hugetlb-file", 64, RAM_BACKING_HUGETLB, false, false, true},
        {"kvm-named", 64, RAM_BACKING_ANON, false, false, true},
        {"libvirt", 72, RAM_BACKING_ANON, false, false, false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].fixture;

        ck_assert_msg(locate_fixture(name) == 0, "%s: %s", name, error.text);
        const struct ram_block *b = &ram.blocks[0];

        ck_assert_msg(ram.n_blocks == 1 && ram.bytes == cases[i].mib * MIB && b->bytes == ram.bytes,
                      "%s", name);
        ck_assert_msg(b->backing == cases[i].backing, "%s: %s", name, ram_backing_name(b->backing));
        ck_assert_msg(b->shared == cases[i].shared, "%s: shared", name);
        ck_assert_msg(b->locked == cases[i].locked, "%s: locked", name);
        ck_assert_msg((b->huge_bytes > 0) == cases[i].huge, "%s: huge", name);
        ck_assert_msg((b->page_bytes == 2 * MIB) == (b->backing == RAM_BACKING_HUGETLB), "%s: page",
                      name);
        ck_assert_uint_eq(b->hva % 4096, 0);
        ck_assert_uint_eq(ram.n_pages, ram.bytes / 4096);
        ck_assert_uint_le(b->resident_bytes, b->bytes);
        ck_assert_msg(b->resident_bytes > 0 || strcmp(name, "libvirt") == 0, "%s: resident", name);
        ck_assert_uint_eq(guest_ram_resident_bytes(&ram), b->resident_bytes);
    }
}

TEST(plain, two_numa_nodes)
{
    ck_assert_int_eq(locate_fixture("two-numa"), 0);
    ck_assert_uint_eq(ram.n_blocks, 2);
    ck_assert_str_eq(ram.blocks[0].id, "ram-node0");
    ck_assert_str_eq(ram.blocks[1].id, "ram-node1");
    ck_assert_uint_gt(ram.blocks[0].hva,
                      ram.blocks[1].hva); /* as the monitor's gpa2hva confirmed */
    ck_assert_uint_eq(ram.blocks[1].first_page, 48 * MIB / 4096);
    ck_assert_uint_eq(guest_ram_hva(&ram, 0), ram.blocks[0].hva);
    ck_assert_uint_eq(guest_ram_hva(&ram, 12287), ram.blocks[0].hva + 48 * MIB - 4096);
    ck_assert_uint_eq(guest_ram_hva(&ram, 12288), ram.blocks[1].hva);
    ck_assert_uint_eq(guest_ram_hva(&ram, 24575), ram.blocks[1].hva + 48 * MIB - 4096);
    ck_assert_ptr_eq(guest_ram_block(&ram, 12287), &ram.blocks[0]);
    ck_assert_ptr_eq(guest_ram_block(&ram, 12288), &ram.blocks[1]);
    ck_assert_uint_eq(guest_ram_resident_bytes(&ram),
                      ram.blocks[0].resident_bytes + ram.blocks[1].resident_bytes);
}

TEST(plain, a_dimm_beside_the_boot_memory)
{
    ck_assert_int_eq(locate_fixture("dimm"), 0);
    ck_assert_uint_eq(ram.n_blocks, 2);
    ck_assert(!ram.blocks[0].dimm);
    ck_assert(ram.blocks[1].dimm);
    ck_assert_uint_eq(ram.blocks[1].bytes, 128 * MIB);
    ck_assert_int_eq(ram.blocks[1].backing, RAM_BACKING_SHMEM);
}

/* 16 MiB of RAM and 16 MiB of VRAM, both anonymous: the one is made before the other. */
TEST(plain, small_memory_of_a_device_is_told_by_order)
{
    ck_assert_int_eq(locate_fixture("vga16"), 0);
    ck_assert_uint_eq(ram.bytes, 16 * MIB);
    ck_assert_uint_eq(ram.n_others > 0, true);
    for (size_t i = 0; i < ram.n_others; i++)
        ck_assert(ram.others[i].end - ram.others[i].hva != 16 * MIB ||
                  ram.others[i].hva < ram.blocks[0].hva);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
}

/* The command line knows one DIMM of two, and the other counts as unclaimed; the live XML knows
 * both. */
TEST(plain, plugged_since_the_start)
{
    cleanup_root struct fsroot root = fixture_open("libvirt-hotplug");
    struct domain_description d;
    cleanup_free char *xml;
    ssize_t n = fsroot_read_all(&root, &xml, 1 << 20, "domain.xml");

    ck_assert_int_eq(locate_fixture("libvirt-hotplug"), 0);
    ck_assert_uint_eq(ram.n_blocks, 3);
    ck_assert_uint_eq(ram.unclaimed_bytes, 128 * MIB);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(domain_xml_parse(xml, (size_t)n, &d, &error), 0);
    guest_ram_free(&ram);
    ck_assert_int_eq(guest_open_pid(&root, FIXTURE_PID, &guest, &error), 0);
    ck_assert_int_eq(guest_ram_locate(&root, &guest.process, &d.ram, &ram, &error), 0);
    ck_assert_uint_eq(ram.n_blocks, 4);
    ck_assert_uint_eq(ram.bytes, (48 + 48 + 128 + 128) * MIB);
    ck_assert_str_eq(ram.blocks[3].id, "memdimm1");
    ck_assert(ram.blocks[3].dimm && !ram.blocks[0].dimm);
    ck_assert_uint_ne(ram.blocks[2].hva, ram.blocks[3].hva);
    guest_close(&guest);
    domain_description_free(&d);
}

static void write_file(const char *dir, const char *name, const char *text)
{
    const char *path = TEXT_OF(160, "proc/5/%s", name);

    unit_write(dir, path, text);
}

static struct qemu_process made = {.pid = 5, .pidfd = -1};

/* From here on made-up address spaces: VMAs of "START-END PERMS INODE PATH | FLAGS". @p maps: NULL
 * for none. */
static int locate_maps(const char *maps, const char *smaps, const struct ram_config *wanted)
{
    const char *dir = unit_dir();
    struct fsroot root;

    write_file(dir, "smaps", smaps);
    if (maps)
        write_file(dir, "maps", maps);
    ck_assert_int_eq(fsroot_open(&root, dir), 0);
    guest_ram_free(&ram);
    int rc = guest_ram_locate(&root, &made, wanted, &ram, &error);

    fsroot_close(&root);
    return rc;
}

static int locate_text(const char *smaps, const struct ram_config *wanted)
{
    return locate_maps(NULL, smaps, wanted);
}

#define RAM(range, perms, offset, inode, path, flags)                      \
    range " " perms " " offset " 00:01 " inode " " path "\nRss:  100 kB\n" \
          "Swap: 8 kB\nAnonHugePages: 0 kB\nVmFlags: rd wr dc " flags "\n"
#define ANON(range, flags) RAM(range, "rw-p", "00000000", "0", "", flags)
#define GUARD(range) range " ---p 00000000 00:00 0 \nVmFlags: mr mw me\n"

static struct ram_config config; /* a test's own */

static void add_backend(const struct ram_backend *backend)
{
    ck_assert_int_eq(ram_config_add(&config, backend), 0);
}

static void one_backend(uint64_t mib, enum ram_source source)
{
    const struct ram_backend backend = {.id = "r", .size_bytes = mib * MIB, .source = source};

    ram_config_free(&config);
    add_backend(&backend);
}

/* Mappings that maps gives no reason to read are skipped: here they would be no valid smaps at all.
 * A mapping that may be RAM behind the first is read. */
TEST(plain, smaps_is_read_no_further_than_ram_may_be)
{
    static const char maps[] = "100000-500000 rw-p 00000000 00:00 0 \n"
                               "500000-501000 ---p 00000000 00:00 0 \n"
                               "600000-a00000 rw-p 00000000 00:00 0 \n"
                               "a00000-a01000 ---p 00000000 00:00 0 \n"
                               "b00000-b01000 ---p 00000000 00:00 0 \n"
                               "c00000-c01000 rw-p 00000000 00:00 0 \n";
    static const char first[] = ANON("100000-500000", "") GUARD("500000-501000");
    static const char stack[] = "600000-a00000 rw-p 00000000 00:00 0 \nVmFlags: rd wr\n";
    char smaps[2000];

    one_backend(4, RAM_SOURCE_ANON);
    snprintf(smaps, sizeof(smaps), "%s%s%s", first, stack,
             GUARD("a00000-a01000") GUARD("b00000-b01000") "no smaps\n");
    ck_assert_int_eq(locate_text(smaps, &config), -EBADMSG);
    ck_assert_msg(locate_maps(maps, smaps, &config) == 0, "%s", error.text);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x100000);
    snprintf(smaps, sizeof(smaps), "%s%s", first,
             ANON("600000-a00000", "") GUARD("a00000-a01000") GUARD("b00000-b01000") "no smaps\n");
    ck_assert_int_eq(locate_maps(maps, smaps, &config), -ENOTUNIQ);
    ck_assert_msg(strstr(error.text, "both 600000-a00000 and 100000-500000 could be it"), "%s",
                  error.text);
    /* Maps that cannot be read, or have no guard at all, end nothing. */
    ck_assert_int_eq(locate_maps("no maps\n", smaps, &config), -EBADMSG);
    ck_assert_int_eq(locate_maps("", smaps, &config), -EBADMSG);
}

/* Beside RAM and ACPI's tables it has 4 MiB of which nothing is known, and a memfd of 1 MiB. */
TEST(plain, a_small_module_may_have_been_plugged)
{
    static const char smaps[] = ANON("10000000-10400000", "")
        GUARD("10400000-10401000") /* 4 MiB, ACPI's 2, and a ROM */
        ANON("20000000-20200000", "") GUARD("20200000-20201000") ANON("28000000-28380000", "")
            GUARD("28380000-28381000")
                RAM("30000000-30100000", "rw-s", "00000000", "77", "/memfd:m", "")
                    GUARD("30100000-30101000") ANON("40000000-44000000", "")
                        GUARD("44000000-44001000");

    one_backend(64, RAM_SOURCE_ANON);
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
    made.config.memory_slots = 2;
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.unclaimed_bytes, 5 * MIB);
    /* virtio-mem needs no slot */
    made.config.memory_slots = 0;
    made.config.max_ram_bytes = 128 * MIB;
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.unclaimed_bytes, 5 * MIB);
    /* An option names firmware, of which the size is not known. */
    made.config.firmware = true;
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.unclaimed_bytes, 1 * MIB);
    made.config = (struct qemu_cmdline){0};
}

TEST(plain, ram_in_guest_memfd_is_refused)
{
    const char *smaps = ANON("10000000-10400000", "") GUARD("10400000-10401000");

    one_backend(4, RAM_SOURCE_ANON);
    config.in_guest_memfd = "SEV-SNP";
    ck_assert_int_eq(locate_text(smaps, &config), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(error.text, "process 5: its RAM cannot be seen (SEV-SNP: "));
    /* Nor can it be proved where options do not tell the RAM. */
    strcpy(config.unknown, "its file is gone");
    ck_assert_int_eq(locate_text(smaps, &config), -ENOTSUP);
    *config.unknown = '\0';
    config.in_guest_memfd = NULL;
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    /* A captured process that has one open, whatever its options say. */
    ck_assert_int_eq(locate_fixture("guest-memfd"), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(error.text, "guest_memfd"));
}

/* As kernels with pages of 4 and of 64 KiB print it: a captured tree may be of another host. */
TEST_EACH(plain, base_pages_of_another_host_are_refused, 0, 2)
{
    static const uint64_t sizes[] = {4096, 65536};
    static const char *const smaps[] = {
        "10000000-10400000 rw-p 00000000 00:00 0 \nKernelPageSize: 4 kB\nRss: 128 kB\n"
        "VmFlags: rd wr dc\n" GUARD("10400000-10401000"),
        "10000000-10400000 rw-p 00000000 00:00 0 \nKernelPageSize: 64 kB\nRss: 128 kB\n"
        "VmFlags: rd wr dc\n" GUARD("10400000-10410000"),
    };
    struct fsroot host;

    ck_assert_int_eq(fsroot_open(&host, "/"), 0);
    page_sizes_read(&host, sizes[_i]);
    fsroot_close(&host);
    one_backend(4, RAM_SOURCE_ANON);
    ck_assert_int_eq(locate_text(smaps[_i], &config), 0);
    ck_assert_uint_eq(ram.n_pages, (4 << 20) / sizes[_i]);
    ck_assert_int_eq(locate_text(smaps[!_i], &config), -ENOTSUP);
    ck_assert_ptr_nonnull(
        strstr(error.text, _i ? "in base pages of 4 KiB, but those of this host have 64 KiB"
                              : "in base pages of 64 KiB, but those of this host have 4 KiB"));
}

TEST(plain, pieces_are_put_together)
{
    one_backend(4, RAM_SOURCE_ANON);
    ck_assert_zero(locate_text(ANON("10000000-10100000", "") ANON("10100000-10300000", "lo mg")
                                   ANON("10300000-10400000", "") GUARD("10400000-10401000"),
                               &config));
    ck_assert_uint_eq(ram.n_blocks, 1);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x10000000);
    ck_assert_uint_eq(ram.blocks[0].bytes, 4 * MIB);
    ck_assert_uint_eq(ram.blocks[0].resident_bytes, 300 << 10);
    ck_assert_uint_eq(ram.blocks[0].swapped_bytes, 24 << 10);
    ck_assert(ram.blocks[0].locked && ram.blocks[0].mergeable);
}

/* With --pid nothing tells of a DIMM that was plugged since QEMU began but its mapping. */
TEST(plain, what_no_configuration_has_may_be_a_dimm)
{
    one_backend(4, RAM_SOURCE_ANON);
    ck_assert_zero(locate_text(ANON("10000000-10400000", "") GUARD("10400000-10401000")
                                   ANON("20000000-30000000", "") GUARD("30000000-30001000")
                                       ANON("40000000-44000000", "") GUARD("44000000-44001000"),
                               &config));
    ck_assert_uint_eq(ram.n_blocks, 1);
    ck_assert_uint_eq(ram.unclaimed_bytes, 256 * MIB); /* 64 MiB are a graphics card's */
    ck_assert_uint_eq(ram.unclaimed_resident_bytes, 100 << 10);
}

TEST(plain, pieces_of_a_file_must_follow_each_other)
{
    one_backend(2, RAM_SOURCE_MEMFD);
    const char *good = RAM("10000000-10100000", "rw-s", "00000000", "9", "/memfd:m (deleted)", "")
        RAM("10100000-10200000", "rw-s", "00100000", "9", "/memfd:m (deleted)", "")
            GUARD("10200000-10201000");
    const char *other_offset = RAM("10000000-10100000", "rw-s", "00000000", "9",
                                   "/memfd:m (deleted)", "")
        RAM("10100000-10200000", "rw-s", "00000000", "9", "/memfd:m (deleted)", "")
            GUARD("10200000-10201000");
    const char *other_file = RAM("10000000-10100000", "rw-s", "00000000", "8", "/memfd:m (deleted)",
                                 "") RAM("10100000-10200000", "rw-s", "00100000", "9",
                                         "/memfd:m (deleted)", "") GUARD("10200000-10201000");

    ck_assert_int_eq(locate_text(good, &config), 0);
    ck_assert_int_eq(locate_text(other_offset, &config), -ENXIO);
    ck_assert_int_eq(locate_text(other_file, &config), -ENXIO);
}

TEST(plain, the_rule)
{
    one_backend(1, RAM_SOURCE_UNKNOWN);
    static const char *const no_ram[] = {
        "",
        ANON("10000000-10100000", ""),                            /* no guard */
        ANON("10000000-10100000", "") GUARD("10101000-10102000"), /* not next to it */
        ANON("10000000-10100000", "") ANON("10101000-10102000", "") GUARD("10102000-10103000"),
        ANON("10000000-10200000", "") GUARD("10200000-10201000"), /* twice the size */
        RAM("10000000-10100000", "rwxp", "00000000", "0", "", "") GUARD("10100000-10101000"),
        RAM("10000000-10100000", "r--p", "00000000", "0", "", "") GUARD("10100000-10101000"),
        "10000000-10100000 rw-p 00000000 00:00 0 \nVmFlags: rd wr\n" GUARD(
            "10100000-10101000"), /* no dc */
        ANON("10000000-10100000", "") "10100000-10101000 ---p 00000000 00:01 7 /x\nVmFlags: mr\n",
        ANON("10000000-10100000", "") "10100000-10101000 r--p 00000000 00:00 0 \nVmFlags: mr\n",
    };

    for (size_t i = 0; i < COUNT(no_ram); i++) {
        ck_assert_msg(locate_text(no_ram[i], &config) == -ENXIO, "case %zu", i);
        ck_assert_ptr_nonnull(strstr(error.text, "not found"));
    }
    /* A guard may have been merged with what follows it. */
    ck_assert_zero(locate_text(ANON("10000000-10100000", "") GUARD("10100000-10108000"), &config));
    ck_assert_int_eq(locate_text("garbage", &config), -EBADMSG);
}

/* The same size four times over; only the kind tells which is meant. */
TEST(plain, backing_decides)
{
    static const char four[] = ANON("10000000-10200000", "") GUARD("10200000-10201000") RAM(
        "20000000-20200000", "rw-s", "00000000", "3", "/memfd:m (deleted)",
        "") GUARD("20200000-20201000")
        RAM("30000000-30200000", "rw-s", "00000000", "4", "/srv/ram", "") GUARD(
            "30200000-30201000") "40000000-40200000 rw-s 00000000 00:0f 5 /memfd:m (deleted)\nKernelPageSize: 2048 kB\n"
                                 "VmFlags: rd wr dc ht\n" GUARD("40200000-40201000");
    one_backend(2, RAM_SOURCE_ANON);
    ck_assert_int_eq(locate_text(four, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x10000000);
    ck_assert_int_eq(ram.blocks[0].backing, RAM_BACKING_ANON);
    config.backends[0].source = RAM_SOURCE_MEMFD;
    ck_assert_int_eq(locate_text(four, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x20000000);
    ck_assert_int_eq(ram.blocks[0].backing, RAM_BACKING_SHMEM);
    config.backends[0].source = RAM_SOURCE_FILE;
    ck_assert_int_eq(locate_text(four, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x30000000);
    ck_assert_int_eq(ram.blocks[0].backing, RAM_BACKING_FILE);
    config.backends[0].source = RAM_SOURCE_UNKNOWN;
    ck_assert_int_eq(locate_text(four, &config), -ENOTUNIQ);
    config.backends[0].hugetlb = true;
    ck_assert_int_eq(locate_text(four, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x40000000);
    ck_assert_int_eq(ram.blocks[0].backing, RAM_BACKING_HUGETLB);
    config.backends[0].source = RAM_SOURCE_MEMFD;
    ck_assert_int_eq(locate_text(four, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x40000000);
}

/* hugetlbfs rounds up to its page: a backend of 3 MiB is mapped as 4 MiB. */
TEST(plain, hugetlb_is_rounded_up)
{
    static const char map[] =
        "40000000-40400000 rw-p 00000000 00:0f 5 /dev/hugepages/x\nKernelPageSize: 2048 kB\n"
        "Private_Hugetlb: 2048 kB\nVmFlags: rd wr dc ht\n" GUARD("40400000-40401000");
    one_backend(3, RAM_SOURCE_FILE);
    ck_assert_int_eq(locate_text(map, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].bytes, 4 * MIB);
    ck_assert_uint_eq(ram.blocks[0].page_bytes, 2 * MIB);
    ck_assert_uint_eq(ram.blocks[0].resident_bytes, 2 * MIB);
    config.backends[0].source = RAM_SOURCE_MEMFD;
    ck_assert_int_eq(locate_text(map, &config), -ENXIO);
}

/* The path of QEMU's or libvirt's own file names its backend: then a twin does no harm, and the
 * order none. */
TEST(plain, ids_in_paths)
{
    static const char map[] = RAM("10000000-10100000", "rw-s", "00000000", "3",
                                  "/var/ram/1-web/ram-node1", "") GUARD("10100000-10101000")
        RAM("20000000-20100000", "rw-p", "00000000", "4",
            "/dev/hugepages/qemu_back_mem.ram-node0.xYz (deleted)", "") GUARD("20100000-20101000")
            RAM("30000000-30100000", "rw-s", "00000000", "5", "/var/ram/other", "")
                GUARD("30100000-30101000");
    one_backend(1, RAM_SOURCE_FILE);
    strcpy(config.backends[0].id, "ram-node1");
    ck_assert_int_eq(locate_text(map, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x10000000);
    strcpy(config.backends[0].id, "ram-node0");
    ck_assert_int_eq(locate_text(map, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x20000000);
    strcpy(config.backends[0].id, "ram-node");
    ck_assert_int_eq(locate_text(map, &config), -ENOTUNIQ);
}

TEST(plain, an_unplugged_dimm_is_left_out)
{
    one_backend(1, RAM_SOURCE_ANON);
    add_backend(&(struct ram_backend){.id = "d", .size_bytes = 8 * MIB, .dimm = true});
    ck_assert_zero(locate_text(ANON("10000000-10100000", "") GUARD("10100000-10101000"), &config));
    ck_assert_uint_eq(ram.n_blocks, 1);
    ck_assert_uint_eq(ram.bytes, MIB);
    config.backends[1].dimm = false;
    ck_assert_int_eq(locate_text(ANON("10000000-10100000", "") GUARD("10100000-10101000"), &config),
                     -ENXIO);
}

/* Its backend is mapped whole; the guest has the part that is plugged, and nothing else uses it. */
TEST(plain, of_virtio_mem_the_populated_part_is_proved)
{
    one_backend(1, RAM_SOURCE_ANON);
    add_backend(
        &(struct ram_backend){.id = "v", .size_bytes = 8 * MIB, .dimm = true, .virtio_mem = true});
    ck_assert_zero(locate_text(
        "10000000-10800000 rw-p 00000000 00:00 0 \nRss: 1024 kB\nSwap: 512 kB\nVmFlags: rd wr "
        "dc\n" GUARD("10800000-10801000") ANON("20000000-20100000", "") GUARD("20100000-20101000"),
        &config));
    ck_assert_uint_eq(ram.bytes, 9 * MIB);
    ck_assert_uint_eq(ram.unproved_bytes, 8 * MIB - 3 * MIB / 2);
    ck_assert_uint_eq(guest_ram_proved_bytes(&ram, MIB), 5 * MIB / 2);
    ck_assert_uint_eq(guest_ram_proved_bytes(&ram, 4 * MIB), 4 * MIB);
    ck_assert_uint_eq(guest_ram_proved_bytes(&ram, 10 * MIB), 9 * MIB);
}

/* Those of which most is known choose first, or the first backend would take the second's. */
/* Without a device that explains one of them. */
TEST(plain, what_cannot_be_told_apart_is_refused)
{
    one_backend(1, RAM_SOURCE_ANON);
    ck_assert_int_eq(locate_text(ANON("10000000-10100000", "") GUARD("10100000-10101000")
                                     ANON("20000000-20100000", "") GUARD("20100000-20101000"),
                                 &config),
                     -ENOTUNIQ);
    ck_assert_ptr_nonnull(strstr(error.text, "1024 KiB"));
}

TEST(plain, knowledge_goes_first)
{
    one_backend(1, RAM_SOURCE_UNKNOWN);
    add_backend(&(struct ram_backend){.id = "m", .size_bytes = MIB, .source = RAM_SOURCE_MEMFD});
    ck_assert_zero(locate_text(ANON("10000000-10100000", "") GUARD("10100000-10101000")
                                   RAM("20000000-20100000", "rw-s", "00000000", "3",
                                       "/memfd:m (deleted)", "") GUARD("20100000-20101000"),
                               &config));
    ck_assert_uint_eq(ram.blocks[0].hva, 0x10000000);
    ck_assert_uint_eq(ram.blocks[1].hva, 0x20000000);
}

/* Beside a VGA of the same size. QEMU 7.2 shares /dev/zero, QEMU 10 a memfd. */
TEST(plain, shared_without_a_file)
{
    static const char *const paths[] = {"/dev/zero (deleted)", "/memfd:ram0 (deleted)"};

    for (size_t i = 0; i < COUNT(paths); i++) {
        char text[512];

        snprintf(text, sizeof(text),
                 "10000000-10100000 rw-s 00000000 00:01 7 %s\nVmFlags: dc\n%s"
                 "20000000-20100000 rw-p 00000000 00:00 0\nVmFlags: dc\n%s",
                 paths[i], GUARD("10100000-10101000"), GUARD("20100000-20101000"));
        one_backend(1, RAM_SOURCE_SHARED);
        ck_assert_int_eq(locate_text(text, &config), 0);
        ck_assert_uint_eq(ram.blocks[0].hva, 0x10000000);
        ck_assert(ram.blocks[0].shared);
    }
}

TEST(plain, backing_by_path)
{
    static const struct {
        const char *path;
        enum ram_backing backing;
    } cases[] = {{"/dev/shm/x", RAM_BACKING_SHMEM},
                 {"/run/user/0/x", RAM_BACKING_SHMEM},
                 {"/dev/zero (deleted)", RAM_BACKING_SHMEM},
                 {"/var/lib/x", RAM_BACKING_FILE},
                 {"/srv/memfd:x", RAM_BACKING_FILE}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        one_backend(1, RAM_SOURCE_UNKNOWN);
        char text[512];

        snprintf(text, sizeof(text), "10000000-10100000 rw-s 00000000 00:01 7 %s\nVmFlags: dc\n%s",
                 cases[i].path, GUARD("10100000-10101000"));
        ck_assert_int_eq(locate_text(text, &config), 0);
        ck_assert_msg(ram.blocks[0].backing == cases[i].backing, "%s", cases[i].path);
    }
}

/* --- of one size ------------------------------------------------------------------------------ */

#define BIG_1 "100000000-110000000"
#define BIG_1_GUARD GUARD("110000000-110001000")
#define BIG_2 "200000000-210000000"
#define BIG_2_GUARD GUARD("210000000-210001000")

static void backends(const struct ram_backend *of_ram, const struct ram_backend *of_device)
{
    ram_config_free(&config);
    add_backend(of_ram);
    if (of_device)
        ck_assert_int_eq(ram_config_add_device(&config, of_device), 0);
}

TEST(plain, the_file_of_mem_path_is_the_ram)
{
    static const char smaps[] = RAM(BIG_1, "rw-s", "00000000", "7", "/srv/vm/ram", "")
        BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "8", "/srv/vm/pmem (deleted)", "") BIG_2_GUARD;
    static const char *const paths[] = {"/srv/vm/ram", "ram", "./ram", "vm/ram", "/vm/ram"};

    for (size_t i = 0; i < COUNT(paths); i++) {
        struct ram_backend backend = {
            .id = "r", .size_bytes = 256 * MIB, .source = RAM_SOURCE_FILE, .order = 2};

        snprintf(backend.path, sizeof(backend.path), "%s", paths[i]);
        backends(&backend, NULL);
        ck_assert_msg(locate_text(smaps, &config) == 0, "%s: %s", paths[i], error.text);
        ck_assert_msg(ram.blocks[0].inode == 7, "%s", paths[i]);
        ck_assert_uint_eq(ram.unclaimed_bytes, 256 * MIB);
    }
    /* one file for both: by the offset in it, else in QEMU's order */
    static const char one_file[] = RAM(BIG_1, "rw-s", "10000000", "7", "/srv/vm/all", "")
        BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "7", "/srv/vm/all", "") BIG_2_GUARD;
    struct ram_backend of_ram = {.id = "r",
                                 .size_bytes = 256 * MIB,
                                 .source = RAM_SOURCE_FILE,
                                 .path = "/srv/vm/all",
                                 .file_offset = 256 * MIB,
                                 .order = 1};
    struct ram_backend of_device = of_ram;

    of_device.file_offset = 0;
    of_device.order = 2;
    backends(&of_ram, &of_device);
    ck_assert_int_eq(locate_text(one_file, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].file_offset, 256 * MIB);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);

    static const char twice[] = RAM(BIG_1, "rw-s", "00000000", "7", "/srv/vm/all", "")
        BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "7", "/srv/vm/all", "") BIG_2_GUARD;

    for (unsigned order = 1; order <= 3; order += 2) {
        of_ram.file_offset = 0;
        of_ram.order = order;
        backends(&of_ram, &of_device);
        ck_assert_int_eq(locate_text(twice, &config), 0);
        ck_assert_uint_eq(ram.blocks[0].hva, order == 1 ? 0x200000000 : 0x100000000);
    }
    /* a file is not found by the end of its name */
    backends(
        &(struct ram_backend){
            .id = "r", .size_bytes = 256 * MIB, .source = RAM_SOURCE_FILE, .path = "am"},
        NULL);
    ck_assert_int_eq(locate_text(smaps, &config), -ENOTUNIQ);
}

TEST(plain, memory_of_a_device_is_no_ram)
{
    static const char smaps[] = RAM(BIG_1, "rw-s", "00000000", "7",
                                    "/memfd:memory-backend-memfd (deleted)", "")
        BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "8", "/memfd:memory-backend-memfd (deleted)", "")
            BIG_2_GUARD;
    const struct ram_backend first = {
        .id = "a", .size_bytes = 256 * MIB, .source = RAM_SOURCE_MEMFD, .order = 1};
    const struct ram_backend second = {
        .id = "b", .size_bytes = 256 * MIB, .source = RAM_SOURCE_MEMFD, .order = 2};

    backends(&first, &second);
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.n_blocks, 1);
    ck_assert_uint_eq(ram.blocks[0].inode, 8); /* QEMU maps downwards */
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
    ck_assert_uint_eq(ram.n_others, 1);
    backends(&second, &first);
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].inode, 7);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
    /* Plugged since QEMU began, and as large: the bounds hold it. */
    backends(&first, NULL);
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].inode, 8);
    ck_assert_uint_eq(ram.unclaimed_bytes, 256 * MIB);
}

/* RAM that is mapped in another way needs none of the mappings that could be the DIMM. */
TEST(plain, a_dimm_as_large_as_ram_of_another_kind)
{
    static const char smaps[] = ANON(BIG_1, "")
        BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "8", "/memfd:memory-backend-memfd (deleted)", "")
            BIG_2_GUARD;
    const struct ram_backend boot = {
        .id = "r", .size_bytes = 256 * MIB, .source = RAM_SOURCE_ANON, .order = 1000};
    const struct ram_backend dimm = {
        .id = "d", .size_bytes = 256 * MIB, .source = RAM_SOURCE_MEMFD, .order = 1, .dimm = true};

    backends(&boot, NULL);
    add_backend(&dimm);
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.n_blocks, 2);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
}

/* A DIMM that was unplugged, or a backend that was deleted, leaves the RAM its mapping. */
TEST(plain, what_is_gone_takes_no_mapping_of_its_size)
{
    static const char one[] = ANON(BIG_1, "") BIG_1_GUARD;
    static const char two[] = ANON(BIG_1, "") BIG_1_GUARD ANON(BIG_2, "") BIG_2_GUARD;
    const struct ram_backend boot = {
        .id = "r", .size_bytes = 256 * MIB, .source = RAM_SOURCE_ANON, .order = 1000};
    struct ram_backend other = {
        .id = "d", .size_bytes = 256 * MIB, .source = RAM_SOURCE_ANON, .order = 1, .dimm = true};

    backends(&boot, NULL);
    add_backend(&other);
    ck_assert_int_eq(locate_text(one, &config), 0);
    ck_assert_str_eq(ram.blocks[0].id, "r");
    ck_assert_uint_eq(ram.n_blocks, 1);
    ck_assert_int_eq(locate_text(two, &config), 0);
    ck_assert_uint_eq(ram.n_blocks, 2);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x100000000);

    other.dimm = false;
    other.spare = true;
    backends(&boot, &other);
    ck_assert_int_eq(locate_text(one, &config), 0);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
    ck_assert_int_eq(locate_text(two, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x100000000);
    ck_assert_uint_eq(ram.unclaimed_bytes, 256 * MIB); /* it may be plugged at any time */
}

/* QEMU maps a BAR of an assigned device as it maps RAM; the guard behind it is that of a thread's
 * stack. */
TEST_EACH(plain, memory_of_an_assigned_device, 0, 2)
{
    static const char *const smaps[] = {
        RAM(BIG_1, "rw-s", "00000000", "7", "/mnt/ram", "")
            BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "8", "anon_inode:[vfio-device]", "io pf ")
                BIG_2_GUARD,
        RAM(BIG_1, "rw-s", "00000000", "7", "/mnt/ram", "")
            BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "8", "/dev/vfio/devices/vfio0", "io pf ")
                BIG_2_GUARD,
    };
    struct ram_backend backend = {.id = "x", .size_bytes = 256 * MIB, .source = RAM_SOURCE_FILE};

    backends(&backend, NULL);
    ck_assert_msg(locate_text(smaps[_i], &config) == 0, "%s", error.text);
    ck_assert_uint_eq(ram.blocks[0].inode, 7);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
}

/* As QEMU 10 makes them with aux-ram-share=on. */
TEST(plain, memfds_with_the_names_of_regions)
{
    static const char smaps[] = RAM(BIG_1, "rw-s", "00000000", "7", "/memfd:ram0 (deleted)", "")
        BIG_1_GUARD RAM(BIG_2, "rw-s", "00000000", "8", "/memfd:0000:00:02.0/vga.vram (deleted)",
                        "") BIG_2_GUARD;
    struct ram_backend backend = {
        .id = "ram0", .size_bytes = 256 * MIB, .source = RAM_SOURCE_SHARED, .order = 1};

    backends(&backend, NULL);
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].inode, 7);
    ck_assert_uint_eq(ram.unclaimed_bytes, 0);
    backend.source = RAM_SOURCE_MEMFD;
    backends(&backend, NULL);
    ck_assert_int_eq(locate_text(smaps, &config), 0);
    ck_assert_uint_eq(ram.blocks[0].inode, 7);
}

/* Another VMM than QEMU: what was proved is RAM, whatever its flags; what may be RAM counts as
 * unclaimed. */
TEST(plain, ram_of_another_vmm)
{
    struct vma vmas[] = {
        {.start = 0x10000000, .end = 0x12000000, .perms = "rw-p", .rss_bytes = 5 * MIB},
        {.start = 0x20000000, .end = 0x21000000, .perms = "rw-s", .rss_bytes = MIB, .inode = 7},
        {.start = 0x30000000, .end = 0x34000000, .perms = "rw-p", .rss_bytes = 3 * MIB},
        {.start = 0x40000000, .end = 0x50000000, .perms = "rw-p", .rss_bytes = 9 * MIB},
    };
    const struct qemu_process process = {.pid = 5, .pidfd = -1, .other_vmm = true};
    struct candidate at[4] = {0};
    struct candidates candidates = {.n = 4, .at = at};
    cleanup_root struct fsroot root = fixture_open("memfd");

    for (size_t i = 0; i < 4; i++)
        at[i] = (struct candidate){.first = vmas[i], .whole = vmas[i], .any = true};
    at[0].taken = at[1].taken = at[2].unclaimed = true;
    ck_assert_int_eq(guest_ram_of_candidates(&root, &process, &candidates, &ram, &error), 0);
    ck_assert_uint_eq(ram.n_blocks, 2);
    ck_assert_uint_eq(ram.bytes, 48 * MIB);
    ck_assert_uint_eq(ram.blocks[0].hva, 0x10000000);
    ck_assert_uint_eq(ram.blocks[1].first_page, 32 * MIB / base_page_bytes());
    ck_assert_uint_eq(guest_ram_resident_bytes(&ram), 6 * MIB);
    ck_assert_uint_eq(ram.unclaimed_bytes, 64 * MIB);
    ck_assert_uint_eq(ram.unclaimed_resident_bytes, 3 * MIB);
}
