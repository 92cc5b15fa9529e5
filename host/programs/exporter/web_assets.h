// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file web_assets.h  status.html and status.js, which the build embeds in the program. */
#pragma once

extern const char web_status_html[];
extern const char web_status_js[];
