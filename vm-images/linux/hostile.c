// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file hostile.c  An agent as it should not be: answers each question of the host with the next
 * thing that is wrong.
 *
 * Told by its arguments what to do, one after the other, each for one connection of the host; at
 * last, and when told to be "honest", it behaves. When the host has gone it says so on its console.
 * Static, no library but the C library's; for tests/integration/guest/hostile.sh and
 * tests/bench/balloon
 * --hazards.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORT "/dev/virtio-ports/org.vmwss.guest.0"

static int port;
static unsigned long long seq;

static void nap(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Until the port can be read or written; false when the host has gone. */
static int can(short events)
{
    struct pollfd one = {.fd = port, .events = events};

    while (poll(&one, 1, -1) <= 0)
        ;
    return !(one.revents & POLLHUP);
}

/* False when the host has gone. A write that waits would wait for the next host. */
static int say(const void *bytes, size_t length)
{
    const char *from = bytes;

    while (length > 0) {
        if (!can(POLLOUT))
            return 0;

        ssize_t n = write(port, from, length);

        if (n < 0 && errno != EAGAIN)
            return 0;
        from += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return 1;
}

static int say_text(const char *text)
{
    return say(text, strlen(text));
}

/* The next question; "" when the host has gone. */
static char *hear(void)
{
    static char line[256];
    size_t length = 0;

    for (;;) {
        if (!can(POLLIN) || read(port, line + length, 1) <= 0)
            return strcpy(line, "");
        if (line[length] == '\n' && length > 0)
            break;
        if (line[length] != '\n' && length < sizeof(line) - 2)
            length++;
    }
    line[length] = '\0';

    const char *at = strstr(line, "\"seq\":");

    seq = at ? strtoull(at + 6, NULL, 10) : 0;
    return line;
}

static void flood(const char *piece, size_t length)
{
    while (say(piece, length))
        ;
}

/* Many at once: a guest that has little of the processor, too, writes 64 KiB before the host has
 * waited long enough for an answer. */
static void flood_newlines(void)
{
    static char lines[4096];

    memset(lines, '\n', sizeof(lines));
    flood(lines, sizeof(lines));
}

/* One report whose "report" is this. */
static void report(const char *content)
{
    char line[600];

    snprintf(line, sizeof(line), "{\"seq\":%llu,\"report\":%s}\n", seq, content);
    say_text(line);
}

static void hello(void)
{
    char line[512];

    snprintf(line, sizeof(line),
             "{\"seq\":%llu,\"hello\":{\"protocol\":1,\"agent\":\"hostile\",\"kernel\":\"6\","
             "\"boot_id\":\"x\",\"page_bytes\":4096}}\n",
             seq);
    say_text(line);
}

/* Ten MiB without a newline in it. */
static void long_line(void)
{
    static char piece[65536];

    memset(piece, 'a', sizeof(piece));
    for (int i = 0; i < 160 && say(piece, sizeof(piece)); i++)
        ;
    say_text("\n");
}

static void drip(void)
{
    char line[128];

    snprintf(line, sizeof(line), "{\"seq\":%llu,\"report\":{\"uptime_s\":1}}\n", seq);
    for (const char *c = line; *c && say(c, 1); c++)
        nap(200);
}

static void wrong_sequence(void)
{
    seq += 7;
    report("{\"uptime_s\":1}");
}

/* All that it should be, but for the figures: next to nothing left and stalling, or nothing used
 * and content. */
static void lie(int needs_all)
{
    static const char stall[] = "{\"stall\":{\"resource\":\"memory\",\"kind\":\"full\","
                                "\"threshold_us\":500000,\"window_us\":1000000,\"uptime_s\":1}}\n";
    unsigned long long total = (unsigned long long)sysconf(_SC_PHYS_PAGES) * 4096;
    unsigned long long available = needs_all ? 1 << 20 : total - (1 << 20);
    const char *share = needs_all ? "90.00" : "0.00";
    struct timespec now;
    char content[400];

    clock_gettime(CLOCK_BOOTTIME, &now);
    snprintf(content, sizeof(content),
             "{\"uptime_s\":%lld,\"memory\":{\"total_bytes\":%llu,\"free_bytes\":%llu,"
             "\"available_bytes\":%llu},\"pressure\":{\"memory\":{\"some\":{\"avg10\":%s,"
             "\"avg60\":%s,\"avg300\":%s,\"total_us\":%lld}}}}",
             (long long)now.tv_sec, total, available, available, share, share, share,
             needs_all ? (long long)now.tv_sec * 900000 : 0);
    report(content);
    if (needs_all)
        say_text(stall);
}

static void misbehave(const char *how)
{
    static const char stall[] = "{\"stall\":{\"resource\":\"memory\",\"kind\":\"full\"}}\n";
    static const char noise[4096] = "noise";
    static int turn;

    if (strcmp(how, "flood") == 0)
        flood(noise, sizeof(noise));
    else if (strcmp(how, "stalls") == 0)
        flood(stall, sizeof(stall) - 1);
    else if (strcmp(how, "newlines") == 0)
        flood_newlines();
    else if (strcmp(how, "long") == 0)
        long_line();
    else if (strcmp(how, "truncated") == 0)
        say_text("{\"seq\":1,\"report\":{\"upt");
    else if (strcmp(how, "cut") == 0)
        report("{\"uptime_s\":1");
    else if (strcmp(how, "nul") == 0)
        say("\0\0{}\0\n", 6);
    else if (strcmp(how, "utf8") == 0)
        report("{\"pressure_off\":\"\xff\xc0\xaf\"}");
    else if (strcmp(how, "twice") == 0)
        report("{\"uptime_s\":1,\"uptime_s\":2}");
    else if (strcmp(how, "1e999") == 0)
        report("{\"uptime_s\":1e999}");
    else if (strcmp(how, "escape") == 0)
        report("{\"pressure_off\":\"\\u001b[2J\"}");
    else if (strcmp(how, "lie") == 0)
        report("{\"memory\":{\"total_bytes\":1125899906842624}}");
    else if (strcmp(how, "sequence") == 0)
        wrong_sequence();
    else if (strcmp(how, "drip") == 0)
        drip();
    else if (strcmp(how, "needs-all") == 0)
        lie(1);
    else if (strcmp(how, "needs-nothing") == 0)
        lie(0);
    else if (strcmp(how, "alternates") == 0)
        lie(turn++ / 3 % 2);
    /* "silent": nothing at all. */
}

/* Until the host has gone. */
static void serve(const char *how)
{
    for (;;) {
        char *line = hear();

        if (!*line)
            return;
        if (strstr(line, "\"hello\""))
            hello();
        else if (how && strcmp(how, "honest") != 0)
            misbehave(how);
        else
            report("{\"uptime_s\":5,\"memory\":{\"total_bytes\":8388608}}");
    }
}

/* Until the host has opened the port: without one, poll() hangs up at once. */
static void await(void)
{
    while (!can(POLLIN))
        nap(20);
}

int main(int argc, char **argv)
{
    port = open(PORT, O_RDWR | O_NONBLOCK);
    if (port < 0) {
        perror("hostile: " PORT);
        return 1;
    }
    puts("hostile: ready");
    fflush(stdout);
    for (int i = 1;; i += i < argc) {
        await();
        serve(argv[i]); /* NULL behind the last */
        puts("hostile: alone");
        fflush(stdout);
    }
}
