// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_virtio_mem.c  The virtio-mem devices of a domain's XML, as libvirt 9.0 writes it. */
#include "guest/domain/domain_virtio_mem.h"

#include "fixture.h"

#include <errno.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define DEVICE(alias, requested)                                                         \
    "<memory model='virtio-mem' discard='yes'><source><pagesize unit='KiB'>4</pagesize>" \
    "</source><target><size unit='KiB'>524288</size><node>0</node>"                      \
    "<block unit='KiB'>2048</block><requested unit='KiB'>" requested "</requested>"      \
    "<current unit='KiB'>262144</current></target><alias name='" alias "'/>"             \
    "<address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/></memory>"
#define DIMM "<memory model='dimm'><target><size unit='KiB'>524288</size></target></memory>"
#define DOMAIN(devices)                                                                             \
    "<domain type='kvm'><metadata><x:a xmlns:x='urn:x'>" DEVICE(                                    \
        "not",                                                                                      \
        "1") "</x:a></metadata><memory unit='KiB'>1310720</memory><currentMemory unit='KiB'>524288" \
             "</currentMemory><devices>" devices "</devices></domain>"
#define BALLOON "<memballoon model='virtio'/>"

static struct domain_virtio_mem found;
static struct error error;

static int parse(const char *xml)
{
    error = (struct error){0};
    return domain_virtio_mem_parse(xml, strlen(xml), &found, &error);
}

TEST(plain, a_device_is_read)
{
    ck_assert_int_eq(parse(DOMAIN(DIMM DEVICE("virtiomem0", "307200") BALLOON)), 0);
    ck_assert_uint_eq(found.n, 1);
    ck_assert_str_eq(found.alias, "virtiomem0");
    ck_assert_uint_eq(found.size_bytes, 512 * MIB);
    ck_assert_uint_eq(found.requested_bytes, 300 * MIB);
    ck_assert_uint_eq(found.current_bytes, 256 * MIB);
    ck_assert_uint_eq(found.block_bytes, 2 * MIB);
    ck_assert_uint_eq(found.total_bytes, 512 * MIB);
    ck_assert(found.balloon);
    ck_assert_int_eq(parse(DOMAIN(DEVICE("a", "0") "<memballoon model='none'/>")), 0);
    ck_assert(!found.balloon);
}

TEST(plain, several_are_summed_up)
{
    ck_assert_int_eq(parse(DOMAIN(DEVICE("a", "307200") DIMM DEVICE("b", "262144"))), 0);
    ck_assert_uint_eq(found.n, 2);
    ck_assert_uint_eq(found.size_bytes, 1024 * MIB);
    ck_assert_uint_eq(found.requested_bytes, 556 * MIB);
}

TEST(plain, none_is_no_error)
{
    ck_assert_int_eq(parse(DOMAIN(DIMM BALLOON)), 0);
    ck_assert_uint_eq(found.n, 0);
    ck_assert_int_eq(parse("<domain/>"), 0);
    ck_assert_uint_eq(found.n, 0);
}

TEST(plain, sizes_that_cannot_be_are_refused)
{
    ck_assert_int_eq(parse(DOMAIN(DEVICE("a", "524289"))), -EINVAL);
    ck_assert_int_eq(parse(DOMAIN(DEVICE("a", "-1"))), -EINVAL);
    ck_assert_int_eq(parse(DOMAIN(DEVICE("a", "99999999999999999999999"))), -EINVAL);
    ck_assert_int_eq(parse(DOMAIN("<memory model='virtio-mem'/>")), -EINVAL);
    ck_assert_int_eq(parse("<domain"), -EINVAL);
    ck_assert_uint_eq(found.n, 0);
}

/* All of it but what is requested is as libvirt had it. */
TEST(plain, a_request_changes_nothing_else)
{
    const char *xml = DOMAIN(DIMM DEVICE("virtiomem0", "307200") BALLOON);
    cleanup_free char *device = domain_virtio_mem_device(xml, strlen(xml), 4 * MIB, &error);
    const char *at;

    ck_assert_ptr_nonnull(device);
    ck_assert_ptr_nonnull(strstr(device, "<requested unit=\"b\">4194304</requested>")
                              ?: strstr(device, "<requested unit='b'>4194304</requested>"));
    ck_assert_ptr_nonnull(strstr(device, "discard="));
    ck_assert_ptr_nonnull(strstr(device, "<pagesize"));
    ck_assert_ptr_nonnull(strstr(device, "virtiomem0"));
    ck_assert_ptr_null(strstr(device, "307200"));
    ck_assert_ptr_null(strstr(device, "dimm"));
    at = strstr(device, "</memory>");
    ck_assert_ptr_nonnull(at);
    ck_assert_str_eq(at, "</memory>");
}

TEST(plain, only_of_one_device)
{
    const char *two = DOMAIN(DEVICE("a", "0") DEVICE("b", "0"));
    const char *none = DOMAIN(DIMM);

    ck_assert_ptr_null(domain_virtio_mem_device(two, strlen(two), 0, &error));
    ck_assert_msg(strstr(error.text, "more than one"), "%s", error.text);
    ck_assert_ptr_null(domain_virtio_mem_device(none, strlen(none), 0, &error));
    ck_assert_msg(strstr(error.text, "no device"), "%s", error.text);
}
