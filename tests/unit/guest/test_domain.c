// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_domain.c  Domains through libvirt's own test driver, and where pid files are. */
#include "fixture.h"
#include "guest/domain/domain.h"
#include "guest/domain/libvirt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct domain_connection *connection;
static struct fsroot root;
static struct error error;
static struct guest guest;

static void setup(void)
{
    ck_assert_int_eq(fsroot_open(&root, "/"), 0);
    ck_assert_msg(domain_connect("test:///default", &connection, &error) == 0, "%s", error.text);
}

static void teardown(void)
{
    domain_disconnect(connection);
    fsroot_close(&root);
}

FIXTURE(cases_tests, .setup = setup, .teardown = teardown);

TEST(cases_tests, list)
{
    cleanup_free struct domain_info *all;

    ck_assert_int_eq(domain_list(connection, &root, &all, &error), 1);
    ck_assert_str_eq(all[0].name, "test");
    ck_assert_uint_eq(strlen(all[0].uuid), 36);
    ck_assert_int_eq(all[0].id, 1);
    ck_assert_int_eq(all[0].pid, 0);
    ck_assert_int_eq(all[0].state, DOMAIN_RUNNING);
    ck_assert(!all[0].migrating);
}

TEST(cases_tests, lookup_by_name_id_and_uuid)
{
    cleanup_free struct domain_info *all;
    char *xml;

    ck_assert_int_eq(domain_list(connection, &root, &all, &error), 1);
    const char *const names[] = {"test", "1", all[0].uuid};

    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(domain_xml_fetch(connection, names[i], &xml, &error), 0);
        ck_assert_ptr_nonnull(strstr(xml, "<name>test</name>"));
        free(xml);
    }
}

TEST(cases_tests, unknown_names)
{
    static const char *const none[] = {"",
                                       "nosuch",
                                       "2",
                                       "-1",
                                       "99999999999999999999",
                                       "../etc",
                                       "00000000-0000-0000-0000-000000000000"};
    char *xml = NULL;

    for (size_t i = 0; i < COUNT(none); i++) {
        ck_assert_msg(domain_xml_fetch(connection, none[i], &xml, &error) == -ENOENT, "%s",
                      none[i]);
        ck_assert_msg(guest_open_domain(connection, &root, none[i], &guest, &error) == -ENOENT,
                      "%s", none[i]);
        ck_assert_ptr_nonnull(strstr(error.text, "no such domain"));
    }
    ck_assert_ptr_null(xml);
}

TEST(cases_tests, paused_shut_off_and_foreign)
{
    virDomainPtr domain = virDomainLookupByName(connection->conn, "test");
    virConnectPtr writer = virConnectOpen("test:///default");

    ck_assert_error(guest_open_domain(connection, &root, "test", &guest, &error), -ENOEXEC, "QEMU");
    ck_assert_int_eq(guest.process.pidfd, -1);
    virDomainFree(domain);

    domain = virDomainLookupByName(writer, "test"); /* test:///default is one for all connections */
    ck_assert_int_eq(virDomainSuspend(domain), 0);
    ck_assert_int_eq(guest_open_domain(connection, &root, "test", &guest, &error), -ENODEV);
    ck_assert_str_eq(
        error.text, "domain test is paused: its vCPUs do not run, so nothing is touched; resume it "
                    "(virsh resume test)");
    ck_assert_int_eq(virDomainDestroy(domain), 0);
    ck_assert_int_eq(guest_open_domain(connection, &root, "test", &guest, &error), -ENODEV);
    ck_assert_str_eq(error.text,
                     "domain test is not running (shut off); start it (virsh start test)");
    virDomainFree(domain);
    virConnectClose(writer);
}

TEST(cases_tests, connections_that_fail)
{
    struct domain_connection *none = NULL;

    ck_assert_error(domain_connect("test:///no/such/file.xml", &none, &error), -ECONNREFUSED,
                    "test:///no/such/file.xml: ");
    ck_assert_ptr_null(none);
    domain_disconnect(NULL);
}

TEST(cases_tests, where_pid_files_are)
{
    static const struct {
        const char *uri, *dir;
    } cases[] = {
        {"qemu:///system", "run/libvirt/qemu"},
        {"qemu+unix:///system", "run/libvirt/qemu"},
        {"qemu:///session", "run/user/7/libvirt/qemu/run"},
        {"qemu:///embed?root=/srv/e", "srv/e/run/qemu"},
        {"qemu:///embed?root=/srv/a%20b", "srv/a b/run/qemu"},
        {"qemu+unix:///system?socket=/run/other/libvirt-sock", NULL},
        {"qemu+unix:///system?mode=direct&socket=/run/other/libvirt-sock", NULL},
        {"qemu:///embed", NULL},
        {"qemu:///other", NULL},
        {"xen:///system", NULL},
        {"", NULL},
        {"::not a uri::", NULL},
    };
    char dir[64];

    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool known = libvirt_pid_dir(cases[i].uri, dir, sizeof(dir));

        ck_assert_msg(known == (cases[i].dir != NULL), "%s", cases[i].uri);
        if (known)
            ck_assert_str_eq(dir, cases[i].dir);
    }
    unsetenv("XDG_RUNTIME_DIR");
    setenv("HOME", "/home/x", 1);
    ck_assert(libvirt_pid_dir("qemu:///session", dir, sizeof(dir)));
    ck_assert_str_eq(dir, "home/x/.cache/libvirt/qemu/run");
    ck_assert(!libvirt_pid_dir(
        "qemu:///embed?root=/0123456789012345678901234567890123456789012345678901234567890123", dir,
        sizeof(dir)));
}

/* Migrated from one libvirtd of this machine to another: neither process is taken for the other. */
TEST(cases_tests, of_two_processes_none_is_found)
{
    const char *copy = unit_dir();
    cleanup_root struct fsroot tree;
    const struct domain_name sys1 = {"", "sys1", "0b0b0b0b-1111-2222-3333-444444444444", 0};

    unit_shell("cp -r %s/libvirt/proc %s && cp -r %s/proc/%d %s/proc/%d", FIXTURES, copy, copy,
               FIXTURE_PID, copy, FIXTURE_PID + 1);
    ck_assert_int_eq(fsroot_open(&tree, copy), 0);
    ck_assert_int_eq(domain_process_find(&tree, &sys1), DOMAIN_TWO_PIDS);
}

/* In the fixture the pid file of sys1 is missing: it is found by its uuid and name. */
TEST(cases_tests, found_without_pid_file)
{
    cleanup_root struct fsroot tree = fixture_open("libvirt");
    struct domain_name name = {"", "sys1", "0b0b0b0b-1111-2222-3333-444444444444", 0};

    ck_assert_int_eq(domain_process_find(&tree, &name), FIXTURE_PID);
    name.name = "sys2";
    ck_assert_int_eq(domain_process_find(&tree, &name), 0);
    name.name = "sys1";
    name.uuid = "1b0b0b0b-1111-2222-3333-444444444444";
    ck_assert_int_eq(domain_process_find(&tree, &name), 0);
}
