// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file locate.c  guest_ram_locate(): matches the configured backends with the mappings of the
 * process.
 *
 * Theory of operation: each backend, and each device's memory that is mapped in the same way, takes
 * a candidate of its size whose backing does not contradict the configuration. Those whose id or
 * mem-path stands in the path of a file choose first; then the others choose, those with the most
 * known properties first, and among equals in the order in which QEMU makes them: its mappings grow
 * downwards. If an untaken candidate suits a backend as well as the one that the backend took, the
 * guest is refused if both are small; a candidate as large as a DIMM counts as unclaimed.
 */
#include "guest/ram/candidates.h"
#include "guest/ram/guest_ram.h"
#include "guest/ram/ram_backing.h"
#include "guest/ram/unclaimed.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NONE SIZE_MAX
#define MAX_CLAIMS (2 * RAM_CONFIG_MAX_BACKENDS)
#define KNOWLEDGE_MAX 2

#define cleanup_candidates __attribute__((cleanup(candidates_free)))

/* The candidate that each backend took: first those of RAM, as in the configuration, then those of
 * devices. */
struct match {
    const struct ram_config *config;
    struct candidates *candidates;
    const struct qemu_process *process;
    size_t n;
    const struct ram_backend *claims[MAX_CLAIMS];
    size_t by_order[MAX_CLAIMS]; /* their indices, in the order in which QEMU makes them */
    size_t taken_by[MAX_CLAIMS];
    bool by_id[MAX_CLAIMS];
};

/* hugetlbfs rounds a block up to its page size (QEMU softmmu/physmem.c file_ram_alloc()). */
static bool size_fits(const struct ram_backend *b, const struct candidate *c)
{
    uint64_t page = c->whole.hugetlb && c->whole.page_bytes ? c->whole.page_bytes
                                                            : base_page_bytes();
    uint64_t rest = b->size_bytes % page;

    return b->size_bytes + (rest ? page - rest : 0) == candidate_bytes(c);
}

/* Returns false only if the configuration rules the candidate out. A file may or may not be on
 * hugetlbfs, which only the mapping shows; anonymous memory has an inode when it is shared
 * (/dev/zero). */
static bool backing_fits(const struct ram_backend *b, const struct candidate *c)
{
    if (b->hugetlb && !c->whole.hugetlb)
        return false;
    switch (b->source) {
    case RAM_SOURCE_ANON:
        return !c->whole.hugetlb &&
               (c->whole.inode == 0 || strncmp(c->whole.path, "/dev/zero", 9) == 0);
    case RAM_SOURCE_MEMFD:
        return candidate_is_memfd(c) && b->hugetlb == c->whole.hugetlb;
    case RAM_SOURCE_FILE:
        return c->whole.inode != 0 && !candidate_is_memfd(c);
    case RAM_SOURCE_SHARED:
        return !c->whole.hugetlb &&
               (candidate_is_memfd(c) || strncmp(c->whole.path, "/dev/zero", 9) == 0);
    case RAM_SOURCE_UNKNOWN:
        break;
    }
    return true;
}

static bool fits(const struct ram_backend *b, const struct candidate *c)
{
    return size_fits(b, c) && backing_fits(b, c) && !candidate_is_auxiliary(c);
}

/* The path of the mapping ends with mem-path, as QEMU was given it: relative, or within a root of
 * QEMU's own. */
static bool has_path(const struct candidate *c, const char *path)
{
    static const char deleted[] = " (deleted)";
    const char *its = c->whole.path;
    size_t length = strlen(its);
    size_t tail = sizeof(deleted) - 1;

    if (strncmp(path, "./", 2) == 0)
        path += 2;
    if (length > tail && strcmp(its + length - tail, deleted) == 0)
        length -= tail;

    const size_t wanted = strlen(path);

    return wanted && wanted <= length && memcmp(its + length - wanted, path, wanted) == 0 &&
           (*path == '/' || its[length - wanted - 1] == '/');
}

/* Since QEMU 10 the memfd of memory-backend-ram,share=on has the backend's id as its name. */
static bool is_named(const struct candidate *c, const char *id)
{
    const char *slash = strrchr(c->whole.path + 7, '/');
    const char *name = slash ? slash + 1 : c->whole.path + 7;
    size_t length = strlen(id);

    return length && strncmp(name, id, length) == 0 &&
           (name[length] == '\0' || strcmp(name + length, " (deleted)") == 0);
}

/* QEMU's own files are called DIRECTORY/qemu_back_mem.ID.RANDOM (hugetlbfs), libvirt's
 * DIRECTORY/ID. */
static bool names_file(const struct candidate *c, const char *id)
{
    static const char made_by_qemu[] = "qemu_back_mem.";
    const char *slash = strrchr(c->whole.path, '/');
    size_t length = strlen(id);

    if (!slash || !length || candidate_is_memfd(c))
        return false;

    const char *name = slash + 1;
    bool by_qemu = strncmp(name, made_by_qemu, sizeof(made_by_qemu) - 1) == 0;

    name += by_qemu ? sizeof(made_by_qemu) - 1 : 0;
    if (strncmp(name, id, length) != 0)
        return false;
    return by_qemu ? name[length] == '.'
                   : name[length] == '\0' || strcmp(name + length, " (deleted)") == 0;
}

static bool names_backend(const struct candidate *c, const struct ram_backend *b)
{
    if (b->source == RAM_SOURCE_SHARED && candidate_is_memfd(c))
        return is_named(c, b->id);
    return names_file(c, b->id) || (has_path(c, b->path) && c->whole.offset == b->file_offset);
}

/* Returns true if an untaken candidate could be either backend's. */
static bool competes(const struct match *m, const struct ram_backend *a,
                     const struct ram_backend *b)
{
    for (size_t i = 0; i < m->candidates->n; i++) {
        const struct candidate *c = &m->candidates->at[i];

        if (!c->taken && fits(a, c) && fits(b, c))
            return true;
    }
    return false;
}

/* A DIMM may have been unplugged, and a spare backend deleted: then the mappings left suffice only
 * for the others. */
static bool is_gone(const struct match *m, size_t backend)
{
    const struct ram_backend *b = m->claims[backend];
    ssize_t left = 0;

    for (size_t i = 0; i < m->candidates->n; i++)
        left += !m->candidates->at[i].taken && fits(b, &m->candidates->at[i]);
    for (size_t i = 0; i < m->n; i++)
        left -= m->taken_by[i] == NONE && !m->claims[i]->spare &&
                (b->spare || !m->claims[i]->dimm) && competes(m, m->claims[i], b);
    return (b->dimm || b->spare) && left <= 0;
}

static void locate_take(struct match *m, size_t backend, size_t candidate, bool by_id)
{
    m->taken_by[backend] = candidate;
    m->by_id[backend] = by_id;
    m->candidates->at[candidate].taken = true;
    m->candidates->at[candidate].device = backend >= m->config->n_backends;
    m->candidates->at[candidate].unclaimed = m->claims[backend]->spare &&
                                             (ram_can_be_plugged(m->process) ||
                                              candidate_bytes(&m->candidates->at[candidate]) >=
                                                  RAM_DIMM_MIN_BYTES);
}

static void take_by_id(struct match *m, size_t backend)
{
    const struct ram_backend *b = m->claims[backend];

    for (size_t i = m->candidates->n; i-- > 0;) {
        const struct candidate *c = &m->candidates->at[i];

        if (!c->taken && fits(b, c) && names_backend(c, b)) {
            locate_take(m, backend, i, true);
            return;
        }
    }
}

/* Searches from the highest address down: QEMU maps its backends in this order. */
static void take_by_fit(struct match *m, size_t backend)
{
    for (size_t i = m->candidates->n; i-- > 0;) {
        const struct candidate *c = &m->candidates->at[i];

        if (!c->taken && fits(m->claims[backend], c)) {
            locate_take(m, backend, i, false);
            return;
        }
    }
}

static int knowledge(const struct ram_backend *b)
{
    return (b->source != RAM_SOURCE_UNKNOWN) + b->hugetlb;
}

/* Insertion keeps the order of the configuration where QEMU's is not known. */
static void sort_claims(struct match *m)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t at = i;

        for (; at > 0 && m->claims[m->by_order[at - 1]]->order > m->claims[i]->order; at--)
            m->by_order[at] = m->by_order[at - 1];
        m->by_order[at] = i;
    }
}

static void collect_claims(struct match *m)
{
    for (size_t i = 0; i < m->config->n_backends; i++)
        m->claims[m->n++] = &m->config->backends[i];
    for (size_t i = 0; i < m->config->n_devices; i++)
        m->claims[m->n++] = &m->config->devices[i];
    sort_claims(m);
}

static void match_all(struct match *m)
{
    collect_claims(m);
    for (size_t i = 0; i < m->n; i++)
        m->taken_by[i] = NONE;
    for (size_t at = 0; at < m->n; at++)
        take_by_id(m, m->by_order[at]);
    for (int known = KNOWLEDGE_MAX; known >= 0; known--)
        for (size_t at = 0; at < m->n; at++) {
            const size_t i = m->by_order[at];

            if (m->taken_by[i] == NONE && knowledge(m->claims[i]) == known && !is_gone(m, i))
                take_by_fit(m, i);
        }
}

/* Writes "512.0 MiB anon, 16.0 MiB memfd...": the candidates that were seen, the largest first. */
static void describe(const struct candidates *candidates, char *text, size_t size)
{
    size_t have = 0;

    snprintf(text, size, "nothing");
    for (size_t i = 0; i < candidates->n && have + 64 < size; i++) {
        const struct candidate *c = &candidates->at[i];
        const char *what = c->whole.hugetlb        ? "hugetlb"
                           : candidate_is_memfd(c) ? "memfd"
                           : c->whole.inode        ? "file"
                                                   : "anon";

        have += (size_t)snprintf(text + have, size - have, "%s%" PRIu64 " KiB %s", have ? ", " : "",
                                 candidate_bytes(c) / 1024, what);
    }
}

static int refuse_backend(const struct match *m, int code, const struct ram_backend *b,
                          const char *problem, struct error *error)
{
    char seen[400];

    describe(m->candidates, seen, sizeof(seen));
    return error_set(error, code,
                     "memory backend %s of %" PRIu64 " KiB: %s; mapped like guest RAM: %s",
                     b->id[0] ? b->id : "without id", b->size_bytes / 1024, problem, seen);
}

/* Finds a mapping that no backend took and that could be this backend's; NULL: none. One as large
 * as a DIMM may have been plugged since QEMU began; it then lies below, counts as unclaimed, and
 * the bounds hold either case. Nothing tells smaller ones apart: they may fill any gap. */
static const struct candidate *find_rival(const struct match *m, size_t backend)
{
    const struct ram_backend *b = m->claims[backend];

    for (size_t i = 0; i < m->candidates->n; i++) {
        const struct candidate *c = &m->candidates->at[i];

        if (!c->taken && fits(b, c) && (candidate_bytes(c) < RAM_DIMM_MIN_BYTES || b->order == 0))
            return c;
    }
    return NULL;
}

static int refuse_ambiguous(const struct match *m, size_t backend, const struct candidate *rival,
                            struct error *error)
{
    const struct candidate *taken = &m->candidates->at[m->taken_by[backend]];
    char problem[200];

    snprintf(problem, sizeof(problem),
             "both %" PRIx64 "-%" PRIx64 " and %" PRIx64 "-%" PRIx64
             " could be it; RAM in a file (memory-backend-file) is identified by its path",
             taken->whole.start, taken->whole.end, rival->whole.start, rival->whole.end);
    return refuse_backend(m, -ENOTUNIQ, m->claims[backend], problem, error);
}

static int check_backend(const struct match *m, size_t backend, struct error *error)
{
    const struct ram_backend *b = m->claims[backend];

    if (m->taken_by[backend] == NONE)
        return b->dimm ? 0 : refuse_backend(m, -ENXIO, b, "not found", error);

    const struct candidate *rival = m->by_id[backend] ? NULL : find_rival(m, backend);

    return rival ? refuse_ambiguous(m, backend, rival, error) : 0;
}

static int check_match(const struct match *m, struct error *error)
{
    for (size_t i = 0; i < m->config->n_backends; i++) {
        int rc = check_backend(m, i, error);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static void fill_block(const struct fsroot *root, pid_t pid, const struct ram_backend *b,
                       const struct candidate *c, struct ram_block *block)
{
    const struct vma *v = &c->whole;

    memcpy(block->id, b->id, sizeof(block->id));
    memcpy(block->path, v->path, sizeof(block->path));
    block->hva = v->start;
    block->bytes = candidate_bytes(c);
    block->beyond_bytes = less(block->bytes, b->size_bytes);
    block->shared = v->perms[3] == 's';
    block->locked = v->locked;
    block->mergeable = v->mergeable;
    block->dimm = b->dimm;
    block->node = b->node;
    block->page_bytes = v->hugetlb && v->page_bytes ? v->page_bytes : base_page_bytes();
    block->file_offset = v->offset;
    block->inode = v->inode;
    block->resident_bytes = v->hugetlb ? v->hugetlb_bytes : v->rss_bytes;
    block->mapped_bytes = block->resident_bytes;
    block->swapped_bytes = v->swap_bytes;
    block->huge_bytes = v->hugetlb ? v->hugetlb_bytes
                                   : v->anon_huge_bytes + v->shmem_pmd_bytes + v->file_pmd_bytes;
    ram_backing_find(root, pid, &c->first, block);
}

static void add_block(const struct fsroot *root, pid_t pid, const struct ram_backend *b,
                      const struct candidate *c, struct guest_ram *out)
{
    struct ram_block *block = &out->blocks[out->n_blocks++];

    fill_block(root, pid, b, c, block);
    block->first_page = out->n_pages;
    if (b->virtio_mem)
        out->unproved_bytes += less(block->bytes, block->resident_bytes + block->swapped_bytes);
    out->bytes += block->bytes;
    out->n_pages += base_pages(block->bytes);
}

static int fill_guest_ram(const struct fsroot *root, pid_t pid, const struct match *m,
                          struct guest_ram *out, struct error *error)
{
    *out = (struct guest_ram){.blocks = calloc(m->config->n_backends + 1, sizeof(*out->blocks))};
    if (!out->blocks)
        return error_set(error, -ENOMEM, "process %d: out of memory", (int)pid);
    for (size_t i = 0; i < m->config->n_backends; i++)
        if (m->taken_by[i] != NONE)
            add_block(root, pid, &m->config->backends[i], &m->candidates->at[m->taken_by[i]], out);
    return 0;
}

/* The pages of guest_memfd are in no page table of QEMU and on no list of the kernel, so no method
 * can see them. */
static int check_mapped(const struct ram_config *config, struct error *error)
{
    if (!config->in_guest_memfd)
        return *config->unknown
                   ? error_set(error, -ENXIO, "its RAM is not known: %s", config->unknown)
                   : 0;
    return error_set(
        error, -ENOTSUP,
        "its RAM cannot be seen (%s: it is in guest_memfd), as no page table of the host's tells "
        "what it touches; ask the guest itself (vmwss-guest)",
        config->in_guest_memfd);
}

static int match(const struct fsroot *root, struct match *m, struct error *error)
{
    int rc = candidates_check_pages(root, m->candidates, error);

    if (rc < 0)
        return rc;
    match_all(m);
    return check_match(m, error);
}

int guest_ram_of_candidates(const struct fsroot *root, const struct qemu_process *process,
                            const struct candidates *candidates, struct guest_ram *out,
                            struct error *error)
{
    *out = (struct guest_ram){.blocks = calloc(candidates->n + 1, sizeof(*out->blocks))};
    if (!out->blocks || guest_ram_note_others(process, candidates, out) < 0) {
        guest_ram_free(out);
        return error_set(error, -ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < candidates->n; i++) {
        const struct ram_backend all = {.size_bytes = candidate_bytes(&candidates->at[i])};

        if (candidates->at[i].taken)
            add_block(root, process->pid, &all, &candidates->at[i], out);
    }
    return 0;
}

int guest_ram_locate(const struct fsroot *root, const struct qemu_process *process,
                     const struct ram_config *config, struct guest_ram *out, struct error *error)
{
    cleanup_candidates struct candidates candidates = {0};
    cleanup_free struct match *m = calloc(1, sizeof(*m));
    int rc = check_mapped(config, error);

    if (!m)
        return error_set(error, -ENOMEM, "process %d: out of memory", (int)process->pid);
    if (rc == 0) {
        rc = candidates_collect(root, process->pid, &candidates, error);
        if (rc < 0)
            return rc;
        m->config = config;
        m->candidates = &candidates;
        m->process = process;
        rc = match(root, m, error);
    }
    if (rc < 0) {
        error_prefix(error, "process %d", (int)process->pid);
        return rc;
    }
    rc = fill_guest_ram(root, process->pid, m, out, error);
    if (rc == 0 && guest_ram_note_others(process, &candidates, out) < 0) {
        guest_ram_free(out);
        rc = error_set(error, -ENOMEM, "process %d: out of memory", (int)process->pid);
    }
    return rc;
}
