// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file ram_frames.h  The frames behind guest RAM and the folios they belong to, read one by one
 * or as a random sample. */
#pragma once

#include "guest/ram/target.h"
#include "measure/kernel/kpageflags.h"

/* With 512 pages, a share of a hundredth shows in at least one of them 99 times in 100. */
#define RAM_FRAMES_DRAWN 512

struct ram_frames {
    const struct target *target;
    int pagemap_fd, flags_fd;
};

/** A page of guest RAM, the frame behind it, and the head of its folio. */
struct ram_frame {
    uint64_t page, pfn, head;
    bool active;  /* the folio is on an active list */
    bool flagged; /* it had PG_referenced when it was last read */
};

/** False without privileges, or below a root that is not live; close it in both cases. */
bool ram_frames_open(struct ram_frames *frames, const struct target *target);
void ram_frames_close(struct ram_frames *frames);

/** The frame behind a page; 0 if the page is not present. */
uint64_t ram_frames_of_page(const struct ram_frames *frames, uint64_t page);

/** The folio of frame @p pfn, with the flags of its head. 0 or a negative errno. */
int ram_frames_folio(const struct ram_frames *frames, uint64_t pfn, struct folio *folio);

/** Finds the frame behind @p page and its folio; false if the page is not present. */
bool ram_frames_look(const struct ram_frames *frames, uint64_t page, struct ram_frame *seen,
                     struct folio *folio);

/** Calls @p visit for RAM_FRAMES_DRAWN random pages that are present and not taken by another
 * panel, until it returns true; for fewer pages if little of RAM is present. */
void ram_frames_draw(const struct ram_frames *frames,
                     bool (*visit)(void *context, const struct ram_frame *drawn,
                                   const struct folio *folio),
                     void *context);
