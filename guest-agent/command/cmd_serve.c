// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file cmd_serve.c  vmwss-guest serve: the agent. */
#include "base/parse.h"
#include "base/wire/wire.h"
#include "command/command.h"
#include "command/triggers.h"
#include "proc/hidden.h"
#include "proc/processes.h"
#include "proc/rights.h"
#include "serve/agent.h"
#include "serve/endpoint.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DEVICE "/dev/virtio-ports/" WIRE_PORT
#define TRIGGER "memory:some:150000:1000000"
#define TRIGGER_UNPRIVILEGED "memory:some:300000:2000000" /* the same share; see stall.h */
#define REOPEN_MS 1000
#define PERIOD_S 60
#define PERIOD_MAX_S 86400
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

struct options {
    const char *device;
    const char *socket;
    uint64_t vsock_port; /* 0: no vsock */
    uint64_t period_s;   /* period of measuring the working set; 0: not measured */
    bool no_triggers;
    bool default_trigger;
    struct triggers triggers;
};

_Static_assert(TRIGGERS_MAX <= AGENT_TRIGGERS_MAX, "the agent watches all that can be given");

static int set_vsock(void *port, const char *value)
{
    *(uint64_t *)port = WIRE_VSOCK_PORT;
    if (!value || parse_u64(value, 1, UINT32_MAX - 1, port) == 0)
        return 0;
    return command_bad_value("--vsock", value, "a port");
}

static int set_period(void *period_s, const char *value)
{
    *(uint64_t *)period_s = PERIOD_S;
    if (!value || parse_u64(value, 1, PERIOD_MAX_S, period_s) == 0)
        return 0;
    return command_bad_value("--working-set", value, "seconds, 1 to " TEXT(PERIOD_MAX_S));
}

#define AT(member) offsetof(struct options, member)
static const struct option_line lines[] = {
    {OPTION_TEXT, 'p', "port", "DEVICE", AT(device), .help = "virtio-serial port (" DEVICE ")"},
    {OPTION_CALL, 's', "vsock", "[=PORT]", AT(vsock_port),
     .help = "instead of it: AF_VSOCK, port " TEXT(WIRE_VSOCK_PORT) " by default;\n"
                                                                    "only the host may connect",
     .call = set_vsock},
    {OPTION_TEXT, 'l', "listen", "SOCKET", AT(socket),
     .help = "instead of both: a Unix socket, which is made"},
    {OPTION_CALL, 't', "trigger", TRIGGERS_VALUE, AT(triggers),
     .help = "\ntell the host at once when tasks wait for a resource (memory, io, cpu), some or\n"
             "full, longer than this; may be given again. Default: " TRIGGER ",\n"
             "or without CAP_SYS_RESOURCE " TRIGGER_UNPRIVILEGED,
     .call = triggers_add},
    {OPTION_FLAG, 'n', "no-triggers", NULL, AT(no_triggers), .help = "tell nothing unasked"},
    {OPTION_CALL, 'w', "working-set", "[=PERIOD]", AT(period_s),
     .help =
         "\ntell also what processes touched in the last PERIOD seconds (60), by clearing their\n"
         "referenced bits once a period. That disturbs reclaim in this guest: it takes pages\n"
         "for unused that are not, which costs reads from the disk where memory is short.\n"
         "Takes at most 0.5 % of a CPU; a large guest is looked at less often for that",
     .call = set_period},
    {.type = OPTION_END},
};
static const struct command_options command_line = {
    .usage = "Usage: vmwss-guest serve [OPTIONS]\n\n"
             "The agent: tells the host, when it asks, how the guest's memory is used.\n",
    .lines = lines,
    .no_arguments = true,
};

/* As options_read(). */
static int read_options(struct options *options, int argc, char **argv)
{
    int rc = options_read(&command_line, options, argc, argv);

    if (rc != 0)
        return rc;
    options->default_trigger = options->triggers.n == 0 && !options->no_triggers;
    return options->default_trigger ? triggers_add(&options->triggers, TRIGGER) : 0;
}

/* The socket created by --listen, for the signal handler. */
static const char *made;
static pid_t maker;

/* A child of the agent must not remove the socket. */
static void on_signal(int number)
{
    if (getpid() == maker)
        unlink(made);
    signal(number, SIG_DFL);
    raise(number);
}

static void remove_at_end(const char *path)
{
    static const int ending[] = {SIGTERM, SIGINT, SIGHUP};

    made = path;
    maker = getpid();
    for (size_t i = 0; i < COUNT(ending); i++)
        if (signal(ending[i], on_signal) == SIG_IGN)
            signal(ending[i], SIG_IGN); /* nohup(1) made it ignored */
}

static int listen_unix(const char *path, struct error *error)
{
    int fd = endpoint_listen_unix(path, error);

    if (fd >= 0)
        remove_at_end(path);
    return fd;
}

static int connect_agent(struct agent *agent, const struct options *options, struct error *error)
{
    int fd;

    if (!options->socket && !options->vsock_port) {
        fd = endpoint_device(options->device, error);
        return fd < 0 ? fd : agent_attach(agent, fd);
    }
    fd = options->socket ? listen_unix(options->socket, error)
                         : endpoint_listen_vsock((unsigned)options->vsock_port, error);
    return fd < 0 ? fd : agent_listen(agent, fd);
}

/* Falls back from the default trigger to one that needs no capability; *trigger is the one that was
 * opened. */
static int open_trigger(const struct fsroot *root, const struct options *options,
                        struct stall_trigger *trigger, struct error *error)
{
    struct stall_trigger unprivileged;
    int fd = stall_trigger_open(root, NULL, trigger, error);

    if (fd >= 0 || !options->default_trigger || rights_have(CAP_SYS_RESOURCE) ||
        stall_trigger_parse(TRIGGER_UNPRIVILEGED, &unprivileged) < 0)
        return fd;

    int other_fd = stall_trigger_open(root, NULL, &unprivileged, NULL);

    if (other_fd < 0)
        return fd;
    command_error("no CAP_SYS_RESOURCE for the trigger " TRIGGER
                  ": stalls are reported by " TRIGGER_UNPRIVILEGED);
    *trigger = unprivileged;
    return other_fd;
}

/* If a trigger cannot be armed, this is only logged, because the agent is useful without it. */
static void arm(struct agent *agent, const struct fsroot *root, const struct options *options)
{
    const struct triggers *triggers = &options->triggers;

    for (unsigned i = 0; !options->no_triggers && i < triggers->n; i++) {
        struct stall_trigger trigger = triggers->trigger[i];
        struct error error = {0};
        int fd = open_trigger(root, options, &trigger, &error);
        int rc = fd < 0 ? fd : agent_watch(agent, &trigger, fd);

        if (rc < 0)
            command_error("stalls are not reported at once: %s",
                          error.code ? error.text : strerror(-rc));
        if (rc < 0 && fd >= 0)
            close(fd);
    }
}

static void not_measured(const char *why)
{
    command_error("the guest's own working set is not reported: %s", why);
}

/* A failure is only logged, as for triggers. */
static void measure_own_set(struct agent *agent, const struct options *options)
{
    struct error error = {0};

    if (options->period_s &&
        agent_own_set(agent, (double)options->period_s, not_measured, &error) < 0)
        not_measured(error.text);
}

/* Locks the agent's own memory, about 1 MiB: in a guest that swapped, answers missed the host's
 * deadline, because the agent's pages had to be read back first. Without permission to lock, it
 * continues. */
static void stay_resident(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
        command_error(
            "serve: its own memory is not locked (%s): answers may be late when the guest swaps; "
            "%s, or raise RLIMIT_MEMLOCK",
            strerror(errno), RIGHTS_REMEDY(CAP_IPC_LOCK));
}

/* Reopens the device, which vanished and may come back. */
static void reopen(struct agent *agent, const struct options *options)
{
    int fd = options->socket || options->vsock_port ? -1 : endpoint_device(options->device, NULL);

    if (fd >= 0)
        agent_attach(agent, fd);
}

/* Runs until a signal arrives, or until the agent itself fails. */
static int serve_host(struct agent *agent, const struct options *options, struct error *error)
{
    int rc = connect_agent(agent, options, error);

    if (rc < 0)
        return error->code ? rc : error_set(error, rc, "%s: %s", options->device, strerror(-rc));
    while (rc == 0) {
        bool lost = !agent_attached(agent) && !options->socket && !options->vsock_port;

        rc = agent_turn(agent, lost ? REOPEN_MS : -1);
        if (lost)
            reopen(agent, options);
    }
    return error_set(error, rc, "serve: %s", strerror(-rc));
}

static int serve(const struct fsroot *root, void *at, char **operands, struct error *error)
{
    const struct options *options = at;
    struct agent *agent;
    int rc = agent_new(&agent, root, error);

    (void)operands;
    if (rc < 0)
        return rc;
    stay_resident();
    arm(agent, root, options);
    measure_own_set(agent, options);
    if (processes_hidden(root))
        command_error(PROCESSES_HIDDEN ": they are not in the reports; %s",
                      RIGHTS_REMEDY(CAP_SYS_PTRACE));
    if (!memory_sharing_known(root))
        command_error(MEMORY_SHARING_UNKNOWN);
    rc = serve_host(agent, options, error);
    agent_free(agent);
    if (made)
        unlink(made);
    return rc;
}

int cmd_serve(int argc, char **argv)
{
    struct options options = {.device = DEVICE};
    int rc = read_options(&options, argc, argv);

    signal(SIGPIPE, SIG_IGN);
    return rc != 0 ? options_exit(rc) : command_on_root(&options, NULL, serve);
}
