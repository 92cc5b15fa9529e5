// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/command.h"

#include "base/debug.h"
#include "base/fill.h"
#include "base/utf8.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *program_name = "vmwss";

/* --- messages, output ------------------------------------------------------------------------- */

void command_name(const char *program)
{
    program_name = program;
}

void command_error(const char *format, ...)
{
    bool colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
    char text[4096];
    va_list args;

    va_start(args, format);
    utf8_printable_format(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, colour ? "\033[31m%s:\033[0m %s\n" : "%s: %s\n", program_name, text);
}

int command_bad_value(const char *option, const char *value, const char *expected)
{
    return command_refuse("%s %s: expected %s", option, value, expected);
}

int command_cannot(const struct error *error)
{
    command_error("%s", error->text);
    return EXIT_CANNOT;
}

int command_flush(struct error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;

    int rc = errno ? -errno : -EIO;

    return error_set(error, rc, "standard output: %s", strerror(-rc));
}

int command_end(int rc, struct error *error)
{
    if (rc == 0)
        rc = command_flush(error);
    if (rc >= 0)
        return rc;
    if (rc == -EINTR)
        return EXIT_INTERRUPTED;
    if (rc == -EPIPE)
        return EXIT_PIPE;
    if (rc == -EINVAL && !error->code)
        return EXIT_USAGE;
    if (!error->code)
        error_set(error, rc, "%s", strerror(-rc));
    return command_cannot(error);
}

/* --- main() ----------------------------------------------------------------------------------- */

static void print_help(const struct program *program, FILE *out)
{
    fprintf(out, "Usage: %s COMMAND [OPTIONS]\n\n", program->name);
    fill_paragraphs(out, program->purpose);
    fprintf(out, "\nCommands:\n");
    for (size_t i = 0; i < program->n_commands; i++) {
        const char *summary = program->commands[i].summary;
        int column = fprintf(out, "  %-10s ", program->commands[i].name);

        fill_words(out, summary, strchr(summary, '\0'), column, column);
    }
    fprintf(out,
            "\nOptions:\n"
            "  -h, --help     this text; after a command, and \"help COMMAND\", that command's\n"
            "  -V, --version  version\n"
            "%s\n"
            "Exit status: %s.\n"
            "See %s(1).\n",
            program->debugs ? "      --debug    before a command: report each of its steps on "
                              "standard error\n"
                            : "",
            program->statuses, program->name);
}

/* A command that has done its work still fails if its output was not written. */
static int checked(int code)
{
    struct error error = {0};

    if (code == EXIT_DONE && command_flush(&error) < 0)
        code = error.code == -EPIPE ? EXIT_PIPE : command_cannot(&error);
    return code;
}

static int command_dispatch(const struct command *command, int argc, char **argv)
{
    int code = checked(command->run(argc, argv));

    debug_log("exit status %d", code);
    if (code == EXIT_PIPE) { /* a command that ignored SIGPIPE has restored everything by now */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    return code;
}

static const struct command *find_command(const struct program *program, const char *name)
{
    for (size_t i = 0; i < program->n_commands; i++)
        if (!strcmp(name, program->commands[i].name))
            return &program->commands[i];
    return NULL;
}

/* argv[0] is the name of the command. */
static int run_named(const struct program *program, int argc, char **argv)
{
    const struct command *command = find_command(program, argv[0]);
    char name[64]; /* getopt begins its messages with it */

    if (!command) {
        command_error("no command '%s'; see %s --help", argv[0], program->name);
        return EXIT_USAGE;
    }
    snprintf(name, sizeof(name), "%s %s", program->name, argv[0]);
    argv[0] = name;
    return command_dispatch(command, argc, argv);
}

/* "help COMMAND" is "COMMAND --help". */
static int help(const struct program *program, int argc, char **argv)
{
    char option[] = "--help";

    if (argc > 2)
        return run_named(program, 2, (char *[]){argv[2], option, NULL});
    print_help(program, stdout);
    return EXIT_DONE;
}

static void begin_debug(const struct program *program, int argc, char **argv)
{
    struct utsname host = {0};

    debug_begin();
    uname(&host);
    debug_log("%s " VMWSS_VERSION ", Linux %s, user %u, %ld processors", program->name,
              host.release, geteuid(), sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 2; i < argc; i++)
        debug_log("argument %d: %s", i - 2, argv[i]);
}

int command_main(const struct program *program, int argc, char **argv)
{
    program_name = program->name;
    if (program->debugs && argc > 1 && !strcmp(argv[1], "--debug")) {
        begin_debug(program, argc, argv);
        argc--, argv++;
    }
    if (argc < 2) {
        print_help(program, stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
        return help(program, argc, argv);
    if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version")) {
        printf("%s " VMWSS_VERSION "\n", program->name);
        return EXIT_DONE;
    }
    return run_named(program, argc - 1, argv + 1);
}
