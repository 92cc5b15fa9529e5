// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_domain_xml.c  Domain XML, captured, made and hostile. */
#include "fixture.h"
#include "guest/domain/domain_xml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)
#define NAME "<name>web1</name>"

static struct domain_description d;
static struct error error;

static int parse(const char *xml)
{
    memset(&error, 0, sizeof(error));
    domain_description_free(&d); /* the one before */
    return domain_xml_parse(xml, strlen(xml), &d, &error);
}

/* A domain of the given elements. */
static int parse_domain(const char *elements)
{
    const char *xml = TEXT_OF(8192, "<domain type='kvm'>" NAME "%s</domain>", elements);

    return parse(xml);
}

static void parse_fixture(const char *name)
{
    cleanup_root struct fsroot root = fixture_open(name);
    cleanup_free char *xml;

    ck_assert_int_gt(fsroot_read_all(&root, &xml, 1 << 20, "domain.xml"), 0);
    ck_assert_msg(parse(xml) == 0, "%s", error.text);
}

TEST(plain, captured)
{
    parse_fixture("libvirt");
    ck_assert_str_eq(d.name, "sys1");
    ck_assert_str_eq(d.uuid, "0b0b0b0b-1111-2222-3333-444444444444");
    ck_assert(d.accel_known && !d.kvm);
    ck_assert_uint_eq(d.ram.n_backends, 1);
    ck_assert_str_eq(d.ram.backends[0].id, "pc.ram");
    ck_assert_uint_eq(d.ram.total_bytes, 72 * MIB);
    ck_assert_int_eq(d.ram.backends[0].source, RAM_SOURCE_UNKNOWN);
    ck_assert(!d.ram.locked);
}

TEST(plain, captured_with_cells_and_dimms)
{
    static const char *const ids[] = {"ram-node0", "ram-node1", "memdimm0", "memdimm1"};

    parse_fixture("libvirt-hotplug");
    ck_assert_uint_eq(d.ram.n_backends, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(d.ram.backends[i].id, ids[i]);
        ck_assert_uint_eq(d.ram.backends[i].size_bytes, (i < 2 ? 48 : 128) * MIB);
        ck_assert_int_eq(d.ram.backends[i].dimm, i >= 2);
        ck_assert_int_eq(d.ram.backends[i].source, RAM_SOURCE_MEMFD);
    }
    ck_assert_uint_eq(d.ram.total_bytes, 352 * MIB);
}

TEST(plain, launch_security)
{
    static const struct {
        const char *element, *kind;
    } cases[] = {
        {"<launchSecurity type='sev-snp'><policy>0x30000</policy></launchSecurity>", "SEV-SNP"},
        {"<launchSecurity type='tdx'><policy>0x0</policy></launchSecurity>", "TDX"},
        {"<launchSecurity type='sev'><policy>0x1</policy></launchSecurity>", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[256];

        snprintf(text, sizeof(text), "<memory>1024</memory>%s", cases[i].element);
        ck_assert_msg(parse_domain(text) == 0, "%s", error.text);
        ck_assert_pstr_eq(d.ram.in_guest_memfd, cases[i].kind);
    }
}

TEST(plain, units)
{
    static const struct {
        const char *memory;
        uint64_t bytes;
    } cases[] = {
        {"<memory>1024</memory>", MIB},
        {"<memory unit='KiB'> \n 2048 \t</memory>", 2 * MIB},
        {"<memory unit='k'>1024</memory>", MIB},
        {"<memory unit='KB'>1000</memory>", 1000000},
        {"<memory unit='b'>4096</memory>", 4096},
        {"<memory unit='bytes'>8192</memory>", 8192},
        {"<memory unit='MiB'>3</memory>", 3 * MIB},
        {"<memory unit='m'>3</memory>", 3 * MIB},
        {"<memory unit='MB'>3</memory>", 3000000},
        {"<memory unit='GiB'>2</memory>", 2048 * MIB},
        {"<memory unit='G'>2</memory>", 2048 * MIB},
        {"<memory unit='TiB'>1</memory>", MIB << 20},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_msg(parse_domain(cases[i].memory) == 0, "%s: %s", cases[i].memory, error.text);
        ck_assert_msg(d.ram.total_bytes == cases[i].bytes, "%s", cases[i].memory);
    }
}

TEST(plain, sizes_that_are_none)
{
    static const struct {
        const char *elements;
        int rc;
    } cases[] = {
        {"", -EINVAL},
        {"<memory/>", -EINVAL},
        {"<memory>0</memory>", -EINVAL},
        {"<memory>-1024</memory>", -EINVAL},
        {"<memory>1.5</memory>", -EINVAL},
        {"<memory>0x10</memory>", -EINVAL},
        {"<memory>12 34</memory>", -EINVAL},
        {"<memory unit='parsec'>1</memory>", -EINVAL},
        {"<memory unit='Kib2'>1</memory>", -EINVAL},
        {"<memory unit=''>1</memory>", -EINVAL},
        {"<memory unit='mxyzptlkmxyzptlkmxyzptlk'>1</memory>", -EINVAL},
        {"<memory unit='KiB'>99999999999999999999999</memory>", -E2BIG},
        {"<memory unit='EiB'>999</memory>", -E2BIG},
        {"<memory unit='PiB'>2</memory>", -E2BIG},
        {"<memory>111111111111111111111111111111111111111111111111</memory>", -EINVAL},
        {"<cpu><numa><cell id='0' cpus='0'/></numa></cpu><memory>1</memory>", -EINVAL},
        {"<cpu><numa><cell memory='-1'/></numa></cpu><memory>1</memory>", -EINVAL},
        {"<memory>1024</memory><devices><memory model='dimm'><target/></memory></devices>",
         -EINVAL},
        {"<memory>1024</memory><devices><memory model='dimm'/></devices>", -EINVAL},
        {"<memory>1024</memory><devices><memory model='dimm'><target><size>1024</size></target></memory></devices>",
         -EINVAL},
        {"<memory>1024</memory><devices><memory model='dimm'><target><size unit='E'>15</size></target></memory>"
         "<memory model='nvdimm'><target><size unit='E'>15</size></target></memory></devices>",
         -E2BIG},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_msg(parse_domain(cases[i].elements) == cases[i].rc, "%s: %s", cases[i].elements,
                      error.text);
        ck_assert_ptr_nonnull(strstr(error.text, "domain web1: "));
    }
}

TEST(plain, dimms_are_part_of_the_total)
{
    ck_assert_int_eq(
        parse_domain("<memory unit='MiB'>1000</memory><devices>"
                     "<memory model='dimm'><target><size unit='MiB'>100</size></target></memory>"
                     "<memory model='nvdimm'><target><size unit='MiB'>200</size></target></memory>"
                     "<memory model='virtio-mem'><target><size unit='MiB'>300</size></target>"
                     "<alias name='virtiomem0'/></memory></devices>"),
        0);
    ck_assert_uint_eq(d.ram.n_backends, 3);
    ck_assert_uint_eq(d.ram.backends[0].size_bytes, 400 * MIB);
    ck_assert(!d.ram.backends[0].dimm);
    ck_assert_uint_eq(d.ram.backends[1].size_bytes, 100 * MIB);
    ck_assert_str_eq(d.ram.backends[1].id, "");
    ck_assert_str_eq(d.ram.backends[2].id, "memvirtiomem0");
    ck_assert(d.ram.backends[2].dimm);
    ck_assert_uint_eq(d.ram.total_bytes, 800 * MIB);
}

TEST(plain, backing)
{
    static const struct {
        const char *backing;
        enum ram_source source;
        bool hugetlb, locked;
    } cases[] = {
        {"", RAM_SOURCE_UNKNOWN, false, false},
        {"<locked/>", RAM_SOURCE_UNKNOWN, false, true},
        {"<source type='memfd'/><access mode='shared'/>", RAM_SOURCE_MEMFD, false, false},
        {"<source type='anonymous'/>", RAM_SOURCE_UNKNOWN, false, false},
        {"<source type='file'/><locked/>", RAM_SOURCE_FILE, false, true},
        {"<hugepages/>", RAM_SOURCE_FILE, true, false},
        {"<hugepages/><source type='memfd'/>", RAM_SOURCE_MEMFD, true, false},
        {"<hugepages><page size='2' unit='M'/></hugepages>", RAM_SOURCE_FILE, true, false},
        {"<hugepages><page size='4' unit='KiB'/></hugepages>", RAM_SOURCE_UNKNOWN, false, false},
        {"<hugepages><page size='1' unit='G' nodeset='0'/></hugepages><source type='memfd'/>",
         RAM_SOURCE_UNKNOWN, false, false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char xml[512];

        snprintf(xml, sizeof(xml), "<memory>1024</memory><memoryBacking>%s</memoryBacking>",
                 cases[i].backing);
        ck_assert_int_eq(parse_domain(xml), 0);
        ck_assert_msg(d.ram.backends[0].source == cases[i].source, "%s: source", cases[i].backing);
        ck_assert_msg(d.ram.backends[0].hugetlb == cases[i].hugetlb, "%s: hugetlb",
                      cases[i].backing);
        ck_assert_msg(d.ram.locked == cases[i].locked, "%s: locked", cases[i].backing);
    }
}

TEST(plain, identity)
{
    ck_assert_int_eq(
        parse("<domain type='qemu'><name>a &amp; b &lt;&#x41;</name>"
              "<uuid>0A0B0C0D-1111-2222-3333-AbCdEf444444</uuid><memory>4</memory></domain>"),
        0);
    ck_assert_str_eq(d.name, "a & b <A");
    ck_assert_str_eq(d.uuid, "0a0b0c0d-1111-2222-3333-abcdef444444");
    ck_assert(d.accel_known && !d.kvm);
    ck_assert_int_eq(parse("<domain type='kvm'><name>x</name><memory>4</memory></domain>"), 0);
    ck_assert(d.accel_known && d.kvm);
    ck_assert_str_eq(d.uuid, "");
    ck_assert_int_eq(parse("<domain type='xen'><name>x</name><memory>4</memory></domain>"), 0);
    ck_assert(!d.accel_known);
    ck_assert_int_eq(parse("<domain><memory>4</memory></domain>"), -EINVAL);
    ck_assert_int_eq(parse("<domain><name/><memory>4</memory></domain>"), -EINVAL);
    ck_assert_int_eq(parse("<domain>" NAME "<uuid>xyz</uuid><memory>4</memory></domain>"), -EINVAL);
    ck_assert_int_eq(parse("<domain>" NAME "<uuid>0a0b0c0d-1111-2222-3333-abcdef4444444</uuid>"
                           "<memory>4</memory></domain>"),
                     -EINVAL);
}

TEST(plain, no_xml_of_a_domain)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "<",
                                      "<domain",
                                      "<domain>",
                                      "<domainsnapshot/>",
                                      "junk",
                                      "\xff\xfe",
                                      "<domain><name>a</name><memory>4</domain>",
                                      "<domain/><domain/>",
                                      "{\"name\":\"x\"}"};

    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_assert_msg(parse(bad[i]) == -EINVAL, "%s", bad[i]);
        ck_assert_ptr_null(strchr(error.text, '\n'));
    }
    ck_assert_int_eq(domain_xml_parse("<domain>\0<name/>", 16, &d, &error), -EINVAL);
}

TEST(plain, entities_are_refused)
{
    static const char laughs[] =
        "<!DOCTYPE l [<!ENTITY a 'haha'>"
        "<!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'>"
        "<!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'><!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'>"
        "<!ENTITY f '&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;'><!ENTITY g '&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;'>"
        "<!ENTITY h '&g;&g;&g;&g;&g;&g;&g;&g;&g;&g;'>]>"
        "<domain type='&h;'><name>&h;</name><memory>4</memory></domain>";

    ck_assert_int_eq(parse(laughs), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "document type"));
    ck_assert_int_eq(parse("<!DOCTYPE d [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"
                           "<domain><name>&x;</name><memory>4</memory></domain>"),
                     -EINVAL);
    ck_assert_int_eq(parse("<!DOCTYPE d SYSTEM 'http://localhost/d.dtd'><domain>" NAME
                           "<memory>4</memory></domain>"),
                     -EINVAL);
    ck_assert_int_eq(parse("<!DOCTYPE domain><domain>" NAME "<memory>4</memory></domain>"),
                     -EINVAL);
    ck_assert_int_eq(parse("<domain><name>&undefined;</name><memory>4</memory></domain>"), -EINVAL);
}

TEST(plain, too_much)
{
    size_t size = (17UL << 20) + 1;
    cleanup_free char *xml = malloc(size);
    size_t at = (size_t)sprintf(xml, "<domain>" NAME "<cpu><numa>");

    for (int i = 0; i < 5000; i++)
        at += (size_t)sprintf(xml + at, "<cell memory='4096'/>");
    strcpy(xml + at, "</numa></cpu></domain>");
    ck_assert_int_eq(parse(xml), -E2BIG);

    at = 0;
    for (int i = 0; i < 100000; i++)
        at += (size_t)sprintf(xml + at, "<domain>");
    ck_assert_int_eq(parse(xml), -EINVAL); /* the parser's own limit of depth */

    memset(xml, ' ', size - 1);
    xml[size - 1] = '\0';
    ck_assert_int_eq(parse(xml), -E2BIG);
}

TEST(plain, cells)
{
    ck_assert_int_eq(
        parse_domain("<cpu><numa><cell memory='1' unit='GiB'/><cell id='7' memory='1024'/>"
                     "<cell id='8' memory='0'/></numa></cpu><memory>1</memory>"),
        0);
    ck_assert_uint_eq(d.ram.n_backends, 2);
    ck_assert_str_eq(d.ram.backends[0].id, "ram-node0");
    ck_assert_uint_eq(d.ram.backends[0].size_bytes, 1024 * MIB);
    ck_assert_str_eq(d.ram.backends[1].id, "ram-node7");
    ck_assert_uint_eq(d.ram.total_bytes, 1025 * MIB);
}

#define DEVICES(content) MEMORY_OF_ONE "<devices>" content "</devices>"
#define MEMORY_OF_ONE "<memory unit='MiB'>64</memory>"
#define PORT(attributes) "<target type='virtio' name='org.vmwss.guest.0'" attributes "/>"

TEST(plain, ways_to_an_agent)
{
    ck_assert_int_eq(parse_domain(MEMORY_OF_ONE), 0);
    ck_assert(!d.agent_port.present && d.agent_port.vsock_cid == 0);
    ck_assert_int_eq(
        parse_domain(DEVICES(
            "<channel type='unix'><source mode='bind' path='/run/q'/>"
            "<target type='virtio' name='org.qemu.guest_agent.0'/></channel>"
            "<channel type='unix'><source mode='bind' path='/run/w'/>" PORT(
                " state='disconnected'") "</channel>"
                                         "<vsock model='virtio'><cid auto='yes' address='3'/></vsock>")),
        0);
    ck_assert(d.agent_port.present && d.agent_port.closed);
    ck_assert_str_eq(d.agent_port.path, "/run/w");
    ck_assert_str_eq(d.agent_port.uuid, d.uuid);
    ck_assert_uint_eq(d.agent_port.vsock_cid, 3);
}

TEST(plain, ways_that_lead_elsewhere)
{
    char path[600];

    ck_assert_zero(parse_domain(DEVICES("<channel type='pty'><source path='/dev/pts/1'/>" PORT(
        " state='connected'") "</channel><vsock><cid address='2'/></vsock>")));
    ck_assert(d.agent_port.present && !d.agent_port.closed);
    ck_assert_str_eq(d.agent_port.path, "");
    ck_assert_uint_eq(d.agent_port.vsock_cid, 0);
    ck_assert_zero(parse_domain(DEVICES(
        "<channel type='unix'><source mode='connect' path='/run/w'/>" PORT("") "</channel>")));
    ck_assert_str_eq(d.agent_port.path, "");
    snprintf(path, sizeof(path),
             DEVICES("<channel type='unix'><source path='/%0300d'/>" PORT("") "</channel>"), 0);
    ck_assert_int_eq(parse_domain(path), 0);
    ck_assert_str_eq(d.agent_port.path, "");
}
