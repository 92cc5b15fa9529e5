// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file fake_kernel.h  A tree of files that looks like /proc and /sys to the methods.
 *
 * The bitmap is a plain file: marking sets bits in it, and a test "touches" a page by clearing its
 * bit, as the kernel would. Page flags are what the test writes; nothing sets KPF_IDLE by itself.
 */
#pragma once

#include "base/fsroot.h"
#include "guest/ram/guest_ram.h"
#include "guest/ram/target.h"

#define FAKE_PID 4242
#define FAKE_HVA 0x7f0000000000ULL

/** A part of a file of 64-bit numbers. */
struct fake_window {
    char path[64];
    int fd;
    uint64_t first, end; /* of its numbers, and of those that the file is known to have */
    uint64_t *at;        /* mapped; NULL: none */
};

struct fake_kernel {
    char path[64];
    struct fsroot root;
    struct qemu_process process;
    struct ram_block block;
    struct guest_ram ram;
    struct target target;
    struct fake_window windows[16]; /* the last has no .at */
};

/** A guest of @p n_pages base pages in one block; everything absent. Aborts the test on failure.
 * Its files are removed when the test ends. */
void fake_kernel_make(struct fake_kernel *fake, uint64_t n_pages);

/** Writes a text file below the root, with its parent directories. */
void fake_write(struct fake_kernel *fake, const char *path, const char *text);

/** Sets entry @p index of an array of 64-bit numbers below the root. */
void fake_set_u64(struct fake_kernel *fake, const char *path, uint64_t index, uint64_t value);
uint64_t fake_get_u64(struct fake_kernel *fake, const char *path, uint64_t index);

/** Cuts such a file. */
void fake_cut(struct fake_kernel *fake, const char *path, uint64_t bytes);

/** Puts frame @p pfn, with flags, behind page number @p page. */
void fake_map(struct fake_kernel *fake, uint64_t page, uint64_t pfn, uint64_t flags);

/** The guest touches frame @p pfn: its idle bit goes, and its idle flag. */
void fake_touch(struct fake_kernel *fake, uint64_t pfn);

/** The frame is off its LRU list: the bitmap reads 0, and it keeps its idle flag. */
void fake_isolate(struct fake_kernel *fake, uint64_t pfn);
