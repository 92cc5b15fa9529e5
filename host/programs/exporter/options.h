// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file options.h  vmwss-exporter's command line. */
#pragma once

#include "programs/exporter/request_host.h"
#include "programs/exporter/web.h"
#include "show/metrics/prometheus.h"

#include <stdbool.h>

/** The libvirt exporter's port plus ten thousand: neither the Prometheus project's list of ports
 * nor IANA's has it. */
#define EXPORTER_LISTEN "127.0.0.1:19177"
#define EXPORTER_INTERVAL_S 15

enum exporter_mode {
    EXPORTER_HTTP,     /* answer requests */
    EXPORTER_TEXTFILE, /* keep a file for node_exporter */
    EXPORTER_PRINT,    /* print the metrics once */
    EXPORTER_PAGE,     /* print the page of --web once */
};

struct exporter_options {
    struct prometheus_options metrics;
    enum exporter_mode mode;
    const char *listen;         /* HTTP: ADDRESS:PORT */
    const char *textfile;       /* path of the file, absolute or relative, ending in ".prom" */
    double interval_s;          /* time between two writes of the file */
    bool web;                   /* with EXPORTER_HTTP: also serve pages */
    struct request_names names; /* only the configured ones */
    double web_since_s;         /* how far back the report reaches */
    struct web_options pages;   /* everything except how the report is made */
};

/** Returns 0; 1 after printing help or the version; -EINVAL after printing the error. */
int exporter_options_parse(struct exporter_options *options, int argc, char **argv);
