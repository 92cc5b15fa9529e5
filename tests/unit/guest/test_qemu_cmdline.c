// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_qemu_cmdline.c  What QEMU's options say about name, uuid, accel and RAM. */
#include "fixture.h"
#include "guest/domain/qemu_cmdline.h"
#include "guest/domain/qemu_option.h"
#include "guest/domain/qemu_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static struct qemu_cmdline line;
static struct error error;

/* Files that the command line names. */
static struct {
    const char *path, *text;
} its_files[4];

static unsigned its_moves; /* of QEMU, when it read its last file */

static ssize_t read_its_file(void *context, const char *path, unsigned moved, char **text,
                             struct error *why)
{
    (void)context;
    its_moves = moved;
    for (size_t i = 0; i < 4 && its_files[i].path; i++)
        if (strcmp(its_files[i].path, path) == 0) {
            *text = strdup(its_files[i].text);
            return (ssize_t)strlen(its_files[i].text);
        }
    return error_set(why, -ENOENT, "No such file or directory");
}

static struct qemu_files host_files = {.exe = "/usr/bin/qemu-system-x86_64", .read = read_its_file};

/* @p options: "-m\0" "1G\0", as in /proc/PID/cmdline; the program's name is put before them. */
#define PARSE(options) \
    parse("qemu-system-x86_64\0" options, sizeof("qemu-system-x86_64\0" options) - 1)

static int parse(const char *text, size_t length)
{
    memset(&error, 0, sizeof(error));
    qemu_cmdline_free(&line); /* the one before */
    return qemu_cmdline_parse(text, length, &host_files, &line, &error);
}

static const struct ram_backend *backend(size_t i)
{
    ck_assert_uint_lt(i, line.ram.n_backends);
    return &line.ram.backends[i];
}

TEST(plain, sockets_and_what_they_are_for)
{
#define PORT "org.vmwss.guest.0"
#define CASE(may, path, options)                                  \
    {                                                             \
        may, path, "qemu\0" options, sizeof("qemu\0" options) - 1 \
    }
    static const struct {
        bool may;
        const char *path, *cmdline;
        size_t length;
    } cases[] = {
        /* nothing of it there: hot-plugged, or passed by libvirt */
        CASE(true, "/a/b", ""),
        CASE(true, "/a/b", "-chardev\0socket,id=c,fd=31,server=on\0"),
        CASE(true, "/a/b", "-qmp\0unix:/a/bc,server=on\0-monitor\0unix:/a,server\0"),
        CASE(true, "/a/b", "-chardev\0socket,id=c,path=/a/b,,c\0"),
        CASE(false, "/a/b", "-readconfig\0/some/file\0"),
        /* monitors in every spelling */
        CASE(false, "/a/b", "-qmp\0unix:/a/b,server=on,wait=off\0"),
        CASE(false, "/a/b", "--qmp\0unix:/a/b"),
        CASE(false, "/a/b", "-qmp\0unix:path=/a/b,server=on\0"),
        CASE(false, "/a/b", "-monitor\0unix:/a/b,server\0"),
        CASE(false, "/a/b", "-serial\0mon:unix:/a/b,server\0"),
        CASE(false, "q.sock", "-qmp\0unix:q.sock,server=on\0"),
        CASE(false, "/a,b", "-qmp\0unix:/a,,b,server=on\0"),
        CASE(false, "/a/b", "-mon\0chardev=c,mode=control\0-chardev\0socket,path=/a/b,id=c\0"),
        CASE(false, "/a/b", "-chardev\0{\"id\":\"c\",\"addr\":{\"data\":[{\"path\":\"/a/b\"}]}}\0"),
        /* other devices */
        CASE(false, "/a/b",
             "-chardev\0socket,id=c,path=/a/b,server=on\0-device\0"
             "virtserialport,chardev=c,name=org.qemu.guest_agent.0\0"),
        CASE(false, "/a/b", "-vnc\0unix:/a/b\0"),
        /* the port */
        CASE(true, "/a/b",
             "-chardev\0socket,id=c,path=/a/b,server=on\0-device\0"
             "virtserialport,chardev=c,name=" PORT "\0-qmp\0unix:/a/c,server=on\0"),
        CASE(true, "/a/b",
             "-device\0{\"driver\":\"virtserialport\",\"chardev\":\"c\",\"name\":\"" PORT "\"}\0"
             "-chardev\0socket,id=c,path=/a/b,server=on\0-readconfig\0/some/file\0"),
        CASE(false, "/a/c",
             "-chardev\0socket,id=c,path=/a/b,server=on\0-device\0"
             "virtserialport,chardev=c,name=" PORT "\0-qmp\0unix:/a/c,server=on\0"),
        CASE(false, "/a/b", /* and a monitor on it */
             "-chardev\0socket,id=c,path=/a/b,server=on,mux=on\0-device\0"
             "virtserialport,chardev=c,name=" PORT "\0-mon\0chardev=c\0"),
        CASE(false, "/a/b", /* either may have bound it */
             "-chardev\0socket,id=c,path=/a/b,server=on\0-device\0"
             "virtserialport,chardev=c,name=" PORT "\0-qmp\0unix:/a/b,server=on\0"),
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(qemu_socket_may_be_port(cases[i].cmdline, cases[i].length, cases[i].path,
                                              PORT) == cases[i].may,
                      "case %zu", i);
    ck_assert(qemu_socket_may_be_port("", 0, "/a/b", PORT));
#undef CASE
#undef PORT
}

/* As of QEMU's manual, and as of libvirt. */
TEST(plain, confidential_guests)
{
    ck_assert_zero(PARSE("-machine\0q35,confidential-guest-support=sev0\0-object\0"
                         "sev-snp-guest,id=sev0,cbitpos=51,reduced-phys-bits=1\0"));
    ck_assert_str_eq(line.ram.in_guest_memfd, "SEV-SNP");
    ck_assert_zero(PARSE("-object\0{\"qom-type\":\"tdx-guest\",\"id\":\"lsec0\"}\0"
                         "-machine\0pc-q35-10.1,confidential-guest-support=lsec0\0"));
    ck_assert_str_eq(line.ram.in_guest_memfd, "TDX");
    /* Encrypted in place, in the backend's own pages. */
    ck_assert_zero(PARSE("-machine\0q35,confidential-guest-support=sev0\0-object\0"
                         "sev-guest,id=sev0,cbitpos=47,reduced-phys-bits=1,policy=0x5\0"));
    ck_assert_ptr_null(line.ram.in_guest_memfd);
}

/* Options as qemu-server of Proxmox VE 8 writes them. */
TEST(plain, uuid_of_smbios)
{
    ck_assert_zero(PARSE("-id\000100\0-name\0web,debug-threads=on\0-no-shutdown\0-smbios\0"
                         "type=1,uuid=0b6f1c9e-3a6e-4b8e-9d7c-2f6a1b1c0d5e\0-smp\0"
                         "2,sockets=1,cores=2,maxcpus=2\0-m\0002048\0"));
    ck_assert_str_eq(line.name, "web");
    ck_assert_str_eq(line.uuid, "0b6f1c9e-3a6e-4b8e-9d7c-2f6a1b1c0d5e");
    ck_assert_zero(PARSE("-uuid\0"
                         "11111111-1111-4111-8111-111111111111\0-smbios\0"
                         "type=1,uuid=0b6f1c9e-3a6e-4b8e-9d7c-2f6a1b1c0d5e\0"));
    ck_assert_str_eq(line.uuid, "11111111-1111-4111-8111-111111111111");
    ck_assert_zero(PARSE("-smbios\0type=2,serial=x\0-smbios\0file=/some/table\0"));
    ck_assert_str_eq(line.uuid, "");
    /* Cut by nobody: what is no UUID is none. */
    ck_assert_zero(PARSE("-smbios\0type=1,uuid=0b6f1c9e-3a6e-4b8e-9d7c-2f6a1b1c0d5e0b6f1c9e\0"));
    ck_assert_str_eq(line.uuid, "");
}

TEST(plain, plain_size_in_every_spelling)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {
        {"512", 512 * MIB},
        {"512M", 512 * MIB},
        {"512m", 512 * MIB},
        {"size=512", 512 * MIB},
        {"1G", GIB},
        {"1.5G", GIB + 512 * MIB},
        {"0.25g", 256 * MIB},
        {"1048576k", GIB},
        {".5G", 512 * MIB}, /* QEMU 8.1 */
        {" +.25g", 256 * MIB},
        {"1.G", GIB},
        {"size=98304k,slots=4,maxmem=2097152k", 96 * MIB},
        {"0x10", 16 * MIB},
        {" 1G", GIB},
        {"+0x10", 16 * MIB},
        {"4096B", 8192},
        {"1T", 1024 * GIB},
        {"0", 128 * MIB},
        {"slots=2,maxmem=4G", 128 * MIB},
        {"256,slots=2,maxmem=4G", 256 * MIB},
    };

    for (size_t i = 0; i < COUNT(sizes); i++) {
        char text[128];
        int n = snprintf(text, sizeof(text), "qemu%c-m%c%s", 0, 0, sizes[i].text);

        ck_assert_zero(parse(text, (size_t)n + 1));
        ck_assert_msg(line.ram.total_bytes == sizes[i].bytes, "%s: %llu", sizes[i].text,
                      (unsigned long long)line.ram.total_bytes);
        ck_assert_uint_eq(line.ram.n_backends, 1);
        ck_assert_str_eq(backend(0)->id, "pc.ram");
        ck_assert_int_eq(backend(0)->source, RAM_SOURCE_ANON);
    }
}

TEST(plain, sizes_that_are_none)
{
    static const char *const bad[] = {"",
                                      ".",
                                      ".G",
                                      ".5.5G",
                                      "0x.8G",
                                      "-1",
                                      "-512M",
                                      "x",
                                      "12q",
                                      "12MM",
                                      "1.5.5G",
                                      "1 G",
                                      "+ 1G",
                                      "+-1G",
                                      "99999999999999999999",
                                      "18446744073709551615",
                                      "17179869184G",
                                      "0x",
                                      "0x1.8",
                                      "1e3",
                                      "8E",
                                      "2000000G",
                                      "nan",
                                      "inf"};

    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[128];
        int n = snprintf(text, sizeof(text), "qemu%c-m%csize=%s", 0, 0, bad[i]);

        ck_assert_msg(parse(text, (size_t)n + 1) == -EINVAL, "-m size=%s was taken", bad[i]);
        ck_assert_ptr_nonnull(strstr(error.text, "-m"));
    }
}

TEST(plain, no_memory_option_is_the_default)
{
    ck_assert_zero(PARSE("-display\0none\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 128 * MIB);
    ck_assert_int_eq(line.accel, ACCEL_UNKNOWN);
    ck_assert_str_eq(line.name, "");
    ck_assert_str_eq(line.uuid, "");
}

TEST(plain, the_last_option_wins)
{
    ck_assert_zero(PARSE("-m\0"
                         "1G\0--m\0"
                         "2G\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 2 * GIB);
    ck_assert_zero(PARSE("-m\0size=1G,size=3G\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 3 * GIB);
}

TEST(plain, machine_backend_in_both_syntaxes)
{
    ck_assert_zero(PARSE("-machine\0pc,memory-backend=ram0\0-m\0"
                         "40\0-object\0"
                         "memory-backend-memfd,id=ram0,size=40M,share=on,hugetlb=on\0"));
    ck_assert_uint_eq(line.ram.n_backends, 1);
    ck_assert_str_eq(backend(0)->id, "ram0");
    ck_assert_uint_eq(backend(0)->size_bytes, 40 * MIB);
    ck_assert_int_eq(backend(0)->source, RAM_SOURCE_MEMFD);
    ck_assert(backend(0)->hugetlb);

    ck_assert_int_eq(
        PARSE("-M\0memory-backend=pc.ram\0-object\0"
              "{\"qom-type\":\"memory-backend-memfd\",\"id\":\"pc.ram\",\"hugetlb\":true,"
              "\"size\":41943040,\"x\":{\"y\":[1]}}\0"),
        0);
    ck_assert_uint_eq(backend(0)->size_bytes, 40 * MIB);
    ck_assert(backend(0)->hugetlb);
    ck_assert_zero(PARSE("-M\0memory-backend=a'\"b\0-object\0"
                         "{'qom-type':\"memory-backend-ram\", 'id': 'a\\'\"b', 'size':2097152,"
                         "'x':\"it's \\\" \\\\\"}\0"));
    ck_assert_uint_eq(backend(0)->size_bytes, 2 * MIB);
    ck_assert_zero(PARSE("-M\0memory-backend=a\0-object\0"
                         "qom-type=memory-backend-file,mem-path=/x,,y=z,size=1048576,id=a\0"));
    ck_assert_int_eq(backend(0)->source, RAM_SOURCE_FILE);
    ck_assert_uint_eq(backend(0)->size_bytes, MIB);
    ck_assert_zero(PARSE("-M\0memory-backend=a\0-object\0"
                         "memory-backend-ram,size=1048576,id=a,share=on\0"));
    ck_assert_int_eq(backend(0)->source, RAM_SOURCE_SHARED);
    ck_assert_zero(PARSE("-M\0memory-backend=a\0-object\0{\"qom-type\":\"memory-backend-ram\","
                         "\"size\":1048576,\"id\":\"a\",\"share\":false}\0"));
    ck_assert_int_eq(backend(0)->source, RAM_SOURCE_ANON);
}

/* QEMU takes an underscore in a key of -machine for a dash (softmmu/vl.c, keyval_dashify()). */
TEST(plain, underscores_in_keys_of_the_machine)
{
    ck_assert_zero(PARSE("-M\0pc,memory_backend=b,max_ram_below_4g=1G\0-m\0"
                         "40\0-object\0memory-backend-memfd,id=a,size=40M\0"
                         "-object\0memory-backend-ram,id=b,size=40M\0"));
    ck_assert_uint_eq(line.ram.n_backends, 1);
    ck_assert_str_eq(backend(0)->id, "b");
    ck_assert_uint_eq(line.max_ram_below_4g_bytes, GIB);
    its_files[0].path = "/a";
    its_files[0].text = "[machine]\n  memory_backend = \"a\"\n";
    ck_assert_zero(PARSE("-readconfig\0/a\0-object\0memory-backend-memfd,id=a,size=40M\0"));
    its_files[0].path = NULL;
    ck_assert_str_eq(backend(0)->id, "a");
}

/* QEMU 7.1 (softmmu/vl.c, parse_memory_options()). */
TEST(plain, memory_of_the_machine)
{
    ck_assert_zero(PARSE("-M\0pc,memory.size=256M,memory.max-size=4G,memory.slots=2\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 256 * MIB);
    ck_assert_uint_eq(line.max_ram_bytes, 4 * GIB);
    ck_assert_uint_eq(line.memory_slots, 2);
    ck_assert_zero(PARSE("-M\0pc,memory.size=268435456\0-m\0size=1G\0"));
    ck_assert_uint_eq(line.ram.total_bytes, GIB);
    ck_assert_zero(PARSE("-m\0size=1G\0-M\0pc,memory.size=256M\0"));
    ck_assert_uint_eq(line.ram.total_bytes, GIB);
    ck_assert_zero(PARSE("-m\0slots=2,maxmem=4G\0-M\0pc,memory.size=256M\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 256 * MIB);
    ck_assert_uint_eq(line.max_ram_bytes, 4 * GIB);
}

/* The size of the address map tells where high RAM lies (guest/ram/gpa.h). */
TEST(plain, size_of_the_map)
{
    ck_assert_int_eq(
        PARSE("-m\0size=96M,slots=2,maxmem=2048G\0-cpu\0EPYC,vendor=AuthenticAMD,+svm\0"
              "-global\0q35-pcihost.pci-hole64-size=1048576K\0-M\0q35,cxl=on\0"),
        0);
    ck_assert_uint_eq(line.max_ram_bytes, 2048ULL << 30);
    ck_assert_uint_eq(line.memory_slots, 2);
    ck_assert_uint_eq(line.pci_hole64_bytes, 1ULL << 30);
    ck_assert_str_eq(line.cpu_vendor, "AuthenticAMD");
    ck_assert(line.cxl);
    ck_assert_zero(PARSE("-m\0"
                         "96\0-cpu\0host,migratable=on\0-global\0ICH9-LPC.disable_s3=1\0-global\0"
                         "driver=i440FX-pcihost,property=pci-hole64-size,value=4G\0"));
    ck_assert_uint_eq(line.max_ram_bytes, 0);
    ck_assert_uint_eq(line.pci_hole64_bytes, 4ULL << 30);
    ck_assert_str_eq(line.cpu_vendor, "");
    ck_assert(!line.cxl);
}

TEST(plain, numa_nodes_and_dimms)
{
    ck_assert_zero(PARSE("-m\0size=96M,slots=2,maxmem=1G\0"
                         "-object\0memory-backend-ram,id=n0,size=48M\0"
                         "-object\0memory-backend-file,id=n1,size=48M,mem-path=/f\0"
                         "-object\0memory-backend-memfd,id=d0,size=128M\0"
                         "-object\0memory-backend-file,id=nv,size=64M,mem-path=/nv\0"
                         "-object\0memory-backend-epc,id=sgx,size=8M\0"
                         "-object\0rng-random,id=r\0"
                         "-device\0{\"driver\":\"pc-dimm\",\"memdev\":\"d0\",\"slot\":0}\0"
                         "-device\0nvdimm,memdev=nv\0-device\0virtio-net-pci,id=memdev\0"
                         "-numa\0node,nodeid=0,memdev=n0\0-numa\0node,nodeid=1,memdev=n1\0"
                         "-numa\0dist,src=0,dst=1,val=20\0"));
    ck_assert_uint_eq(line.ram.n_backends, 3);
    ck_assert_str_eq(backend(0)->id, "n0");
    ck_assert_str_eq(backend(1)->id, "n1");
    ck_assert_int_eq(backend(1)->source, RAM_SOURCE_FILE);
    ck_assert(!backend(1)->dimm);
    ck_assert_str_eq(backend(2)->id, "d0");
    ck_assert(backend(2)->dimm);
    ck_assert_uint_eq(line.ram.total_bytes, 224 * MIB);
}

/* In the order of the nodes, of which one has no memory; a DIMM may be of one. */
TEST(plain, numa_nodes)
{
    ck_assert_zero(PARSE("-m\000112\0-object\0memory-backend-memfd,id=a,size=32M\0"
                         "-object\0memory-backend-memfd,id=b,size=48M\0"
                         "-object\0memory-backend-memfd,id=c,size=32M\0"
                         "-object\0memory-backend-memfd,id=d,size=128M\0"
                         "-numa\0node,nodeid=3,memdev=a\0-numa\0node,nodeid=0,cpus=0\0"
                         "-numa\0node,nodeid=1,memdev=b\0-numa\0node,nodeid=2,memdev=c\0"
                         "-device\0pc-dimm,memdev=d,node=2\0"));
    ck_assert_uint_eq(line.ram.n_backends, 4);
    ck_assert_str_eq(backend(0)->id, "b");
    ck_assert_uint_eq(backend(0)->node, 1 + 1);
    ck_assert_str_eq(backend(1)->id, "c");
    ck_assert_uint_eq(backend(1)->node, 2 + 1);
    ck_assert_str_eq(backend(2)->id, "a");
    ck_assert_uint_eq(backend(2)->node, 3 + 1);
    ck_assert_str_eq(backend(3)->id, "d");
    ck_assert_uint_eq(backend(3)->node, 2 + 1);
}

TEST(plain, numa_nodes_without_numbers)
{
    ck_assert_zero(PARSE("-object\0memory-backend-memfd,id=a,size=32M\0"
                         "-object\0memory-backend-memfd,id=b,size=48M\0"
                         "-numa\0node,memdev=a\0-numa\0node,memdev=b\0"));
    ck_assert_uint_eq(backend(0)->node, 0 + 1);
    ck_assert_uint_eq(backend(1)->node, 1 + 1);
}

TEST(plain, balloon_that_reports_free_pages)
{
    ck_assert_zero(PARSE("-device\0virtio-balloon-pci,id=b\0"));
    ck_assert(!line.free_page_reporting);
    ck_assert_zero(PARSE("-device\0virtio-balloon-pci,free-page-reporting=on,id=b\0"));
    ck_assert(line.free_page_reporting);
    ck_assert_zero(PARSE("-device\0{\"driver\":\"virtio-balloon-ccw\",\"id\":\"b\","
                         "\"free-page-reporting\":true}\0-device\0virtio-net-pci\0"));
    ck_assert(line.free_page_reporting);
}

TEST(plain, memory_that_comes_in)
{
    ck_assert_zero(PARSE("-append\0-incoming\0-m\0256\0"));
    ck_assert(!line.incoming);
    ck_assert_zero(PARSE("-m\0256\0-incoming\0defer\0-S\0"));
    ck_assert(line.incoming && !line.vhost_user);
    ck_assert_zero(PARSE("-m\0256\0-netdev\0{\"type\":\"vhost-user\",\"id\":\"n\"}\0"));
    ck_assert(line.vhost_user && !line.incoming);
}

/* libvirt passes a descriptor. */
#define CHARDEV_OF_LIBVIRT "-chardev\0socket,id=charmonitor,fd=26,server=on,wait=off\0"
#define CHARDEV "-chardev\0socket,id=q,path=q.sock,server=on,wait=off\0"
#define CHARDEV_JSON(address, more)                                                         \
    "-chardev\0{\"id\":\"q\",\"backend\":{\"type\":\"socket\",\"data\":{\"addr\":{" address \
    "}" more "}}}\0-mon\0chardev=q,mode=control\0"
#define QMP_CASE(options, path, unreachable)            \
    {                                                   \
        options, sizeof(options) - 1, path, unreachable \
    }

static const struct qmp_case {
    const char *options;
    size_t length;
    const char *path, *unreachable;
} qmp_cases[] = {
    QMP_CASE("", "", "there is none"),
    QMP_CASE("-qmp\0tcp:localhost:4444,server=on\0-monitor\0unix:/hmp,server=on\0", "",
             "it is no UNIX socket"),
    QMP_CASE("-qmp\0unix:/run/a,,b,server=on,wait=off\0-qmp\0unix:/c,server=on\0", "/run/a,b",
             NULL),
    QMP_CASE("-qmp-pretty\0unix:path=/p,server,nowait\0", "/p", NULL),
    /* a server that can be reached goes before those that cannot, wherever it stands */
    QMP_CASE("-qmp\0tcp::1,server=on\0-qmp\0unix:/b,server=on\0-qmp\0stdio\0", "/b", NULL),
    QMP_CASE("-qmp\0unix:/a\0" CHARDEV "-mon\0q,mode=control\0", "q.sock", NULL),
    QMP_CASE("-qmp\0unix:/a\0", "", "QEMU is its client"),
    QMP_CASE("-qmp\0unix:/a,server=off\0", "", "QEMU is its client"),
    QMP_CASE("-qmp\0unix:/a,server=on,abstract=on\0", "", "it is an abstract one"),
    QMP_CASE("-qmp\0unix:,server=on\0", "", "it is no UNIX socket"),
    QMP_CASE("-qmp\0chardev:q\0" CHARDEV, "q.sock", NULL),
    QMP_CASE("-mon\0mode=readline,chardev=h\0-mon\0chardev=q,mode=control\0"
             "-chardev\0socket,id=h,path=/h,server=on\0" CHARDEV,
             "q.sock", NULL),
    QMP_CASE("-mon\0chardev=h,mode=readline\0-chardev\0socket,id=h,path=/h,server=on\0", "",
             "there is none"),
    QMP_CASE("-mon\0chardev=q,mode=control\0-chardev\0pipe,id=q,path=/h\0", "",
             "it is no UNIX socket"),
    QMP_CASE("-mon\0chardev=q,mode=control\0-chardev\0socket,id=q,path=/h\0", "",
             "QEMU is its client"),
    QMP_CASE(CHARDEV_OF_LIBVIRT "-mon\0chardev=charmonitor,id=monitor,mode=control\0", "",
             "it was passed as a descriptor"),
    QMP_CASE(CHARDEV_OF_LIBVIRT "-mon\0chardev=charmonitor,id=monitor,mode=control\0" CHARDEV
                                "-mon\0chardev=q,mode=control\0",
             "q.sock", NULL),
    /* QEMU 11.1, and how libvirt 12.9 writes it */
    QMP_CASE("-object\0monitor-qmp,id=m,chardev=q\0" CHARDEV, "q.sock", NULL),
    QMP_CASE(CHARDEV "-object\0{\"qom-type\":\"monitor-qmp\",\"id\":\"m\",\"chardev\":\"q\","
                     "\"pretty\":true}\0",
             "q.sock", NULL),
    QMP_CASE(
        CHARDEV_OF_LIBVIRT
        "-object\0{\"qom-type\":\"monitor-qmp\",\"id\":\"monitor\",\"chardev\":\"charmonitor\"}\0",
        "", "it was passed as a descriptor"),
    QMP_CASE(CHARDEV "-object\0monitor-hmp,id=m,chardev=q\0", "", "there is none"),
    /* as libvirt writes a chardev to a QEMU that takes JSON */
    QMP_CASE(CHARDEV_JSON("\"type\":\"unix\",\"data\":{\"path\":\"/j\"}", ",\"server\":true"), "/j",
             NULL),
    QMP_CASE(CHARDEV_JSON("\"type\":\"unix\",\"data\":{\"path\":\"/j\"}", ""), "/j", NULL),
    QMP_CASE(CHARDEV_JSON("\"type\":\"unix\",\"data\":{\"path\":\"/j\"}", ",\"server\":false"), "",
             "QEMU is its client"),
    QMP_CASE(CHARDEV_JSON("\"type\":\"unix\",\"data\":{\"path\":\"j\",\"abstract\":true}", ""), "",
             "it is an abstract one"),
    QMP_CASE(CHARDEV_JSON("\"type\":\"fd\",\"data\":{\"str\":\"29\"}", ""), "",
             "it was passed as a descriptor"),
    QMP_CASE(CHARDEV_JSON("\"type\":\"inet\",\"data\":{\"host\":\"::\",\"port\":\"1\"}", ""), "",
             "it is no UNIX socket"),
};

TEST_EACH(plain, qmp_socket, 0, COUNT(qmp_cases))
{
    const struct qmp_case *c = &qmp_cases[_i];
    char cmdline[1024] = "qemu";

    ck_assert_uint_lt(c->length + 5, sizeof(cmdline));
    memcpy(cmdline + 5, c->options, c->length);
    ck_assert_zero(parse(cmdline, 5 + c->length));
    ck_assert_str_eq(line.qmp_path, c->path);
    ck_assert_pstr_eq(line.qmp_unreachable, c->unreachable);
}

TEST(plain, qmp_path_that_does_not_fit)
{
    char cmdline[400] = "qemu\0-qmp\0unix:";
    size_t length = 15;

    memset(cmdline + length, 'p', 300);
    length += 300;
    memcpy(cmdline + length, ",server=on", 11);
    ck_assert_zero(parse(cmdline, length + 11));
    ck_assert_str_eq(line.qmp_path, "");
    ck_assert_str_eq(line.qmp_unreachable, "its path is too long");
}

TEST(plain, default_block_beside_dimms_and_plain_numa)
{
    ck_assert_zero(PARSE("-m\0"
                         "56M\0-numa\0node,cpus=0\0-object\0memory-backend-ram,id=d,size=1G\0"
                         "-device\0virtio-mem-pci,memdev=d,id=vm0\0-mem-path\0/dev/hugepages\0"));
    ck_assert_uint_eq(line.ram.n_backends, 2);
    ck_assert_str_eq(backend(0)->id, "pc.ram");
    ck_assert_int_eq(backend(0)->source, RAM_SOURCE_FILE);
    ck_assert_uint_eq(backend(1)->size_bytes, GIB);
    ck_assert(backend(1)->dimm);
}

/* Without them each such guest would have an unclaimed mapping as large as a DIMM for ever. */
TEST(plain, memory_of_a_board_is_no_ram)
{
    static const struct {
        const char *options;
        size_t length, n;
        const char *id; /* the last one */
        uint64_t mib;
    } cases[] = {
#define BOARD(options, n, id, mib) {"qemu\0" options, sizeof("qemu\0" options) - 1, n, id, mib}
        BOARD("-M\0virt\0-m\0004G\0", 2, "flash", 64),
        BOARD("-M\0virt,mte=on\0-m\0004G\0", 3, "tag", 128),
        BOARD("-M\0virt\0-m\0008G\0-machine\0mte=on\0-numa\0node,memdev=a\0-object\0"
              "memory-backend-ram,id=a,size=8G\0-object\0memory-backend-ram,id=d,size=1G\0"
              "-device\0pc-dimm,memdev=d\0",
              3, "tag", 256),
        BOARD("-M\0sbsa-ref\0", 3, "secure-ram", 512),
        BOARD("-M\0virt,secure=on\0-m\00016M\0", 3, "secure-ram", 16),
    };
    const char *exe = host_files.exe;

    host_files.exe = "/usr/bin/qemu-system-aarch64";
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_zero(parse(cases[i].options, cases[i].length));
        ck_assert_uint_eq(line.ram.n_devices, cases[i].n);
        ck_assert_str_eq(line.ram.devices[cases[i].n - 1].id, cases[i].id);
        ck_assert_uint_eq(line.ram.devices[cases[i].n - 1].size_bytes, cases[i].mib * MIB);
    }
    host_files.exe = exe;
}

/* How much of it is plugged may change while QEMU runs, whatever its options request. */
TEST(plain, the_plugged_part_of_virtio_mem_is_not_known)
{
    ck_assert_zero(PARSE("-m\0"
                         "56M\0-object\0memory-backend-ram,id=d,size=1G\0"
                         "-device\0pc-dimm,memdev=d\0"));
    ck_assert_uint_eq(ram_config_bytes(&line.ram), GIB + (56ULL << 20));
    ck_assert_zero(PARSE("-m\0"
                         "56M\0-object\0memory-backend-ram,id=d,size=1G\0"
                         "-device\0virtio-mem-pci,memdev=d,requested-size=1G\0"));
    ck_assert(backend(1)->virtio_mem);
    ck_assert_uint_eq(ram_config_bytes(&line.ram), 0);
    ck_assert_zero(PARSE("-m\0"
                         "56M\0-device\0virtio-mem-pci,id=v\0"));
    ck_assert_ptr_nonnull(strstr(line.ram.unknown, "no memdev"));
}

TEST(plain, the_plugged_part_of_hyper_vs_memory_is_not_known)
{
    ck_assert_zero(PARSE("-m\000256,maxmem=4G\0-object\0memory-backend-ram,id=h,size=1G\0"
                         "-device\0hv-balloon,memdev=h\0"));
    ck_assert_uint_eq(line.ram.n_backends, 2);
    ck_assert(backend(1)->virtio_mem);
    ck_assert_zero(PARSE("-m\000256\0-device\0hv-balloon\0"));
    ck_assert_uint_eq(ram_config_bytes(&line.ram), 256 * MIB);
}

TEST(plain, objects_that_cannot_be_used)
{
    static const char long_id[] =
        "-M\0memory-backend=a\0-object\0memory-backend-ram,size=1M,id="
        "0123456789012345678901234567890123456789012345678901234567890123456789\0";

    ck_assert_int_eq(PARSE("-M\0memory-backend=nope\0"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "nope"));
    ck_assert_int_eq(PARSE("-numa\0node,memdev=nope\0"), -EINVAL);
    ck_assert_int_eq(PARSE("-object\0memory-backend-ram,id=a\0"), -EINVAL);
    ck_assert_int_eq(PARSE("-object\0memory-backend-ram,size=1G\0"), -EINVAL);
    ck_assert_int_eq(PARSE("-object\0memory-backend-ram,id=a,size=0\0"), -EINVAL);
    ck_assert_int_eq(
        PARSE("-object\0{\"qom-type\":\"memory-backend-ram\",\"id\":\"a\",\"size\":-5}\0"),
        -EINVAL);
    ck_assert_int_eq(
        PARSE("-object\0{\"qom-type\":\"memory-backend-ram\",\"id\":\"a\",\"size\":1e300}\0"),
        -EINVAL);
    ck_assert_int_eq(PARSE("-object\0{\"qom-type\":\"memory-backend-ram\",\"id\":\"a\",\"size\":"
                           "99999999999999999999999}\0"),
                     -EINVAL);
    ck_assert_int_eq(PARSE("-object\0{\"qom-type\":\"memory-backend-ram\"\0"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "JSON"));
    ck_assert_int_eq(PARSE("-object\0{\"id\":\"a\",\"id\":\"b\"}\0"), -EINVAL);
    ck_assert_int_eq(parse(long_id, sizeof(long_id) - 1), -EINVAL);
    ck_assert_int_eq(PARSE("-machine\0none,accel=kvm:tcg\0"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "no guest"));
}

TEST(plain, more_backends_than_possible)
{
    size_t size = 200000;
    cleanup_free char *text = calloc(1, size);
    size_t at = (size_t)snprintf(text, size, "qemu") + 1;

    for (int i = 0; i < RAM_CONFIG_MAX_BACKENDS + 1; i++)
        at += (size_t)snprintf(text + at, size - at, "-object%cmemory-backend-ram,id=a%d,size=1M",
                               0, i) +
              1;
    ck_assert_int_eq(parse(text, at), -EINVAL);
    at = (size_t)snprintf(text, size, "qemu") + 1;
    at += (size_t)snprintf(text + at, size - at, "-object%cmemory-backend-ram,id=a,size=1M", 0) + 1;
    for (int i = 0; i < 128; i++)
        at += (size_t)snprintf(text + at, size - at, "-numa%cnode,memdev=a", 0) + 1;

    const size_t nodes = at;

    at += (size_t)snprintf(text + at, size - at, "-numa%cnode,memdev=a", 0) + 1;
    ck_assert_int_eq(parse(text, at), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "more than 128 NUMA nodes"));
    at = nodes;
    for (int i = 128; i < RAM_CONFIG_MAX_BACKENDS; i++)
        at += (size_t)snprintf(text + at, size - at, "-device%cpc-dimm,memdev=a", 0) + 1;
    ck_assert_zero(parse(text, at));
    ck_assert_uint_eq(line.ram.n_backends, RAM_CONFIG_MAX_BACKENDS);
    at += (size_t)snprintf(text + at, size - at, "-device%cpc-dimm,memdev=a", 0) + 1;
    ck_assert_int_eq(parse(text, at), -EINVAL);
}

TEST(plain, accelerators)
{
    ck_assert_zero(PARSE("-accel\0tcg,thread=multi\0"));
    ck_assert_int_eq(line.accel, ACCEL_TCG);
    ck_assert_zero(PARSE("-accel\0kvm\0-accel\0tcg\0"));
    ck_assert_int_eq(line.accel, ACCEL_KVM);
    ck_assert_zero(PARSE("-machine\0q35,accel=tcg:kvm\0"));
    ck_assert_int_eq(line.accel, ACCEL_TCG);
    ck_assert_zero(PARSE("-M\0accel=kvm:tcg,type=pc\0"));
    ck_assert_int_eq(line.accel, ACCEL_KVM);
    ck_assert_zero(PARSE("-enable-kvm\0-m\0"
                         "64\0"));
    ck_assert_int_eq(line.accel, ACCEL_KVM);
    ck_assert_uint_eq(line.ram.total_bytes, 64 * MIB);
    ck_assert_zero(PARSE("-accel\0kvmx\0"));
    ck_assert_int_eq(line.accel, ACCEL_UNKNOWN);
    ck_assert_str_eq(accel_name(ACCEL_KVM), "kvm");
    ck_assert_str_eq(accel_name(ACCEL_TCG), "tcg");
    ck_assert_str_eq(accel_name(ACCEL_UNKNOWN), "unknown");
}

TEST(plain, names_and_uuid)
{
    ck_assert_zero(PARSE("-name\0guest=two,,commas,debug-threads=on\0-uuid\0"
                         "0a0a0a0a-1111-2222-3333-444444444444\0"));
    ck_assert_str_eq(line.name, "two,commas");
    ck_assert_str_eq(line.uuid, "0a0a0a0a-1111-2222-3333-444444444444");
    ck_assert_zero(PARSE("-name\0web1\0"));
    ck_assert_str_eq(line.name, "web1");
    ck_assert_zero(PARSE("-name\0web1,process=qemu\0"));
    ck_assert_str_eq(line.name, "web1");
    ck_assert_zero(PARSE("-name\0{curly}\0")); /* a name is never JSON */
    ck_assert_str_eq(line.name, "{curly}");
}

TEST(plain, locked_memory)
{
    ck_assert_zero(PARSE("-overcommit\0mem-lock=on\0"));
    ck_assert(line.ram.locked);
    ck_assert_zero(PARSE("-overcommit\0mem-lock=off,cpu-pm=on\0"));
    ck_assert(!line.ram.locked);
}

TEST(plain, arguments_that_look_like_options)
{
    ck_assert_zero(PARSE("-append\0-m\0-m\0"
                         "64\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 64 * MIB);
    ck_assert_zero(PARSE("-name\0-m\0-daemonize\0-m\0"
                         "32\0disk.img\0"));
    ck_assert_str_eq(line.name, "-m");
    ck_assert_uint_eq(line.ram.total_bytes, 32 * MIB);
}

TEST(plain, bytes_that_are_no_command_line)
{
    char unterminated[] = {'q', 0, '-', 'm', 0, '6', '4'};
    cleanup_free char *huge = malloc(4 << 20);

    ck_assert_int_eq(parse("", 0), -EINVAL);
    ck_assert_zero(parse(unterminated, sizeof(unterminated)));
    ck_assert_uint_eq(line.ram.total_bytes, 64 * MIB);
    ck_assert_zero(parse(unterminated, 5)); /* -m without its argument */
    ck_assert_uint_eq(line.ram.total_bytes, 128 * MIB);
    ck_assert_zero(parse(unterminated, 4)); /* nor even its NUL */
    ck_assert_zero(parse("\0\0\0\0", 4));
    memset(huge, ',', 4 << 20);
    memcpy(huge, "q\0-name\0", 8);
    ck_assert_zero(parse(huge, 4 << 20));
    memcpy(huge, "q\0-object\0{", 11);
    ck_assert_int_eq(parse(huge, 4 << 20), -EINVAL);
}

TEST(plain, option_values)
{
    struct qemu_option option = {.text = "first,flag,a=1,,2,b=,a=x,,"};
    char value[8];

    ck_assert_int_eq(qemu_option_get(&option, "implied", "implied", value, sizeof(value)), 1);
    ck_assert_str_eq(value, "first");
    ck_assert_zero(qemu_option_get(&option, "implied", "first", value, sizeof(value)));
    ck_assert_int_eq(qemu_option_get(&option, NULL, "first", value, sizeof(value)), 1);
    ck_assert(qemu_option_is_on(&option, "flag"));
    ck_assert(!qemu_option_is_on(&option, "b"));
    ck_assert_int_eq(qemu_option_get(&option, NULL, "a", value, sizeof(value)), 1);
    ck_assert_str_eq(value, "x,");
    ck_assert_int_eq(qemu_option_get(&option, NULL, "b", value, sizeof(value)), 1);
    ck_assert_str_eq(value, "");
    ck_assert_int_eq(qemu_option_get(&option, "implied", "implied", value, 3), -EOVERFLOW);
    ck_assert_str_eq(value, "fi");
    ck_assert_zero(qemu_option_get(&option, NULL, "c", value, sizeof(value)));
}

TEST(plain, size_limits)
{
    uint64_t bytes = 42;

    ck_assert_int_eq(qemu_size_parse("8E", 1, &bytes), -ERANGE);
    ck_assert_int_eq(qemu_size_parse("16E", 1, &bytes), -ERANGE);
    ck_assert_int_eq(qemu_size_parse("9223372036854775808", 1, &bytes), -ERANGE);
    ck_assert_int_eq(qemu_size_parse("x", 1, &bytes), -EINVAL);
    ck_assert_uint_eq(bytes, 42); /* untouched by errors */
    ck_assert_zero(qemu_size_parse("9223372036854775807", 1, &bytes));
    ck_assert_uint_eq(bytes, INT64_MAX);
}

TEST(plain, captured_from_libvirt)
{
    cleanup_root struct fsroot root = fixture_open("libvirt-hotplug");
    cleanup_free char *text;
    ssize_t n = fsroot_read_all(&root, &text, 1 << 20, "proc/%d/cmdline", FIXTURE_PID);

    ck_assert_int_gt(n, 0);
    ck_assert_zero(parse(text, (size_t)n));
    ck_assert_str_eq(line.name, "sys2");
    ck_assert_int_eq(line.accel, ACCEL_TCG);
    ck_assert_uint_eq(line.ram.n_backends, 3); /* the fourth was plugged later */
    ck_assert_str_eq(backend(1)->id, "ram-node1");
    ck_assert_str_eq(backend(2)->id, "memdimm0");
    ck_assert(backend(2)->dimm);
    ck_assert_int_eq(backend(2)->source, RAM_SOURCE_MEMFD);
    ck_assert_uint_eq(line.ram.total_bytes, 224 * MIB);
}

/* --- files ------------------------------------------------------------------------------------ */

static int parse_file(const char *text)
{
    its_files[0].path = "/run/vm.conf";
    its_files[0].text = text;
    return PARSE("-no-user-config\0-readconfig\0/run/vm.conf\0");
}

/* As Incus writes it. */
TEST(plain, all_of_the_machine_is_in_a_file)
{
    ck_assert_zero(parse_file("# Machine\n[machine]\n  graphics = \"off\"\n  type = \"q35\"\n"
                              "  accel = \"kvm\"\n\n[memory]\nsize = \"1024M\"\n"
                              "[global]\n driver = \"q35-pcihost\"\n"
                              " property = \"pci-hole64-size\"\n value = \"64G\"\n"
                              "[object \"mem0\"]\nqom-type = \"memory-backend-memfd\"\n"
                              "size = \"512M\"\nshare = \"on\"\n[numa]\ntype = \"node\"\n"
                              "nodeid = \"1\"\nmemdev = \"mem0\"\n"
                              "[object \"mem1\"]\nqom-type = \"memory-backend-ram\"\n"
                              "size = \"512M\"\n[numa]\ntype = \"node\"\nnodeid = \"0\"\n"
                              "memdev = \"mem1\"\n"));
    ck_assert_str_eq(line.ram.unknown, "");
    ck_assert_str_eq(line.machine, "q35");
    ck_assert_int_eq(line.accel, ACCEL_KVM);
    ck_assert_uint_eq(line.pci_hole64_bytes, 64 * GIB);
    ck_assert_uint_eq(line.ram.n_backends, 2);
    ck_assert_str_eq(backend(0)->id, "mem1");
    ck_assert_str_eq(backend(1)->id, "mem0");
    ck_assert_int_eq(backend(1)->source, RAM_SOURCE_MEMFD);
    ck_assert_uint_eq(line.ram.total_bytes, GIB);
    /* a file is a proposal, until its blocks were located */
    ck_assert(line.ram.assumed);
    ck_assert_uint_eq(ram_config_bytes(&line.ram), 0);
}

/* Later options take precedence key by key; -m over the machine's memory. */
TEST(plain, files_and_options_are_merged)
{
    its_files[0].path = "/run/vm.conf";
    its_files[0].text = "[memory]\n  size = \"256\"\n  maxmem = \"4G\"\n  slots = \"2\"\n"
                        "[device \"dimm0\"]\n  driver = \"pc-dimm\"\n  memdev = \"d0\"\n";
    ck_assert_zero(PARSE("-m\000512\0-readconfig\0/run/vm.conf\0-object\0"
                         "memory-backend-ram,id=d0,size=128M\0-object\0"
                         "memory-backend-ram,id=d1,size=64M\0-M\0q35,memory.size=1G\0"
                         "-set\0device.dimm0.memdev=d1\0"));
    ck_assert_uint_eq(line.ram.n_backends, 2);
    ck_assert_uint_eq(backend(0)->size_bytes, 256 * MIB);
    ck_assert_uint_eq(backend(1)->size_bytes, 64 * MIB);
    ck_assert(backend(1)->dimm);
    ck_assert_uint_eq(line.max_ram_bytes, 4 * GIB);
    ck_assert_uint_eq(line.memory_slots, 2);
    ck_assert_zero(PARSE("-m\0slots=2,maxmem=4G\0-m\000512\0-M\0pc\0-M\0"
                         "memory-backend=x\0-object\0memory-backend-memfd,id=x,size=512M\0"));
    ck_assert_uint_eq(line.max_ram_bytes, 4 * GIB);
    ck_assert_str_eq(backend(0)->id, "x");
    ck_assert_uint_eq(ram_config_bytes(&line.ram), 512 * MIB);
}

TEST(plain, the_administrators_file_comes_first)
{
    its_files[0].path = "/etc/qemu/qemu.conf";
    its_files[0].text = "[memory]\n  size = \"640M\"\n[machine]\n  type = \"q35\"\n";
    ck_assert_zero(PARSE("-name\0g\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 640 * MIB);
    ck_assert_str_eq(line.machine, "q35");
    ck_assert_zero(PARSE("-m\000256\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 256 * MIB);
    ck_assert_zero(PARSE("-m\000256\0-no-user-config\0"));
    ck_assert_str_eq(line.machine, "");
    ck_assert(!line.ram.assumed);
    ck_assert_zero(PARSE("-append\0-no-user-config\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 640 * MIB);
}

TEST(plain, a_file_that_is_not_understood_leaves_the_ram_unknown)
{
    static const char *const texts[] = {
        "[memory]\n  size = 256M\n",
        "size = \"256M\"\n",
        "[memory]\n  size\n",
        "[memory\n size = \"1G\"\n[\n",
        "[memory]\n  size = \"lots\"\n",
        "[memory]\n \n",
        "[object \"m\"]\n qom-type = \"memory-backend-ram\"\n",
        "[memory]\n  si,ze = \"256M\"\n",
        "\x7f"
        "ELF\x02\x01\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        ck_assert_msg(parse_file(texts[i]) == 0, "%zu: %s", i, error.text);
        ck_assert_msg(strstr(line.ram.unknown, "/run/vm.conf (-readconfig): "), "%zu: %s", i,
                      line.ram.unknown);
        ck_assert_uint_eq(line.ram.n_backends, 0);
    }
    ck_assert_zero(PARSE("-m\000256\0-readconfig\0/run/other.conf\0"));
    ck_assert_ptr_nonnull(strstr(line.ram.unknown, "/run/other.conf"));
    host_files.read = NULL;
    ck_assert_zero(PARSE("-m\000256\0-readconfig\0/run/vm.conf\0"));
    ck_assert_ptr_nonnull(strstr(line.ram.unknown, "/run/vm.conf"));
    host_files.read = read_its_file;
}

/* Only these two say where a relative path begins. */
TEST(plain, a_file_after_other_options)
{
    ck_assert_int_eq(
        PARSE("-nodefaults\0-no-user-config\0-incoming\0defer\0-readconfig\0vm.conf\0"), 0);
    ck_assert_uint_eq(its_moves, 0);
    ck_assert_int_eq(PARSE("-readconfig\0vm.conf\0-nodefaults\0-daemonize\0-chroot\0/\0"), 0);
    ck_assert_uint_eq(its_moves, QEMU_MOVED_DIRECTORY | QEMU_MOVED_ROOT);
}

TEST(plain, lines_as_qemu_reads_them)
{
    ck_assert_zero(parse_file("#[memory]\n\n[memory]\n\tsize = \"1G\" # one\n[name]\n"
                              "  guest = \"a,b=c\"\n  process = \"\"\n[smp-opts]\n"
                              "  cpus = \"1\"\n[unknown \"x\"]\n  m = \"2G\""));
    ck_assert_str_eq(line.ram.unknown, "");
    ck_assert_str_eq(line.name, "a,b=c");
    ck_assert_uint_eq(line.ram.total_bytes, GIB);
}

/* --- what is not known ------------------------------------------------------------------------ */

TEST(plain, ram_without_m_by_machine_type)
{
    static const struct {
        const char *exe, *machine;
        uint64_t mib; /* 0: not known */
    } cases[] = {
        {"/usr/bin/qemu-system-x86_64", "", 128},
        {"/usr/bin/qemu-system-x86_64", "pc-q35-9.2", 128},
        {"/usr/bin/qemu-system-x86_64", "pc-i440fx-7.2", 128},
        {"/usr/libexec/qemu-kvm", "q35", 128},
        {"/nix/store/x/bin/.qemu-system-ppc64-wrapped", "pseries", 512},
        {"/usr/bin/qemu-system-ppc64", "pseries-7.2", 512},
        {"/usr/bin/qemu-system-ppc64", "powernv9", 1024},
        {"/usr/bin/qemu-system-ppc64", "mac99", 0},
        {"/usr/bin/qemu-system-aarch64", "virt", 128},
        {"/usr/bin/qemu-system-aarch64", "raspi3b", 1024},
        {"/usr/bin/qemu-system-aarch64", "", 0},
        {"/usr/bin/qemu-system-loongarch64", "virt", 1024},
        {"/usr/bin/qemu-system-riscv64", "virt", 128},
        {"/usr/bin/qemu-system-riscv64", "sifive_u", 0},
        {"/usr/bin/qemu-system-m68k", "virt", 0},
        {"/usr/bin/qemu-system-x86_64", "mine", 0},
    };
    const char *exe = host_files.exe;

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[128];
        int n = snprintf(text, sizeof(text), "x%c-M%c%s%c", 0, 0, cases[i].machine, 0);

        host_files.exe = cases[i].exe;
        ck_assert_zero(parse(text, *cases[i].machine ? (size_t)n : 2));
        ck_assert_msg(line.ram.total_bytes == cases[i].mib * MIB, "%s %s", cases[i].exe,
                      cases[i].machine);
        ck_assert_msg(!*line.ram.unknown == (cases[i].mib > 0), "%s %s: %s", cases[i].exe,
                      cases[i].machine, line.ram.unknown);
        ck_assert_uint_eq(ram_config_bytes(&line.ram), 0);
    }
    host_files.exe = exe;
}

TEST(plain, machines_that_have_no_guest)
{
    ck_assert_int_eq(PARSE("-M\0x-remote\0"), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "x-remote"));
    ck_assert_int_eq(PARSE("-M\0none\0-m\000256\0"), -EINVAL);
}

TEST(plain, a_dimm_without_memdev)
{
    ck_assert_zero(PARSE("-m\000256\0-device\0pc-dimm,id=d\0"));
    ck_assert_ptr_nonnull(strstr(line.ram.unknown, "memdev"));
}

/* As qemu-server of Proxmox VE writes it: QEMU there cuts the suffix off. */
TEST(plain, machine_types_of_proxmox)
{
    static const char *const cases[][2] = {
        {"type=pc+pve0", "pc"},
        {"q35+pve0", "q35"},
        {"type=pc-i440fx-9.0+pve0,viommu=intel", "pc-i440fx-9.0"},
        {"hpet=off,type=pc-q35-9.2+pve1", "pc-q35-9.2"},
        {"virt+pve0", "virt"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[128];
        int n = snprintf(text, sizeof(text), "kvm%c-m%c256%c-machine%c%s%c-machine%caccel=tcg", 0,
                         0, 0, 0, cases[i][0], 0, 0);

        ck_assert_zero(parse(text, (size_t)n));
        ck_assert_str_eq(line.machine, cases[i][1]);
    }
}

TEST(plain, memory_of_devices)
{
    ck_assert_int_eq(
        PARSE("-m\000256,maxmem=4G,slots=4\0-object\0memory-backend-file,id=lg,size=128M,share=on,"
              "mem-path=/dev/shm/looking-glass\0-device\0ivshmem-plain,memdev=lg\0-object\0"
              "{\"qom-type\":\"memory-backend-file\",\"id\":\"nv\",\"size\":268435456,"
              "\"mem-path\":\"/srv/nv\"}\0-device\0{\"driver\":\"nvdimm\",\"memdev\":\"nv\"}\0"
              "-device\0VGA,vgamem_mb=200\0-device\0virtio-pmem-pci,memdev=unknown\0"
              "-global\0qxl-vga.vram_size=134217728\0-device\0VGA,vgamem_mb=16\0"),
        0);
    ck_assert_uint_eq(line.ram.total_bytes, 256 * MIB);
    ck_assert_uint_eq(line.ram.n_backends, 1);
    ck_assert_uint_eq(line.ram.n_devices, 5);

    const struct ram_backend *devices = line.ram.devices;

    ck_assert_uint_eq(devices[0].size_bytes, 256 * MIB); /* 200 MiB, rounded up */
    ck_assert_uint_eq(devices[1].size_bytes, 128 * MIB);
    ck_assert_uint_eq(devices[2].size_bytes, 16 * MIB);
    ck_assert_str_eq(devices[3].id, "lg");
    ck_assert_str_eq(devices[3].path, "/dev/shm/looking-glass");
    ck_assert_str_eq(devices[4].id, "nv");
    ck_assert_str_eq(devices[4].path, "/srv/nv");
    ck_assert_uint_lt(devices[4].order, backend(0)->order);
    ck_assert_uint_lt(backend(0)->order, devices[0].order);
}

static bool has_device(uint64_t mib)
{
    for (size_t i = 0; i < line.ram.n_devices; i++)
        if (line.ram.devices[i].size_bytes == mib * MIB)
            return true;
    return false;
}

TEST(plain, graphics_memory_of_any_size_in_every_spelling)
{
    ck_assert_zero(PARSE("-vga\0qxl\0"));
    ck_assert(has_device(64));
    ck_assert_zero(PARSE("-vga\0none\0"));
    ck_assert_uint_eq(line.ram.n_devices, 0);
    ck_assert_zero(PARSE("-device\0VGA\0"));
    ck_assert(has_device(16));
    ck_assert_zero(PARSE("-device\0{\"driver\":\"bochs-display\",\"vgamem\":67108864}\0"));
    ck_assert(has_device(64));
    ck_assert_zero(PARSE("-global\0driver=VGA,property=vgamem_mb,value=256\0"));
    ck_assert(has_device(256));
    ck_assert_zero(PARSE("-global\0VGA.vgamem_mb=256\0"));
    ck_assert(has_device(256));
    ck_assert_zero(PARSE("-device\0virtio-vga\0-device\0qxl,vram64_size_mb=512\0"));
    ck_assert(has_device(8));
    ck_assert(has_device(512));
    ck_assert_zero(PARSE("-vga\0virtio\0"));
    ck_assert(has_device(8));
}

/* pc and q35 have a VGA, unless an option says otherwise. */
TEST(plain, graphics_that_no_option_names)
{
    ck_assert_zero(PARSE("-m\00016\0"));
    ck_assert(has_device(16));
    ck_assert_zero(PARSE("-M\0q35\0-device\0bochs-display\0-device\0secondary-vga\0"));
    ck_assert_uint_eq(line.ram.n_devices, 3);
    ck_assert_zero(PARSE("-m\00016\0-nodefaults\0"));
    ck_assert_uint_eq(line.ram.n_devices, 0);
    ck_assert_zero(PARSE("-device\0{\"driver\":\"vmware-svga\",\"vgamem_mb\":32}\0"));
    ck_assert_uint_eq(line.ram.n_devices, 1);
    ck_assert(has_device(32));
    ck_assert_zero(PARSE("-M\0microvm\0"));
    ck_assert_uint_eq(line.ram.n_devices, 0);
}

/* QEMU makes a backend that no option uses like one that is used: it takes a mapping. */
TEST(plain, backends_that_are_not_ram)
{
    ck_assert_zero(PARSE("-m\000256\0-object\0memory-backend-ram,id=a,size=256M\0"
                         "-object\0memory-backend-ram,id=p,size=1G\0"
                         "-object\0memory-backend-ram,id=v,size=2G\0"
                         "-device\0cxl-type3,bus=rp0,volatile-memdev=v,persistent-memdev=p\0"
                         "-device\0nvme,serial=x\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 2304 * MIB);
    ck_assert_uint_eq(line.ram.n_devices, 3); /* and the graphics */
    ck_assert_str_eq(line.ram.devices[0].id, "p");
    ck_assert(!line.ram.devices[0].spare);
    ck_assert_str_eq(line.ram.devices[1].id, "a");
    ck_assert(line.ram.devices[1].spare);
    ck_assert_zero(PARSE("-m\000256\0-object\0memory-backend-epc,id=e,size=64M,prealloc=on\0"
                         "-M\0q35,sgx-epc.0.memdev=e\0-nodefaults\0"));
    ck_assert_uint_eq(line.ram.total_bytes, 256 * MIB);
    ck_assert_uint_eq(line.ram.n_devices, 1);
    ck_assert(!line.ram.devices[0].spare);
    ck_assert_zero(PARSE("-M\0pc,memory-backend=a\0-object\0memory-backend-file,id=a,size=256M,"
                         "mem-path=/f,offset=1G\0"));
    ck_assert_uint_eq(backend(0)->file_offset, 1024 * MIB);
}

/* A memory module of <qemu:commandline> is not in the XML; nor is one that libvirt has unplugged.
 */
TEST(plain, modules_that_libvirt_does_not_know)
{
    struct ram_config xml = {0};

    ck_assert_int_eq(
        PARSE("-m\000256\0-object\0memory-backend-ram,id=memdimm0,size=1G\0-device\0"
              "pc-dimm,memdev=memdimm0\0-object\0memory-backend-ram,id=mine,size=512M\0"
              "-device\0pc-dimm,memdev=mine\0"),
        0);
    ck_assert_ok(ram_config_add(&xml, &(struct ram_backend){.size_bytes = 256 * MIB}));
    ram_config_refine(&xml, &line.ram);
    ck_assert_uint_eq(xml.total_bytes, 768 * MIB);
    ck_assert_str_eq(xml.backends[1].id, "mine");
    ram_config_free(&xml);
}

TEST(plain, firmware)
{
    ck_assert_zero(PARSE("-m\0"
                         "64\0-drive\0if=virtio,file=pflash\0"));
    ck_assert(!line.firmware);
    ck_assert_zero(PARSE("-bios\0OVMF.fd\0"));
    ck_assert(line.firmware);
    ck_assert_zero(PARSE("-pflash\0OVMF.fd\0"));
    ck_assert(line.firmware);
    ck_assert_zero(PARSE("-drive\0file=OVMF.fd,if=pflash,unit=0\0"));
    ck_assert(line.firmware);
    ck_assert_zero(PARSE("-machine\0q35,pflash0=libvirt-pflash0-format\0"));
    ck_assert(line.firmware);
}
