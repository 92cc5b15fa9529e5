// SPDX-License-Identifier: LGPL-2.1-or-later
#include "measure/method/ram_frames.h"

#include "base/cleanup.h"
#include "base/random.h"
#include "measure/kernel/kpage_shared.h"
#include "measure/kernel/pagemap.h"
#include "measure/page_set.h"

/* Enough draws for a guest that has a hundredth of its RAM present. */
#define ROUNDS 64
/* The step with which the pages of a set are visited; as a larger prime than their number it
 * reaches all of them. In ascending order, the first suitable pages would all lie at the begin of
 * RAM. */
#define STEP 521

bool ram_frames_open(struct ram_frames *frames, const struct target *target)
{
    *frames = (struct ram_frames){.target = target, .pagemap_fd = -1, .flags_fd = -1};
    if (!target->root->live)
        return false;
    frames->pagemap_fd = pagemap_open(target, NULL);
    frames->flags_fd = kpageflags_share(target->root, NULL);
    return frames->pagemap_fd >= 0 && frames->flags_fd >= 0;
}

void ram_frames_close(struct ram_frames *frames)
{
    cleanup_close_at(&frames->pagemap_fd);
    kpage_release(&frames->flags_fd);
}

uint64_t ram_frames_of_page(const struct ram_frames *frames, uint64_t page)
{
    uint64_t entry = 0;

    if (pagemap_read(frames->pagemap_fd, frames->target->ram, &page, 1, &entry) < 0 ||
        !(entry & PAGEMAP_PRESENT))
        return 0;
    return PAGEMAP_PFN(entry);
}

int ram_frames_folio(const struct ram_frames *frames, uint64_t pfn, struct folio *folio)
{
    uint64_t flags;
    int rc = kpageflags_read(frames->flags_fd, &pfn, 1, &flags);

    *folio = (struct folio){.head = pfn, .flags = flags};
    if (rc < 0 || !(flags & (KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL)))
        return rc;
    return kpageflags_folio(frames->flags_fd, pfn, flags, huge_page_order(), folio);
}

bool ram_frames_look(const struct ram_frames *frames, uint64_t page, struct ram_frame *seen,
                     struct folio *folio)
{
    *seen = (struct ram_frame){.page = page, .pfn = ram_frames_of_page(frames, page)};
    if (seen->pfn == 0 || ram_frames_folio(frames, seen->pfn, folio) < 0)
        return false;
    seen->head = folio->head;
    seen->active = folio->flags & KPF_ACTIVE;
    seen->flagged = folio->flags & KPF_REFERENCED;
    return true;
}

struct drawing {
    bool (*visit)(void *context, const struct ram_frame *drawn, const struct folio *folio);
    void *context;
    uint64_t present; /* number of present pages among those drawn */
    bool done;
};

static void draw_page(const struct ram_frames *frames, uint64_t page, struct drawing *drawing)
{
    struct ram_frame drawn;
    struct folio folio;

    if (!ram_frames_look(frames, page, &drawn, &folio))
        return;
    drawing->present++;
    drawing->done = drawing->visit(drawing->context, &drawn, &folio);
}

void ram_frames_draw(const struct ram_frames *frames,
                     bool (*visit)(void *context, const struct ram_frame *drawn,
                                   const struct folio *folio),
                     void *context)
{
    struct drawing drawing = {.visit = visit, .context = context};
    struct page_set set = {.n = RAM_FRAMES_DRAWN};

    for (int round = 0; round < ROUNDS && set.n == RAM_FRAMES_DRAWN && !drawing.done &&
                        drawing.present < RAM_FRAMES_DRAWN;
         round++) {
        if (page_set_panel(&set, frames->target->ram, RAM_FRAMES_DRAWN, random_seed()) < 0)
            return;
        for (uint64_t i = 0; !drawing.done && i < set.n; i++)
            draw_page(frames, page_set_page(&set, i * STEP % set.n), &drawing);
        page_set_free(&set);
    }
}
