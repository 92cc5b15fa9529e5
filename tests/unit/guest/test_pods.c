// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_pods.c  Guests of libvirts in other process namespaces: which are found, by which
 * socket, and by which name. */
#include "fixture.h"
#include "guest/domain/pods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define UUID "0b0b0b0b-1111-2222-3333-44444444444a"
#define OTHER_UUID "0b0b0b0b-1111-2222-3333-44444444444b"
#define MASTER_KEY "\0-object\0secret,file=/var/lib/libvirt/qemu/domain-1-x/master-key.aes"

#define PUT_COMMAND(pid, text) unit_write_bytes(top, "proc/" #pid "/cmdline", text, sizeof(text))

static const char *top;
static struct fsroot root;
static struct pods pods;
static struct error error;

static void put_link(const char *target, const char *path)
{
    const char *full = TEXT_OF(256, "%s/%s", top, path);

    unlink(full);
    ck_assert_int_eq(symlink(target, full), 0);
}

/* Returns the listening socket. */
static int put_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", top, path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

/* Two processes in pods, each with a root of its own, and a namespace of its own. */
static void make_node(void)
{
    top = unit_dir();
    unit_shell("cd %s && mkdir -p proc/1/ns proc/self a/run/libvirt b/run/libvirt && "
               "for p in 1000 1001; do cp -a '%s/libvirt/proc/1000' proc/$p && mkdir proc/$p/ns || "
               "exit 1; done && mkdir proc/self/ns",
               top, FIXTURES);
    put_link("pid:[1]", "proc/1/ns/pid");
    put_link("pid:[1]", "proc/self/ns/pid");
    put_link("pid:[2]", "proc/1000/ns/pid");
    put_link("pid:[3]", "proc/1001/ns/pid");
    put_link("../../a", "proc/1000/root");
    put_link("../../b", "proc/1001/root");
    PUT_COMMAND(1000, "qemu-system-x86_64\0-name\0guest=shop_web\0-uuid\0" UUID MASTER_KEY);
    PUT_COMMAND(1001, "qemu-system-x86_64\0-name\0guest=shop_api\0-uuid\0" OTHER_UUID MASTER_KEY);
    ck_assert_int_eq(fsroot_open(&root, top), 0);
}

static void end_node(void)
{
    pods_free(&pods);
    fsroot_close(&root);
}

FIXTURE(node, .setup = make_node, .teardown = end_node);

static void find(size_t n)
{
    pods_free(&pods);
    ck_assert_ok(pods_find(&root, &pods, &error));
    ck_assert_uint_eq(pods.n, n);
}

TEST(node, by_the_socket_that_the_process_sees)
{
    cleanup_close int listening = put_socket("a/run/libvirt/libvirt-sock");
    cleanup_close int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    find(2);
    ck_assert_int_eq(pods.guests[0].pid, 1000);
    ck_assert_str_eq(pods.guests[0].name, "shop_web");
    ck_assert_str_eq(pods.guests[0].uuid, UUID);
    ck_assert_str_eq(pods.guests[0].path, "/run/libvirt/libvirt-sock");
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", pods.guests[0].socket);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
}

TEST(node, a_socket_for_reading_comes_first)
{
    cleanup_close int all = put_socket("a/run/libvirt/virtqemud-sock");
    cleanup_close int reading = put_socket("a/run/libvirt/virtqemud-sock-ro");

    find(2);
    ck_assert_str_eq(pods.guests[0].path, "/run/libvirt/virtqemud-sock-ro");
}

TEST(node, a_link_in_the_pod_does_not_leave_it)
{
    cleanup_close int host = put_socket("host-sock");
    const char *target = TEXT_OF(256, "%s/host-sock", top);

    put_link(target, "a/run/libvirt/libvirt-sock");
    put_link("../../../../host-sock", "b/run/libvirt/libvirt-sock");
    find(2);
    ck_assert_int_lt(pods.guests[0].socket, 0);
    ck_assert_int_lt(pods.guests[1].socket, 0);
}

TEST(node, var_run_may_be_a_link_or_a_directory)
{
    cleanup_close int listening = put_socket("b/run/libvirt/libvirt-sock");

    unit_shell("cd %s && mkdir a/var && mv a/run a/var/run", top);

    cleanup_close int other = put_socket("a/var/run/libvirt/libvirt-sock");

    find(2);
    ck_assert_str_eq(pods.guests[0].path, "/var/run/libvirt/libvirt-sock");
    ck_assert_str_eq(pods.guests[1].path, "/run/libvirt/libvirt-sock");
}

TEST(node, a_guest_without_its_libvirt_is_named)
{
    struct domain_info info;

    find(2);
    ck_assert_int_lt(pods.guests[1].socket, 0);
    ck_assert_error(pods_ask(&pods.guests[1], &info, NULL, &error), -ENOENT, "--pid 1001");
    ck_assert_str_eq(info.uuid, "");
}

TEST(node, a_qemu_that_no_libvirt_started_is_none)
{
    PUT_COMMAND(1000, "qemu-system-x86_64\0-name\0guest=shop_web\0-uuid\0" UUID);
    PUT_COMMAND(1001, "qemu-system-x86_64\0-name\0guest=shop_api");

    cleanup_close int listening = put_socket("b/run/libvirt/libvirt-sock");

    find(0);
}

TEST(node, a_guest_of_the_host_is_none)
{
    cleanup_close int listening = put_socket("a/run/libvirt/libvirt-sock");

    put_link("pid:[1]", "proc/1000/ns/pid");
    find(1);
    ck_assert_int_eq(pods.guests[0].pid, 1001);
}

static pid_t chosen(const char *domain)
{
    const struct pod_guest *guest = pods_choose(&pods, domain, &error);

    return guest ? guest->pid : error.code;
}

TEST(node, by_three_names)
{
    find(2);
    ck_assert_int_eq(chosen("shop_web"), 1000);
    ck_assert_int_eq(chosen("shop/api"), 1001);
    ck_assert_int_eq(chosen("0B0B0B0B-1111-2222-3333-44444444444A"), 1000);
    ck_assert_int_eq(chosen("shop"), -ENOENT);
    ck_assert_int_eq(chosen("1"), -ENOENT);
}

TEST(node, one_name_of_two_guests_is_refused)
{
    PUT_COMMAND(1001, "qemu-system-x86_64\0-name\0guest=shop_web\0-uuid\0" OTHER_UUID MASTER_KEY);
    find(2);
    ck_assert_int_eq(chosen("shop/web"), -ENOTUNIQ);
    ck_assert_ptr_nonnull(strstr(error.text, "processes 1000 and 1001"));
    ck_assert_int_eq(chosen(OTHER_UUID), 1001);
}

/* The libvirt of a pod says which domains it has, not which process they are. */
TEST(plain, a_known_process_must_have_the_domains_name_and_uuid)
{
    cleanup_root struct fsroot captured = fixture_open("libvirt");
    struct domain_name domain = {.pid_dir = "",
                                 .name = "sys1",
                                 .uuid = "0b0b0b0b-1111-2222-3333-444444444444",
                                 .pid = FIXTURE_PID};
    struct qemu_process process;

    ck_assert_int_eq(domain_process_find(&captured, &domain), FIXTURE_PID);
    domain.pid = FIXTURE_PID + 1;
    ck_assert_int_eq(domain_process_find(&captured, &domain), 0);
    ck_assert_int_eq(domain_process_open(&captured, &domain, &process, &error), -ESRCH);
    domain.pid = FIXTURE_PID;
    domain.uuid = UUID;
    ck_assert_int_eq(domain_process_find(&captured, &domain), 0);
    ck_assert_int_eq(domain_process_open(&captured, &domain, &process, &error), -ESRCH);
}
