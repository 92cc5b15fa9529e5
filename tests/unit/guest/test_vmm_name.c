// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_vmm_name.c  Names of guests of VMMs that are no QEMU, by command lines as in the
 * documentation of each. */
#include "guest/domain/vmm_name.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

/* Arguments are separated by "|". */
static const struct {
    const char *exe, *cmdline, *name;
} cases[] = {
    /* firecracker docs/getting-started.md, docs/jailer.md */
    {"/usr/bin/firecracker", "firecracker|--id|551e7604-e35c|--api-sock|/run/firecracker.socket",
     "551e7604-e35c"},
    {"/firecracker", "/firecracker|--id=web|--start-time-us|1", "web"},
    {"/usr/bin/firecracker", "firecracker|--api-sock|/srv/db1/firecracker.socket|--config-file|a",
     "db1"},
    {"/usr/bin/firecracker", "firecracker|--api-sock|/tmp/web.socket", "web"},
    {"/usr/bin/firecracker", "firecracker|--no-api|--config-file|vm.json", "firecracker-7"},
    /* cloud-hypervisor docs/api.md */
    {"/usr/bin/cloud-hypervisor", "cloud-hypervisor|--api-socket|/run/web/ch.sock", "web"},
    {"/usr/bin/cloud-hypervisor", "cloud-hypervisor|--api-socket=path=/run/vm1/api.sock,fd=3",
     "vm1"},
    {"/usr/bin/cloud-hypervisor", "cloud-hypervisor|--kernel|bzImage", "cloud-hypervisor-7"},
    /* kata-containers virtcontainers/clh.go */
    {"/opt/kata/bin/cloud-hypervisor",
     "cloud-hypervisor|--api-socket|/run/vc/vm/849df/clh-api.sock", "849df"},
    /* crosvm book, "Running crosvm" */
    {"/usr/bin/crosvm", "crosvm|run|--name|guest|--socket|/run/crosvm.sock", "guest"},
    {"/usr/bin/crosvm", "crosvm|run|--socket|/run/mail/crosvm.sock", "mail"},
    /* kvmtool */
    {"/usr/bin/lkvm", "lkvm|run|--name|kt1|-k|vmlinuz|-m|192", "kt1"},
    {"/usr/bin/lkvm", "lkvm|run|-k|vmlinuz|--name", "lkvm-7"},
};

TEST_EACH(plain, name_by_options, 0, sizeof(cases) / sizeof(cases[0]))
{
    const char *top = unit_dir();
    cleanup_root struct fsroot root;
    const size_t n = strlen(cases[_i].cmdline) + 1;
    char cmdline[256];
    char name[256];

    memcpy(cmdline, cases[_i].cmdline, n);
    for (char *c = cmdline; *c; c++)
        if (*c == '|')
            *c = '\0';
    unit_shell("mkdir -p %s/proc/7", top);

    FILE *file = fopen(TEXT_OF(256, "%s/proc/7/cmdline", top), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(cmdline, 1, n, file), n);
    fclose(file);
    ck_assert_int_eq(fsroot_open(&root, top), 0);
    vmm_name_find(&root, 7, cases[_i].exe, name);
    ck_assert_str_eq(name, cases[_i].name);
}
