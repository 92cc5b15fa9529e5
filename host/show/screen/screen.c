// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file screen.c  See screen.h: reads keys and records, and draws. */
#include "show/screen/screen.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/plural.h"
#include "base/text/units.h"
#include "history/kept_age.h"
#include "history/stream.h"
#include "show/host_memory.h"
#include "show/screen/detail.h"
#include "show/screen/paint.h"

#include <errno.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD_LINES 3 /* lines for the sums, the host, and the headings */
#define FOOT_LINES 1
#define ESCAPE 27

static volatile sig_atomic_t ended;

static void on_signal(int number)
{
    (void)number;
    ended = 1;
}

enum view { VIEW_LIST, VIEW_DETAIL, VIEW_HELP };

struct screen {
    const struct screen_options *options;
    struct stream *stream;
    struct rows rows;
    enum view view;
    enum row_key key;
    bool reverse;
    bool all;    /* also show guests that are no longer measured */
    bool others; /* some measured guests are not shown */
    bool leave;
    double now_s;
    size_t n_shown;    /* the first rows in sorted order are shown */
    size_t first;      /* index of the first row on the screen */
    char selected[64]; /* UUID, so that the selection stays with the guest when the order changes */
};

/* --- records ---------------------------------------------------------------------------------- */

static int screen_see(const struct kept_sample *kept, void *context)
{
    struct screen *screen = context;

    if (!rows_wants(&screen->options->filter, kept) &&
        kept_is_current(kept, store_clock_now().wall_s))
        screen->others = true;
    return rows_put_wanted(&screen->rows, &screen->options->filter, kept);
}

static void arrange(struct screen *screen)
{
    const struct rows *rows = &screen->rows;

    screen->now_s = store_clock_now().wall_s;
    rows_sort(&screen->rows, screen->key, screen->reverse, screen->now_s);
    screen->n_shown = 0;
    while (screen->n_shown < rows->n &&
           (screen->all || kept_is_current(&rows->at[screen->n_shown], screen->now_s)))
        screen->n_shown++;
}

static int load_rows(struct screen *screen, struct error *error)
{
    int rc = stream_next(screen->stream, screen_see, screen, error);

    arrange(screen);
    return rc == -ENOMEM ? error_set(error, rc, "out of memory") : rc;
}

/* --- the list --------------------------------------------------------------------------------- */

static const char *uuid_at(const struct screen *screen, size_t i)
{
    return screen->rows.at[i].record.sample.uuid;
}

/* Returns the current row of the selected guest; the first row if it is not shown. */
static size_t selection(const struct screen *screen)
{
    size_t at = rows_find(&screen->rows, screen->n_shown, screen->selected);

    return at < screen->rows.n ? at : 0;
}

static void select_at(struct screen *screen, size_t i)
{
    if (i < screen->n_shown)
        snprintf(screen->selected, sizeof(screen->selected), "%s", uuid_at(screen, i));
}

static size_t list_lines(void)
{
    return LINES > HEAD_LINES + FOOT_LINES ? (size_t)(LINES - HEAD_LINES - FOOT_LINES) : 0;
}

static void scroll_to(struct screen *screen, size_t i)
{
    size_t lines = list_lines();

    if (i < screen->first)
        screen->first = i;
    if (lines > 0 && i >= screen->first + lines)
        screen->first = i - lines + 1;
    if (screen->first >= screen->n_shown)
        screen->first = 0;
}

/* Shows the machine's memory after the sums; nothing if the guests belong to another host or to
 * several hosts. */
static void draw_host(const struct screen *screen, uint64_t ram_bytes)
{
    const struct rows *rows = &screen->rows;
    char text[HOST_MEMORY_TEXT] = "";
    bool one = screen->n_shown > 0;

    for (size_t i = 1; one && i < screen->n_shown; i++)
        one = !strcmp(rows->at[i].record.sample.host, rows->at[0].record.sample.host);
    if (one)
        host_memory_of(text, rows->at[0].record.sample.host, ram_bytes);
    paint_line(1, 0, *text ? "host: %s" : "%s", text);
}

static void draw_sums(const struct screen *screen)
{
    uint64_t ram = 0;
    uint64_t resident = 0;
    uint64_t wss = 0;
    uint64_t back = 0;
    uint64_t spare;
    size_t n = 0;

    for (size_t i = 0; i < screen->n_shown; i++) {
        const struct kept_sample *kept = &screen->rows.at[i];

        if (!kept_is_current(kept, screen->now_s))
            continue;
        n++;
        ram += kept->record.sample.ram_bytes;
        resident += kept->record.sample.resident_bytes;
        wss += kept->record.sample.n_windows > 0 ? kept->record.sample.windows[0].wss_bytes
                                                 : kept->record.sample.resident_bytes;
        back += sample_reclaimable(&kept->record.sample, &spare) ? spare : 0;
    }
    paint_line(0, 0, "%zu guest%s  WSS %s  resident %s  RAM %s  reclaimable %s", n,
               plural((double)n), BYTES_TEXT(wss), BYTES_TEXT(resident), BYTES_TEXT(ram),
               BYTES_TEXT(back));
    draw_host(screen, ram);
}

static void draw_headings(const struct layout *layout)
{
    char text[64];
    int x = 0;

    attron(A_REVERSE);
    paint_line(HEAD_LINES - 1, 0, "%s", "");
    for (size_t c = 0; c < layout->n; c++) {
        layout_heading(layout, layout->at[c].column, text, sizeof(text));
        paint_field(HEAD_LINES - 1, x, layout->at[c].width, layout->at[c].right, text);
        x += layout->at[c].width + 1;
    }
    attroff(A_REVERSE);
}

static void draw_row(const struct screen *screen, const struct layout *layout, size_t i, int y,
                     bool selected)
{
    const struct kept_sample *kept = &screen->rows.at[i];
    attr_t attributes = selected ? A_REVERSE : A_NORMAL;
    char text[512];
    int x = 0;

    if (!kept_is_current(kept, screen->now_s))
        attributes |= A_DIM;
    attron(attributes);
    paint_line(y, 0, "%s", "");
    for (size_t c = 0; c < layout->n; c++) {
        layout_cell(layout, layout->at[c].column, kept, screen->now_s, text, sizeof(text));
        paint_field(y, x, layout->at[c].width, layout->at[c].right, text);
        x += layout->at[c].width + 1;
    }
    attroff(attributes);
}

static void draw_foot(const struct screen *screen)
{
    size_t hidden = screen->rows.n - screen->n_shown;
    char more[48] = "";

    if (hidden > 0)
        snprintf(more, sizeof(more), ", a: %zu no longer measured", hidden);
    attron(A_DIM);
    paint_line(LINES - 1, 0, "by %s%s   < >: sort, r: reverse, Enter: more, q: quit, h: help%s",
               row_key_name(screen->key), screen->reverse ? ", reversed" : "", more);
    attroff(A_DIM);
}

static void draw_list(struct screen *screen)
{
    struct layout layout;
    size_t at = selection(screen);

    layout_make(&layout, &screen->rows, &screen->options->columns, COLS);
    scroll_to(screen, at);
    draw_sums(screen);
    draw_headings(&layout);
    for (size_t line = 0; line < list_lines() && screen->first + line < screen->n_shown; line++)
        draw_row(screen, &layout, screen->first + line, HEAD_LINES + (int)line,
                 screen->first + line == at);
    if (screen->n_shown == 0)
        paint_line(HEAD_LINES, 0, "%s",
                   screen->others ? "no guest that is being measured is wanted: see the patterns "
                                    "and --above"
                                  : "no guest is being measured; is vmwssd running?");
    draw_foot(screen);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void draw_help(void)
{
    static const char *const lines[] = {
        "vmwss top: the working set of every guest, as vmwssd keeps it",
        "",
        "up, down, page up, page down, home, end    select a guest",
        "Enter       that guest: windows, ages of its pages, its last hour",
        "< >         sort by the column before, or after",
        "r           the other way round",
        "a           also guests that are not measured any more",
        "q, Escape   back, and out",
        "",
        "WSS 1m      bytes touched within the last minute, and half of its 95 % interval",
        "RECLAIMABLE resident, and not touched within the longest window",
        "AGE         of the number",
    };

    for (size_t i = 0; i < COUNT(lines); i++)
        paint_line((int)i, 0, "%s", lines[i]);
}

static void move_selection(struct screen *screen, long by)
{
    long at = (long)selection(screen) + by;
    long last = (long)screen->n_shown - 1;

    at = at > last ? last : at;
    select_at(screen, at < 0 ? 0 : (size_t)at);
}

static void list_key(struct screen *screen, int key)
{
    const long page = (long)list_lines();
    const long everything = (long)screen->rows.n;

    switch (key) {
    case KEY_UP:
    case 'k':
        move_selection(screen, -1);
        break;
    case KEY_DOWN:
    case 'j':
        move_selection(screen, 1);
        break;
    case KEY_PPAGE:
        move_selection(screen, -page);
        break;
    case KEY_NPAGE:
        move_selection(screen, page);
        break;
    case KEY_HOME:
        move_selection(screen, -everything);
        break;
    case KEY_END:
        move_selection(screen, everything);
        break;
    case '<':
        screen->key = (screen->key + ROW_N_KEYS - 1) % ROW_N_KEYS;
        break;
    case '>':
        screen->key = (screen->key + 1) % ROW_N_KEYS;
        break;
    case 'r':
        screen->reverse = !screen->reverse;
        break;
    case 'a':
        screen->all = !screen->all;
        break;
    case '\n':
    case '\r':
    case KEY_ENTER:
        select_at(screen, selection(screen));
        screen->view = screen->n_shown > 0 ? VIEW_DETAIL : VIEW_LIST;
        break;
    default:
        break;
    }
}

static void take_key(struct screen *screen, int key)
{
    if (key == 'q' || key == ESCAPE) {
        screen->leave = screen->view == VIEW_LIST;
        screen->view = VIEW_LIST;
    } else if (key == 'h' || key == '?') {
        screen->view = VIEW_HELP;
    } else if (screen->view == VIEW_LIST) {
        list_key(screen, key);
        arrange(screen);
    }
}

static void draw_screen(struct screen *screen)
{
    erase();
    /* Leaves the view if the guest has ended or is no longer above --above; otherwise another guest
     * would be mistaken for it.
     */
    if (screen->view == VIEW_DETAIL &&
        rows_find(&screen->rows, screen->n_shown, screen->selected) == screen->rows.n)
        screen->view = VIEW_LIST;
    if (screen->view == VIEW_DETAIL)
        detail_draw(stream_store(screen->stream), &screen->rows.at[selection(screen)],
                    screen->now_s);
    else if (screen->view == VIEW_HELP)
        draw_help();
    else
        draw_list(screen);
    refresh();
}

/* --- life ------------------------------------------------------------------------------------- */

static int follow_history(struct screen *screen, struct error *error)
{
    int rc = 0;
    uint64_t next_ns = 0;

    while (rc == 0 && !screen->leave && !ended) {
        if (clock_ns() >= next_ns) {
            rc = load_rows(screen, error);
            next_ns = clock_ns() + (uint64_t)(screen->options->delay_s * 1e9);
        }
        draw_screen(screen);

        int key = getch();

        if (key != ERR)
            take_key(screen, key);
    }
    return rc;
}

/* Installs handlers for SIGINT and SIGTERM that restore the terminal. */
static int begin_terminal(struct error *error)
{
    struct sigaction action = {.sa_handler = on_signal};

    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return error_set(error, -ENOTTY,
                         "top needs a terminal; for scripts there is vmwss watch --json");
    if (!newterm(NULL, stdout, stdin))
        return error_set(error, -ENOTTY, "unknown terminal (TERM)");
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    timeout(200);
    return 0;
}

int screen_run(const struct screen_options *options, struct error *error)
{
    struct screen screen = {.options = options, .key = options->key};
    int rc = stream_open(options->database, &screen.stream, error);

    if (rc == 0)
        rc = history_latest(stream_store(screen.stream), screen_see, &screen, error);
    if (rc == 0)
        rc = begin_terminal(error);
    if (rc == 0) {
        rc = follow_history(&screen, error);
        endwin();
    }
    rows_free(&screen.rows);
    stream_close(screen.stream);
    return rc;
}
