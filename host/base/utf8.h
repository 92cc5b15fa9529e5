// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file utf8.h  Names that strangers made (processes, files, domains) as text that may be written anywhere. */
#pragma once

/** Each byte that is not part of well-formed UTF-8 (RFC 3629) becomes '?'. */
void utf8_clean(char *text);

/** utf8_clean(), and each byte of a control character (C0, DEL, C1) becomes '?' too: a terminal may obey those. */
void utf8_printable(char *text);

/** Takes away a character at the end of which only the beginning is there, as of text that did not fit. */
void utf8_end(char *text);
