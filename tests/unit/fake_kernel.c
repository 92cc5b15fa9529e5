// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_kernel.h"

#include "measure/kernel/idle_bitmap.h"
#include "measure/kernel/kpageflags.h"
#include "measure/kernel/pagemap.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGEMAP "proc/4242/pagemap"

#define WINDOW_BYTES (1ULL << 20)

/* An assertion a page would take most of the time of some tests. */
static void must(bool holds, const char *path)
{
    if (!holds)
        ck_abort_msg("%s: %s", path, strerror(errno));
}

static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static int open_below(struct fake_kernel *fake, const char *path)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC;
    char full[512];
    int fd;

    snprintf(full, sizeof(full), "%s/%s", fake->path, path);
    fd = open(full, flags, 0600);
    if (fd < 0 && errno == ENOENT) {
        make_directories(full);
        fd = open(full, flags, 0600);
    }
    must(fd >= 0, full);
    return fd;
}

/* Returns the part of the file with the 64-bit number @p index, mapped; a system call for each
 * number would be most of the time of some tests. */
static struct fake_window *window_of(struct fake_kernel *fake, const char *path, uint64_t index)
{
    const uint64_t first = index * 8 / WINDOW_BYTES * WINDOW_BYTES / 8;
    struct fake_window *window = fake->windows;

    while (window->at && (window->first != first || strcmp(window->path, path) != 0))
        window++;
    must(window < fake->windows + COUNT(fake->windows) - 1, "too many windows");
    if (!window->at) {
        window->fd = open_below(fake, path);
        window->first = first;
        window->at = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, window->fd,
                          (off_t)(first * 8));
        must(window->at != MAP_FAILED, path);
        snprintf(window->path, sizeof(window->path), "%s", path);
    }
    return window;
}

/* Returns true if the file has the number, whether or not it had when it was asked last. */
static bool has(struct fake_window *window, uint64_t index)
{
    struct stat st;

    if (index < window->end)
        return true;
    must(fstat(window->fd, &st) == 0, window->path);
    window->end = (uint64_t)st.st_size / 8;
    return index < window->end;
}

void fake_write(struct fake_kernel *fake, const char *path, const char *text)
{
    unit_write(fake->path, path, text);
}

void fake_set_u64(struct fake_kernel *fake, const char *path, uint64_t index, uint64_t value)
{
    struct fake_window *window = window_of(fake, path, index);

    if (!has(window, index))
        must(ftruncate(window->fd, (off_t)((index + 1) * 8)) == 0, path);
    window->at[index - window->first] = value;
}

uint64_t fake_get_u64(struct fake_kernel *fake, const char *path, uint64_t index)
{
    struct fake_window *window = window_of(fake, path, index);

    return has(window, index) ? window->at[index - window->first] : 0;
}

void fake_cut(struct fake_kernel *fake, const char *path, uint64_t bytes)
{
    cleanup_close int fd = open_below(fake, path);

    must(ftruncate(fd, (off_t)bytes) == 0, path);
    for (struct fake_window *window = fake->windows; window->at; window++)
        window->end = 0;
}

/* QEMU has nothing but the guest's RAM. */
static void fake_maps(struct fake_kernel *fake)
{
    const char *text = TEXT_OF(128, "%llx-%llx rw-p 00000000 00:00 0 \n", FAKE_HVA,
                               FAKE_HVA + (unsigned long long)fake->block.bytes);

    fake_write(fake, "proc/4242/maps", text);
}

void fake_kernel_make(struct fake_kernel *fake, uint64_t n_pages)
{
    memset(fake, 0, sizeof(*fake));
    snprintf(fake->path, sizeof(fake->path), "%s", unit_dir());
    ck_assert_int_eq(fsroot_open(&fake->root, fake->path), 0);
    fake->process = (struct qemu_process){.pid = FAKE_PID, .pidfd = -1, .accel = ACCEL_KVM};
    fake->block = (struct ram_block){
        .id = "pc.ram",
        .hva = FAKE_HVA,
        .bytes = n_pages * base_page_bytes(),
        .page_bytes = base_page_bytes(),
    };
    fake->ram = (struct guest_ram){
        .bytes = fake->block.bytes, .n_pages = n_pages, .n_blocks = 1, .blocks = &fake->block};
    fake->target = (struct target){
        .root = &fake->root, .process = &fake->process, .ram = &fake->ram};
    fake_maps(fake);
    fake_set_u64(fake, PAGEMAP, base_pages(FAKE_HVA) + n_pages, 0);
    /* Room for frames 0 .. 65535: the real bitmap has a word for all of them. */
    fake_set_u64(fake, IDLE_BITMAP_PATH, 1023, 0);
    fake_set_u64(fake, "proc/kpageflags", 65535, 0);
    fake_set_u64(fake, "proc/kpagecount", 65535, 0);
}

void fake_map(struct fake_kernel *fake, uint64_t page, uint64_t pfn, uint64_t flags)
{
    fake_set_u64(fake, PAGEMAP, base_pages(FAKE_HVA) + page, PAGEMAP_PRESENT | pfn);
    fake_set_u64(fake, "proc/kpageflags", pfn, flags);
}

void fake_touch(struct fake_kernel *fake, uint64_t pfn)
{
    fake_isolate(fake, pfn);
    fake_set_u64(fake, "proc/kpageflags", pfn,
                 fake_get_u64(fake, "proc/kpageflags", pfn) & ~KPF_IDLE);
}

void fake_isolate(struct fake_kernel *fake, uint64_t pfn)
{
    uint64_t word = fake_get_u64(fake, IDLE_BITMAP_PATH, pfn / 64);

    fake_set_u64(fake, IDLE_BITMAP_PATH, pfn / 64, word & ~(1ULL << (pfn % 64)));
}
