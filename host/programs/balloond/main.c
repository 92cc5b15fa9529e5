// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file main.c  vmwss-balloond: sets the balloons of guests by their working sets; a dry run unless
 * its configuration says act = yes. It has one thread, and a signal ends it. With reclaim, a
 * separate process writes to memory.reclaim (reclaimer.h).
 */
#include "base/option.h"
#include "base/parse.h"
#include "base/run_lock.h"
#include "base/service/log.h"
#include "base/service/main_loop.h"
#include "base/service/privileges.h"
#include "base/service/reader_group.h"
#include "base/service/state_dir.h"
#include "programs/balloond/balloond.h"
#include "programs/balloond/reclaiming.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#define TICK_MAX_S 1

struct options {
    const char *path; /* NULL: the default path, if it exists */
    const char *user; /* NULL: the user from the configuration */
    bool check, dump;
};

#define AT(member) .offset = offsetof(struct options, member)

static const struct option_line lines[] = {
    {OPTION_TEXT, 'f', "config", "FILE", AT(path),
     .help = "configuration (" BALLOOND_CONFIG_PATH ", if there is one)"},
    {OPTION_TEXT, 'u', "user", "NAME", AT(user),
     .help = "the user that it runs as, started by root (" BALLOOND_USER "), or root"},
    {OPTION_FLAG, 0, "check", AT(check), .help = "say whether the configuration is right, and end"},
    {OPTION_FLAG, 0, "dump-config", AT(dump),
     .help = "print the configuration that results, and end"},
    {.type = OPTION_END},
};

static const struct command_options command = {
    .usage =
        "Usage: vmwss-balloond [OPTIONS]\n\n"
        "Sets the balloons of libvirt's guests by their working sets, which vmwssd has kept. By default it\n"
        "is a dry run: it only journals what it would do. See vmwss-balloond(8).\n",
    .lines = lines,
    .version = "vmwss-balloond " VMWSS_VERSION,
    .no_arguments = true,
};

static int load_config(const struct options *options, struct balloond_config *config,
                       struct error *error)
{
    int rc = 0;

    balloond_config_init(config);
    if (options->path || access(BALLOOND_CONFIG_PATH, F_OK) == 0)
        rc = balloond_config_load(config, options->path ? options->path : BALLOOND_CONFIG_PATH,
                                  error);
    if (rc == 0 && options->user &&
        parse_text(options->user, config->user, sizeof(config->user)) < 0)
        rc = error_set(error, -EINVAL, "--user %s: expected the name of a user", options->user);
    return rc;
}

/* An embedded driver starts guests in this process, with all of root's powers. */
static bool is_embedded(const struct balloond_config *config)
{
    return strstr(config->connect, ":///embed") != NULL;
}

/* Adds the groups that may read the history and, where a group permits it, write to libvirt. */
static int find_account(const struct balloond_config *config, struct account *account,
                        struct error *error)
{
    static const char *const groups[] = {READER_GROUP, ACCOUNT_PUBLISH_GROUP, NULL};

    return account_find(account, is_embedded(config) ? "root" : config->user, groups, error);
}

/* Call it with the lock held: from here on it runs as a user who owns only the journal; or as root
 * without capabilities, who owns root's files and sockets. */
static int give_up_privileges(const struct balloond_config *config, const struct account *account,
                              struct error *error)
{
    int rc = account->changes ? 0 : reader_become(is_embedded(config), error);

    if (rc < 0 || is_embedded(config))
        return rc;
    rc = privileges_drop_rest(account, error);
    return rc == 0 ? state_dir_check(config->journal, account, error) : rc;
}

/* A tick takes as long as libvirt's calls. */
static void stay_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

static int on_timer(sd_event_source *timer, uint64_t now_us, void *context)
{
    struct balloond *balloond = context;

    (void)now_us;
    balloond_tick(balloond);
    return main_loop_again(timer, fmin(balloond->config->interval_s, TICK_MAX_S));
}

static int balloond_run(struct balloond *balloond, sd_event *loop, struct error *error)
{
    int rc = main_loop_add(loop, on_timer, balloond, error);

    if (rc < 0)
        return rc;
    log_line(LOG_CLASS_DAEMON, LOG_NOTICE, "%s, %s",
             balloond->config->policy.proactive ? "proactive" : "lazy",
             balloond_config_acts_at_all(balloond->config) ? "acting"
                                                           : "a dry run: no balloon is set");
    sd_event_set_watchdog(loop, true);
    return main_loop_run(loop, error);
}

/* Only one controller runs on a host, whatever its configuration. */
static int lock_and_run(const struct balloond_config *config, struct error *error)
{
    static const struct lock_wait at_once = {.pidfd = -1};
    struct run_lock lock = RUN_LOCK_NONE;
    struct balloond balloond = {.config = config, .alive = stay_alive};
    struct account account;
    struct fsroot root;
    sd_event *loop;
    int rc = fsroot_open_host(&root, error);

    if (rc < 0)
        return rc;
    /* This comes first: a SIGTERM from here on ends the loop, and balloons set by an earlier run
     * are restored. */
    rc = main_loop_open(&loop, error);
    if (rc == 0)
        rc = find_account(config, &account, error);
    if (rc == 0)
        rc = run_lock_host(&lock, &root, "balloond", &at_once, error);
    if (rc == 0)
        rc = state_dir_make(config->journal, JOURNAL_DEFAULT_PATH, &account, error);
    if (rc == 0)
        rc = reclaiming_begin(&balloond, &account, error);
    if (rc == 0)
        rc = give_up_privileges(config, &account, error);
    if (rc == 0)
        rc = journal_open(config->journal, &balloond.journal, error);
    if (rc == 0) {
        rc = balloond_run(&balloond, loop, error);
        if (balloond_end(&balloond) < 0)
            rc = error_set(error, -EIO, "not every balloon was restored");
    }
    run_lock_release(&lock);
    return rc;
}

int main(int argc, char **argv)
{
    static struct balloond_config config;
    struct options options = {0};
    struct error error = {0};
    int rc;

    command_name("vmwss-balloond");
    rc = options_read(&command, &options, argc, argv);
    if (rc != 0)
        return rc > 0 ? 0 : EXIT_USAGE;
    rc = load_config(&options, &config, &error);
    if (rc == 0 && options.dump) {
        balloond_config_dump(&config, stdout);
        rc = command_flush(&error);
    } else if (rc == 0 && !options.check)
        rc = lock_and_run(&config, &error);
    if (rc == 0)
        return 0;
    return command_cannot(&error);
}
