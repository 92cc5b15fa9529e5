// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file options.h  vmwss-exporter's command line. */
#pragma once

#include "programs/exporter/web.h"
#include "show/metrics/prometheus.h"

#include <stdbool.h>

/** The libvirt exporter's port and ten thousand: none that the Prometheus project's list of ports
 * has, nor IANA's. */
#define EXPORTER_LISTEN "127.0.0.1:19177"
#define EXPORTER_INTERVAL_S 15

enum exporter_mode {
    EXPORTER_HTTP,     /* answers requests */
    EXPORTER_TEXTFILE, /* keeps a file for node_exporter */
    EXPORTER_PRINT,    /* prints the metrics once */
    EXPORTER_PAGE,     /* prints the page of --web once */
};

struct exporter_options {
    struct prometheus_options metrics;
    enum exporter_mode mode;
    const char *listen;       /* HTTP: ADDRESS:PORT */
    const char *textfile;     /* the file, absolute or not, ending in ".prom" */
    double interval_s;        /* between two writes of it */
    bool web;                 /* HTTP: pages too */
    bool of_web;              /* what is of no use else was given */
    double web_since_s;       /* how far back the report goes */
    struct web_options pages; /* all but how the report is made */
};

/** 0; 1 after printing help or the version; -EINVAL after printing what is wrong. */
int exporter_options_parse(struct exporter_options *options, int argc, char **argv);
