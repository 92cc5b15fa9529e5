// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file main.c  vmwssd: splits into two processes, starts the threads of the half without
 * privileges, and then waits for signals, ends of guests, and the time of the next status message.
 *
 *   a thread that watches the scanner, which any other may wait for
 *   libvirt's thread ── events ──► a thread for each source ── guests ──► fleet: two threads
 *   agents' thread ── guest reports ────► beside the records ◄── records ──┤         │
 *                                                  │                       │      requests
 *                                                  └──► writer, publisher  │         │
 *   ───────────────────────────────────────────────────────────────────────┼─────────┼─────────────
 *   the scanner: a separate process, with privileges (scanner.h)           └─ scan_table
 */
#include "base/clock.h"
#include "base/leaks.h"
#include "base/plural.h"
#include "base/run_lock.h"
#include "base/service/log.h"
#include "base/service/main_loop.h"
#include "base/service/privileges.h"
#include "base/service/state_dir.h"
#include "programs/vmwssd/config/options.h"
#include "programs/vmwssd/scanner/scanner_process.h"
#include "programs/vmwssd/sources/source.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define FILES 524288 /* as in its service unit */
#define EXIT_FAILED 2
#define STATUS_EVERY_S 5
#define SCANNER_EVERY_MS 500
#define MAX_SOURCES PUBLISHER_MAX_SOURCES /* including all reloads */
#define LOCK_NAME "vmwssd"
#define RESTORE_S 10
#define UNPUBLISH_S 5 /* the unit allows ten seconds for stopping everything */

struct daemon {
    struct options options;
    struct config config;
    struct account account; /* for this half, once the processes have split */
    struct fsroot root;
    /* one vmwssd per host; held by the scanner once the processes have split */
    struct run_lock lock;
    struct writer *writer;
    struct publisher *publisher;
    struct agents *agents;
    struct fleet *fleet;
    struct scanner *scanner;
    pid_t scanner_pid;
    bool reaches_agents;  /* the scanner may connect to agents; never changes */
    uint64_t patience_ns; /* how long each half waits for the other at most */
    unsigned n_sources;
    struct source sources[MAX_SOURCES];
    sd_event *loop;
    int failed_fd;       /* readable when the scanner has ended */
    atomic_int failed;   /* the reason to stop: 0, or a negative errno of scanner_alive() */
    atomic_bool leaving; /* the scanner ends because we asked it to */
};

/* A guest takes a dozen files, and there may be thousands. Only a process with CAP_SYS_RESOURCE,
 * which privileges_drop() gives up, may exceed the hard limit. */
static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;

    struct rlimit more = {.rlim_cur = FILES, .rlim_max = FILES};

    if (limit.rlim_max < FILES && setrlimit(RLIMIT_NOFILE, &more) == 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* An embedded driver starts and ends guests in this same process, with all of root's powers. */
static bool has_embedded(const struct config *config)
{
    for (size_t i = 0; i < config->n_connections; i++)
        if (strstr(config->connect[i], ":///embed"))
            return true;
    return false;
}

/* --- sources ---------------------------------------------------------------------------------- */

static bool is_source(const struct daemon *daemon, const char *uri)
{
    for (unsigned i = 0; i < daemon->n_sources; i++)
        if (!strcmp(daemon->sources[i].uri, uri))
            return true;
    return false;
}

static bool is_up(const void *source)
{
    return source_up(source);
}

/* Only libvirt's guests have a channel to an agent, and metadata. */
static void serve_guests_of(const struct daemon *daemon, unsigned number, bool wanted)
{
    const struct source *source = &daemon->sources[number];

    if (!source->connection)
        return;
    publisher_source(daemon->publisher, number, source->uri, wanted);

    const struct agents_libvirt libvirt = {.uri = source->uri, .up = is_up, .context = source};

    agents_source(daemon->agents, number, &libvirt, wanted);
}

static int start_source(struct daemon *daemon, const char *uri, struct error *error)
{
    const unsigned number = daemon->n_sources;

    if (number == MAX_SOURCES)
        return error_set(error, -ENOSPC, "%s: too many sources since the start", uri);

    int rc = source_start(&daemon->sources[number], number, uri, &daemon->root, daemon->fleet,
                          error);

    if (rc < 0)
        return rc;
    daemon->n_sources++;
    serve_guests_of(daemon, number, true);
    return 0;
}

/* Follows the configured sources, and no others. Returns the first error; the other sources are
 * followed nevertheless. */
static int follow_sources(struct daemon *daemon, struct error *error)
{
    const struct config *config = &daemon->config;
    int result = 0;

    for (unsigned s = 0; s < daemon->n_sources; s++) {
        bool wanted = false;

        for (size_t i = 0; i < config->n_connections; i++)
            wanted |= !strcmp(config->connect[i], daemon->sources[s].uri);
        source_use(&daemon->sources[s], wanted);
        serve_guests_of(daemon, s, wanted);
    }
    for (size_t i = 0; i < config->n_connections; i++) {
        int rc = is_source(daemon, config->connect[i])
                     ? 0
                     : start_source(daemon, config->connect[i], result < 0 ? NULL : error);

        result = result < 0 ? result : rc;
    }
    return result;
}

static unsigned sources_up(const struct daemon *daemon)
{
    unsigned up = 0;

    for (unsigned i = 0; i < daemon->n_sources; i++)
        up += source_up(&daemon->sources[i]);
    return up;
}

/* --- life ------------------------------------------------------------------------------------- */

/* The loss is final: a process that is no longer root can join no other group, and regain no
 * capability. */
static void warn_of_given_up(const struct daemon *daemon, const struct config *config)
{
    if (config->publish && !daemon->config.publish && daemon->account.changes &&
        daemon->account.n_groups == 0)
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "publish: where only the group " ACCOUNT_PUBLISH_GROUP " may write to libvirt, "
                 "takes effect at the next start");
    if (config_asks_agents(config) && !daemon->reaches_agents)
        log_line(LOG_CLASS_DAEMON, LOG_WARNING, "agents: are asked after the next start");
}

static void reload(struct daemon *daemon)
{
    struct config config;
    struct error error = {0};

    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(clock_ns() / 1000));
    if (options_config(&daemon->options, &config, &error) < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "not reloaded: %s", error.text);
    } else {
        if (strcmp(config.database, daemon->config.database) != 0)
            log_line(LOG_CLASS_DAEMON, LOG_WARNING, "database: takes effect at the next start");
        if (strcmp(config.user, daemon->config.user) != 0)
            log_line(LOG_CLASS_DAEMON, LOG_WARNING, "user: takes effect at the next start");
        warn_of_given_up(daemon, &config);
        daemon->config = config;
        log_set_level(config.log_level);
        publisher_switch(daemon->publisher, config.publish);
        agents_switch(daemon->agents, config.agents, config.period_s);
        fleet_configure(daemon->fleet, &config);
        writer_retain(daemon->writer, &config.retention);
        if (follow_sources(daemon, &error) < 0)
            log_line(LOG_CLASS_CONNECTION, LOG_ERR, "%s", error.text);
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE, "reloaded");
    }
    sd_notify(0, "READY=1");
}

static void notify_status(const struct daemon *daemon)
{
    uint64_t written = 0;
    uint64_t dropped = 0;

    fleet_relieve(daemon->fleet, clock_ns());

    const struct fleet_state state = fleet_state(daemon->fleet);

    if (daemon->writer)
        writer_counts(daemon->writer, &written, &dropped);
    sd_notifyf(
        0,
        "STATUS=%zu guest%s (%zu suspended, %zu not measurable), %zu to be opened, %u connection%s; a scan every "
        "%.3g s; %.2f %% of a core, of %g %%; %llu records, %llu in the history, %llu dropped",
        state.guests, plural((double)state.guests), state.suspended, state.refused, state.waiting,
        sources_up(daemon), plural(sources_up(daemon)), state.period_s, state.share * 100,
        daemon->config.budget * 100, (unsigned long long)state.records, (unsigned long long)written,
        (unsigned long long)dropped);
    sd_event_set_watchdog(daemon->loop, state.alive);
    if (!state.alive)
        log_line(LOG_CLASS_DAEMON, LOG_ERR,
                 "no guest is scanned any more: a thread is stuck, or scans of %zu guests hang, as "
                 "many as there are threads; the watchdog ends us unless that ends",
                 state.hanging);
}

/* If the scanner ends, its marks end with it, or it restores them; without it there is nothing to
 * do. A separate thread watches it, because every other thread may wait for the scanner itself, for
 * instance when a guest has ended. If the scanner hangs they would wait for ever. */
static void *watch_scanner(void *context)
{
    struct daemon *daemon = context;
    struct pollfd answer = {.fd = scanner_fd(daemon->scanner), .events = POLLIN};
    int rc;

    while ((rc = scanner_alive(daemon->scanner, daemon->patience_ns)) == 0)
        poll(&answer, 1, SCANNER_EVERY_MS);
    if (atomic_load(&daemon->leaving))
        return NULL;
    log_line(LOG_CLASS_DAEMON, LOG_ERR, "the scanner (process %d) %s: vmwssd ends",
             daemon->scanner_pid, rc == -ETIMEDOUT ? "hangs" : "has ended");
    if (rc == -ETIMEDOUT)
        _exit(EXIT_FAILED);
    atomic_store(&daemon->failed, rc);
    eventfd_write(daemon->failed_fd, 1);
    return NULL;
}

static int start_watching_scanner(struct daemon *daemon, struct error *error)
{
    pthread_t thread;

    daemon->failed_fd = eventfd(0, EFD_CLOEXEC);
    if (daemon->failed_fd < 0)
        return error_set(error, -errno, "the thread that watches the scanner: %s", strerror(errno));
    if (pthread_create(&thread, NULL, watch_scanner, daemon) != 0)
        return error_set(error, -EAGAIN, "the thread that watches the scanner: no thread");
    pthread_detach(thread);
    return 0;
}

/* --- the main loop ---------------------------------------------------------------------------- */

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *signal, void *daemon)
{
    (void)source;
    (void)signal;
    reload(daemon);
    return 0;
}

static int on_status(sd_event_source *timer, uint64_t now_us, void *daemon)
{
    (void)now_us;
    notify_status(daemon);
    return main_loop_again(timer, STATUS_EVERY_S);
}

static int on_jobs(sd_event_source *timer, uint64_t now_us, void *context)
{
    const struct daemon *daemon = context;

    (void)now_us;
    fleet_find_jobs(daemon->fleet);
    return main_loop_again(timer, FLEET_JOBS_MS / 1e3);
}

static int on_guests(sd_event_source *source, int fd, uint32_t events, void *context)
{
    const struct daemon *daemon = context;

    (void)source;
    (void)fd;
    (void)events;
    fleet_dispatch_events(daemon->fleet);
    return 0;
}

static int daemon_run(struct daemon *daemon, struct error *error)
{
    sd_event *loop = daemon->loop;
    int rc = sd_event_add_signal(loop, NULL, SIGHUP, on_reload, daemon);

    if (rc >= 0)
        rc = sd_event_add_io(loop, NULL, daemon->failed_fd, EPOLLIN, NULL, NULL);
    if (rc >= 0)
        rc = sd_event_add_io(loop, NULL, fleet_epoll_fd(daemon->fleet), EPOLLIN, on_guests, daemon);
    if (rc < 0)
        return error_set(error, rc, "the main loop: %s", strerror(-rc));
    rc = main_loop_add(loop, on_status, daemon, error);
    if (rc == 0)
        rc = main_loop_add(loop, on_jobs, daemon, error);
    return rc < 0 ? rc : main_loop_run(loop, error);
}

/* --- its start and its end -------------------------------------------------------------------- */

static int open_history(struct daemon *daemon, struct error *error)
{
    const struct config *config = &daemon->config;

    int rc = state_dir_check(config->database, &daemon->account, error);

    if (rc < 0)
        return rc;
    sd_notify(0, "STATUS=the history is being opened; no guest is measured yet");
    return writer_start(&daemon->writer, config->database, &config->retention, error);
}

static int start_fleet(struct daemon *daemon, struct error *error)
{
    const struct fleet_sinks sinks = {daemon->scanner, daemon->writer, daemon->publisher,
                                      daemon->agents};

    return fleet_start(&daemon->fleet, &daemon->root, &daemon->config, &sinks, error);
}

/* Waits for the scanner of a killed vmwssd, which is still restoring guests. */
static int lock_host(struct daemon *daemon, struct error *error)
{
    static const struct lock_wait wait = {.ended_seconds = RESTORE_S, .pidfd = -1};

    return run_lock_host(&daemon->lock, &daemon->root, LOCK_NAME, &wait, error);
}

/* Half of the service manager's timeout, so that our own message comes first. */
static uint64_t patience_ns(void)
{
    uint64_t usec;

    return sd_watchdog_enabled(0, &usec) > 0 ? usec * 1000 / 2 : SCANNER_PATIENCE_NS;
}

/* With an embedded connection only root can run guests. */
static int find_account(struct daemon *daemon, struct error *error)
{
    const struct config *config = &daemon->config;
    const char *const groups[] = {config->publish ? ACCOUNT_PUBLISH_GROUP : NULL, NULL};

    return account_find(&daemon->account, has_embedded(config) ? "root" : config->user, groups,
                        error);
}

/* From here on this process is the half without privileges. */
static int divide(struct daemon *daemon, struct error *error)
{
    daemon->reaches_agents = config_asks_agents(&daemon->config);

    const struct scanner_plan plan = {.root = &daemon->root,
                                      .lock = &daemon->lock,
                                      .agents = daemon->reaches_agents,
                                      .writes = daemon->config.writes_s > 0,
                                      .log_level = daemon->config.log_level,
                                      .patience_ns = daemon->patience_ns};
    int rc = scanner_start(&daemon->scanner, &plan, &daemon->scanner_pid, error);

    run_lock_leave(&daemon->lock);
    if (rc == 0 && !has_embedded(&daemon->config))
        rc = privileges_drop_rest(&daemon->account, error);
    return rc;
}

static int start(struct daemon *daemon, struct error *error)
{
    const struct config *config = &daemon->config;
    int rc = fsroot_open(&daemon->root, "/");

    daemon->patience_ns = patience_ns();
    if (rc == 0)
        rc = find_account(daemon, error);
    if (rc == 0)
        rc = lock_host(daemon, error);
    run_lock_sweep(&daemon->root);
    raise_file_limit();
    if (rc == 0)
        rc = state_dir_make(config->database, STORE_DEFAULT_PATH, &daemon->account, error);
    if (rc == 0)
        rc = divide(daemon, error);
    if (rc == 0)
        rc = main_loop_open(&daemon->loop, error);
    if (rc >= 0 && *config->database)
        rc = open_history(daemon, error);
    if (rc >= 0)
        rc = publisher_start(&daemon->publisher, error);
    if (rc >= 0)
        rc = agents_start(&daemon->agents, daemon->scanner, error);
    if (rc >= 0) {
        agents_keep_stalls(daemon->agents, daemon->writer);
        rc = start_fleet(daemon, error);
    }
    if (rc < 0)
        return rc;
    publisher_switch(daemon->publisher, config->publish);
    rc = follow_sources(daemon, error);
    if (rc < 0)
        return rc;
    agents_switch(daemon->agents, config->agents, config->period_s);
    return start_watching_scanner(daemon, error);
}

static void stop(struct daemon *daemon)
{
    agents_end(daemon->agents);
    publisher_end(daemon->publisher); /* its thread goes on while the others end */
    fleet_stop(daemon->fleet);
    agents_keep_stalls(daemon->agents, NULL);
    writer_stop(daemon->writer); /* not freed: connections continue */
    agents_wait(daemon->agents);
    if (!publisher_wait(daemon->publisher, UNPUBLISH_S))
        log_line(LOG_CLASS_DAEMON, LOG_WARNING,
                 "libvirt does not answer: the published elements stay in its metadata");
}

/* Returns the exit status: it includes the scanner's own error, but not the case that we stopped so
 * slowly that the scanner restored all guests before it was asked to. */
static int leave_scanner(struct daemon *daemon)
{
    atomic_store(&daemon->leaving, true);
    scanner_leave(daemon->scanner);

    int status = scanner_wait(daemon->scanner_pid);

    if (atomic_load(&daemon->failed))
        return EXIT_FAILED;
    return status > 0 && status != SCANNER_EXIT_HUNG ? status : leaks_found();
}

int main(int argc, char **argv)
{
    static struct daemon daemon = {.lock = RUN_LOCK_NONE, .failed_fd = -1};
    struct error error = {0};
    int rc;

    command_name("vmwssd");
    rc = options_parse(&daemon.options, argc, argv);

    if (rc != 0)
        return rc > 0 ? 0 : 1;
    rc = options_config(&daemon.options, &daemon.config, &error);
    if (rc == 0 && daemon.options.dump) {
        config_dump(&daemon.config, stdout);
        return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
    }
    if (rc == 0) {
        log_set_level(daemon.config.log_level);
        rc = start(&daemon, &error);
    }
    if (rc == 0) {
        log_line(LOG_CLASS_DAEMON, LOG_NOTICE, "vmwssd %s", VMWSS_VERSION);
        rc = daemon_run(&daemon, &error);
    }
    if (rc < 0) {
        log_line(LOG_CLASS_DAEMON, LOG_ERR, "%s", *error.text ? error.text : strerror(-rc));
        return EXIT_FAILED;
    }
    stop(&daemon);
    /* Threads that wait for libvirt may still be waiting. */
    _exit(leave_scanner(&daemon));
}
