// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file test_agent_way.c  The way to an agent that was not there at first, or not all the time;
 * domains are libvirt's test
 *  driver's, whose XML never says that nobody has the port open. */
#include "fixture.h"
#include "guest/agent/agent_way.h"
#include "guest/domain/libvirt.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define UUID "0b0b0b0b-1111-2222-3333-444444444444"
#define RAM (512ULL << 20)

static struct agent_way way;
static struct agent_event event;
static struct agent_port port;
static struct domain_connection *connection;
static virDomainPtr domain;
static pthread_t thread;
static int listener = -1;

/* --- an agent --------------------------------------------------------------------------------- */

static void answer(int fd, const char *line)
{
    const char *at = strstr(line, "\"seq\":");

    if (!at)
        return;

    const char *text = TEXT_OF(128, "{\"seq\":%llu,%s}\n", strtoull(at + 6, NULL, 10),
                               strstr(line, "\"hello\"")
                                   ? "\"hello\":{\"protocol\":1,\"agent\":\"0.1\"}"
                                   : "\"report\":{\"uptime_s\":1}");

    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* One connection after the other, until nobody listens any more. */
static void *serve(void *unused)
{
    char line[256];
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        ssize_t n;

        while ((n = read(fd, line, sizeof(line) - 1)) > 0) {
            line[n] = '\0';
            answer(fd, line);
        }
        close(fd);
    }
    return unused;
}

static void start_agent(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", port.path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
}

/* The host must have hung up. */
static void end_agent(void)
{
    if (listener < 0)
        return;
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    listener = -1;
    unlink(port.path);
}

/* --- its domain ------------------------------------------------------------------------------- */

static void start_domain(const char *devices)
{
    char xml[1024];

    snprintf(xml, sizeof(xml),
             "<domain type='test'><name>g</name><uuid>" UUID
             "</uuid><memory unit='MiB'>512</memory>"
             "<os><type>hvm</type></os><devices>%s</devices></domain>",
             devices);
    domain = virDomainCreateXML(connection->conn, xml, 0);
    ck_assert_ptr_nonnull(domain);
}

static void end_domain(void)
{
    if (!domain)
        return;
    virDomainDestroy(domain);
    virDomainFree(domain);
    domain = NULL;
}

static void start_domain_with_channel(void)
{
    char channel[512];

    snprintf(channel, sizeof(channel),
             "<channel type='unix'><source mode='bind' path='%s'/>"
             "<target type='virtio' name='org.vmwss.guest.0'/></channel>",
             port.path);
    start_domain(channel);
}

static int ask(void)
{
    memset(&event, 0, sizeof(event));
    return agent_way_ask(&way, connection, UUID, &event);
}

static void setup(void)
{
    ck_assert_ok(domain_connect_writable("test:///default", &connection, &error));
    port = (struct agent_port){.present = true};
    snprintf(port.path, sizeof(port.path), "/tmp/vmwss-way-%d.sock", (int)getpid());
    unlink(port.path);
}

static void teardown(void)
{
    agent_way_end(&way);
    end_agent();
    end_domain();
    domain_disconnect(connection);
}

/* --- tests ------------------------------------------------------------------------------------ */

FIXTURE(cases, .setup = setup, .teardown = teardown);

TEST(cases, one_that_is_there_is_asked)
{
    start_agent();
    start_domain_with_channel();
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(ask() == 0, "%s", way.missing.text);
        ck_assert_double_eq(event.message.report.uptime_s, 1);
        ck_assert_int_eq(way.missing.code, 0);
    }
    end_domain(); /* while it answers nobody asks for the XML */
    ck_assert_int_eq(ask(), 0);
}

TEST(cases, a_channel_that_is_plugged_in_later_is_found)
{
    start_domain("");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ask(), -ENOENT);
        ck_assert_ptr_nonnull(strstr(way.missing.text, "the domain has no channel"));
    }
    end_domain();
    start_agent();
    start_domain_with_channel();
    ck_assert_msg(ask() == 0, "%s", way.missing.text);
}

/* As the XML has it before and after. */
TEST(cases, an_agent_that_starts_later_is_found)
{
    port.closed = true;
    ck_assert_int_eq(agent_way_take(&way, &port, RAM), -ENOTCONN);
    ck_assert_ptr_nonnull(strstr(way.missing.text, "no program in the guest has the port open"));
    ck_assert_ptr_null(way.channel);
    start_agent();
    start_domain_with_channel();
    ck_assert_msg(ask() == 0, "%s", way.missing.text);
}

TEST(cases, an_agent_that_comes_back_is_asked_at_once)
{
    start_agent();
    start_domain_with_channel();
    ck_assert_int_eq(ask(), 0);
    agent_channel_suspend(way.channel);
    end_agent();
    ck_assert_int_eq(ask(), -ENOENT); /* no socket */
    ck_assert_ptr_nonnull(way.channel);
    start_agent();
    ck_assert_int_eq(ask(), -ENOENT); /* it backs off */
    port.closed = true;
    ck_assert_int_eq(agent_way_take(&way, &port, RAM), -ENOTCONN);
    ck_assert_msg(ask() == 0, "%s", way.missing.text);
}

TEST(cases, a_way_that_leads_elsewhere_is_taken)
{
    struct agent_port other = port;

    start_agent();
    start_domain_with_channel();
    strcat(other.path, ".none");
    ck_assert_int_eq(agent_way_take(&way, &other, RAM), 0);
    way.missing.code = -EPIPE; /* the last question failed */
    ck_assert_msg(ask() == 0, "%s", way.missing.text);
}

TEST(cases, what_cannot_be_read_changes_nothing)
{
    start_agent();
    ck_assert_int_eq(ask(), -ENOENT); /* no such domain */
    ck_assert_ptr_nonnull(strstr(way.missing.text, "no such domain"));
    ck_assert_int_eq(agent_way_take(&way, &port, RAM), 0);
    ck_assert_msg(ask() == 0, "%s", way.missing.text);
}
