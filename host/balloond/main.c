// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file main.c  vmwss-balloond: sets the balloons of guests by their working sets; a dry run unless
 * its configuration says act = yes. One thread; a signal ends it.
 */
#include "balloond/balloond.h"
#include "base/run_lock.h"
#include "daemon/service/log.h"
#include "keep/reader_group.h"

#include <cap-ng.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE 1
#define EXIT_CANNOT 2
#define TICK_MAX_S 1

static const char help[] =
    "Usage: vmwss-balloond [OPTIONS]\n\n"
    "Sets the balloons of libvirt's guests by their working sets, which vmwssd has kept. By default it\n"
    "is a dry run: it only journals what it would do. See vmwss-balloond(8).\n\n"
    "  -f, --config FILE  configuration (" BALLOOND_CONFIG_PATH ", if there is one)\n"
    "      --check        say whether the configuration is right, and end\n"
    "  -V, --version      print the version\n"
    "  -h, --help         this text\n";

struct options {
    const char *path; /* NULL: the default, if it is there */
    bool check;
};

/* 0, 1 after printing help or the version, or -EINVAL. */
static int parse(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {{"config", required_argument, NULL, 'f'},
                                          {"check", no_argument, NULL, 'c'},
                                          {"version", no_argument, NULL, 'V'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    int option;

    while ((option = getopt_long(argc, argv, "f:Vh", longs, NULL)) >= 0) {
        if (option == 'h' || option == 'V') {
            fputs(option == 'h' ? help : "vmwss-balloond " VMWSS_VERSION "\n", stdout);
            return 1;
        }
        if (option == 'f')
            options->path = optarg;
        else if (option == 'c')
            options->check = true;
        else
            return -EINVAL;
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "vmwss-balloond: %s: it takes no arguments; see --help\n", argv[optind]);
    return -EINVAL;
}

static int load(const struct options *options, struct balloond_config *config, struct error *error)
{
    balloond_config_init(config);
    if (!options->path && access(BALLOOND_CONFIG_PATH, F_OK) < 0)
        return 0;
    return balloond_config_load(config, options->path ? options->path : BALLOOND_CONFIG_PATH,
                                error);
}

/* Root without capabilities is the owner of root's files and sockets, and no more. An embedded
 * driver starts guests in this process, with all of root's powers. */
static int give_up_privileges(const struct balloond_config *config, struct error *error)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return error_set(error, -errno, "no_new_privs: %s", strerror(errno));
    if (strstr(config->connect, ":///embed") ||
        (capng_get_caps_process() == 0 && capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE))
        return 0;
    reader_group_join();
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_apply(CAPNG_SELECT_BOTH) != 0)
        return error_set(error, -EPERM, "capabilities could not be dropped");
    return 0;
}

static void stay_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

static void balloond_loop(struct balloond *balloond)
{
    const double tick_s = fmin(balloond->config->interval_s, TICK_MAX_S);
    const struct timespec tick = {.tv_sec = (time_t)tick_s,
                                  .tv_nsec = (long)((tick_s - floor(tick_s)) * 1e9)};
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    sd_notify(0, "READY=1");
    log_line(LOG_CLASS_DAEMON, LOG_NOTICE, "%s, %s",
             balloond->config->policy.proactive ? "proactive" : "lazy",
             balloond->config->act ? "acting" : "a dry run: no balloon is set");
    do {
        stay_alive();
        balloond_tick(balloond);
    } while (sigtimedwait(&signals, NULL, &tick) < 0);
    sd_notify(0, "STOPPING=1");
}

/* One controller on a host, whatever its configuration. */
static int lock_and_run(const struct balloond_config *config, struct error *error)
{
    static const struct lock_wait at_once = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;
    struct balloond balloond = {.config = config, .alive = stay_alive};
    struct fsroot root;
    int rc = fsroot_open(&root, "/");

    if (rc < 0)
        return error_set(error, rc, "/: %s", strerror(-rc));
    rc = run_lock_host(&lock, &root, "balloond", &at_once, error);
    if (rc == 0)
        rc = give_up_privileges(config, error);
    if (rc == 0)
        rc = journal_open(config->journal, &balloond.journal, error);
    if (rc == 0) {
        balloond_loop(&balloond);
        rc = balloond_end(&balloond);
        if (rc < 0)
            error_set(error, rc, "not every balloon was restored");
    }
    run_lock_release(&lock);
    return rc;
}

int main(int argc, char **argv)
{
    static struct balloond_config config;
    struct options options = {0};
    struct error error = {0};
    int rc = parse(&options, argc, argv);

    if (rc != 0)
        return rc > 0 ? 0 : EXIT_USAGE;
    rc = load(&options, &config, &error);
    if (rc == 0 && !options.check)
        rc = lock_and_run(&config, &error);
    if (rc == 0)
        return 0;
    fprintf(stderr, "vmwss-balloond: %s\n", error.text);
    return EXIT_CANNOT;
}
