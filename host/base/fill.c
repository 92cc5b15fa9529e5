// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/fill.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char synopsis[] = "Usage: ";

static const char *skip_colour(const char *text, const char *end)
{
    while (text + 1 < end && text[0] == '\033' && text[1] == '[') {
        while (text < end && *text != 'm')
            text++;
        text += text < end;
    }
    return text;
}

int fill_width(const char *text, const char *end)
{
    int n = 0;

    for (text = skip_colour(text, end); text < end; text = skip_colour(text + 1, end))
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void fill_words(FILE *out, const char *text, const char *end, int column, int indent)
{
    fill_words_within(out, FILL_COLUMNS, text, end, column, indent);
}

void fill_words_within(FILE *out, int columns, const char *text, const char *end, int column,
                       int indent)
{
    const char *word_end;
    bool first = true;

    for (; (text += strspn(text, " \n")) < end && *text; text = word_end) {
        word_end = text + strcspn(text, " \n");

        int width = fill_width(text, word_end) + !first;

        if (column + width > columns && column > indent) {
            fprintf(out, "\n%*s", indent, "");
            column = indent + width - !first;
        } else {
            fputs(first ? "" : " ", out);
            column += width;
        }
        fwrite(text, 1, (size_t)(word_end - text), out);
        first = false;
    }
    fputc('\n', out);
}

/* Returns the end of the paragraph, which is its '\n' or the NUL byte. */
static const char *paragraph_end(const char *text)
{
    const char *end = strchrnul(text, '\n');

    while (*text != '\n' && *end && !strchr(" \n", end[1])) /* strchr() finds the NUL byte, too */
        end = strchrnul(end + 1, '\n');
    return end;
}

void fill_paragraphs(FILE *out, const char *text)
{
    const char *end;

    for (; *text; text = *end ? end + 1 : end) {
        int spaces = (int)strspn(text, " ");

        end = paragraph_end(text);
        fprintf(out, "%*s", spaces, "");
        fill_words(out, text, end, spaces,
                   strncmp(text, synopsis, strlen(synopsis)) ? spaces : (int)strlen(synopsis));
    }
}
