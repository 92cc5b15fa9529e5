// SPDX-License-Identifier: LGPL-2.1-or-later
#include "show/html_table.h"

#include "base/plural.h"
#include "base/text/units.h"

static void heading_cell(FILE *out, const struct html_column *column)
{
    fprintf(out,
            "<th scope=\"col\" aria-sort=\"none\"%s><button type=\"button\" data-key=\"%s\">%s"
            "<span class=\"arrow\" aria-hidden=\"true\"></span></button></th>",
            column->number ? " class=\"n\"" : "", column->key, column->name);
}

static void search(FILE *out, const struct html_table *table)
{
    fprintf(out,
            "<form role=\"search\"><label for=\"%s-find\">Search %ss</label> <input "
            "type=\"search\" id=\"%s-find\" autocomplete=\"off\" spellcheck=\"false\"> <output "
            "for=\"%s-find\" aria-live=\"polite\">%zu %s%s</output></form>\n",
            table->id, table->noun, table->id, table->id, table->n_rows, table->noun,
            plural((double)table->n_rows));
}

void html_table_begin(FILE *out, const struct html_table *table)
{
    fprintf(out, "<section class=\"card\" id=\"%s-table\" aria-label=\"%s\">\n", table->id,
            table->title);
    search(out, table);
    if (table->note[0])
        fprintf(out, "<p class=\"note\">%s</p>\n", table->note);
    fprintf(out,
            "<div class=\"scroll\" role=\"region\" aria-label=\"Table of %ss\" tabindex=\"0\">"
            "<table class=\"sorts\" id=\"%s\" data-prefix=\"%s\" data-noun=\"%s\"><caption>%s: "
            "choose a heading to sort</caption><thead><tr>",
            table->noun, table->id, table->prefix, table->noun, table->title);
    for (size_t c = 0; c < table->n_columns; c++)
        heading_cell(out, &table->columns[c]);
    fputs("</tr></thead>\n<tbody>\n", out);
}

void html_table_end(FILE *out)
{
    fputs("</tbody></table></div></section>\n", out);
}

void html_cell_bytes(FILE *out, bool known, double bytes)
{
    if (known)
        html_cell_number(out, bytes, BYTES_TEXT((uint64_t)bytes));
    else
        fputs("<td data-v=\"-1\"><abbr title=\"not known\">–</abbr></td>", out);
}

void html_cell_number(FILE *out, double value, const char *text)
{
    fprintf(out, "<td data-v=\"%.15g\">%s</td>", value, text);
}
