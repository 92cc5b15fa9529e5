// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file html_assets.h  html_page.css and html_page.js, which the build embeds into the program. */
#pragma once

extern const char html_page_css[];
extern const char html_page_js[];
