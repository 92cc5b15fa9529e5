// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file split_and_join.c  Lets fine_run() split huge pages of a process of our own, and says what
 * became of them.
 *
 * Splitting and joining are the kernel's; the method is one that follows a script, for this machine
 * need not have one that looks at single pages. In its second run, when huge pages are split, it
 * raises the signal given as argument.
 */
#include "base/proc_pid.h"
#include "measure/fine.h"
#include "measure/kernel/pagemap.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWNED 64ULL /* huge pages */
#define SPLIT 32
#define EVERY 16 /* of a split huge page every so many base pages are touched */
#define WORDS_AT_ONCE 512

/* The measuring process reports here; it may be killed at any time. */
struct report {
    uint64_t huge_during;
    int rc;
    struct fine_result fine;
};

static struct report *report;
static struct target target;
static int pagemap_fd;
static int signal_number;
static int marks;
static volatile int interrupted;

static uint64_t count_huge(void)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < OWNED; i++) {
        struct page_mapping mapping = {0};

        pagemap_mapping(pagemap_fd, target.ram->blocks[0].hva + i * huge_page_bytes(), &mapping);
        count += mapping.huge;
    }
    return count;
}

/* --- a method by script ----------------------------------------------------------------------- */

static int scripted_open(const struct target *of, struct page_set *set, void **state,
                         struct error *error)
{
    (void)of;
    (void)error;
    *state = set;
    return 0;
}

static int scripted_mark(void *state, struct error *error)
{
    struct page_set *set = state;
    bool split = ++marks > 1;

    (void)error;
    for (uint64_t i = 0; i < set->n; i++) {
        set->state[i] = !split || i % EVERY == 0 ? PAGE_TOUCHED : PAGE_IDLE;
        page_set_note_unit(set, i, split ? 0 : huge_page_order(),
                           page_set_hva(set, i) & ~(huge_page_bytes() - 1));
    }
    if (!split)
        return 0;
    report->huge_during = count_huge();
    if (signal_number == SIGINT)
        interrupted = 1; /* as the handler of vmwss does */
    else if (signal_number)
        raise(signal_number);
    return 0;
}

static int scripted_collect(void *state, struct tally *tally, struct error *error)
{
    (void)error;
    page_set_tally(state, tally);
    return 0;
}

static void scripted_close(void *state)
{
    (void)state;
}

static const struct method scripted = {
    .name = "scripted",
    .census = true,
    .panel = true,
    .needs_pages = true,
    .open = scripted_open,
    .mark = scripted_mark,
    .collect = scripted_collect,
    .close = scripted_close,
};

/* --- the process whose memory it is ----------------------------------------------------------- */

static uint64_t word_at(uint64_t i)
{
    return i * 0x9e3779b97f4a7c15ULL + 1; /* never a page of zeros, which splitting would free */
}

static _Noreturn void own_memory(uint64_t *memory, int ready_fd)
{
    mmap(memory, OWNED * huge_page_bytes(), PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    madvise(memory, OWNED * huge_page_bytes(), MADV_HUGEPAGE);
    for (uint64_t i = 0; i < OWNED * huge_page_bytes() / sizeof(*memory); i++)
        memory[i] = word_at(i);
    if (write(ready_fd, "r", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* Where the memory is to be: reserved here, so that the address is known, and mapped there. */
static uint64_t *reserve(void)
{
    char *at = mmap(NULL, (OWNED + 1) * huge_page_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);

    if (at == MAP_FAILED)
        err(2, "mmap");
    return (uint64_t *)(((uintptr_t)at + huge_page_bytes() - 1) &
                        ~(uintptr_t)(huge_page_bytes() - 1));
}

static pid_t start_owner(uint64_t *memory)
{
    int ends[2];
    char word;

    if (pipe2(ends, O_CLOEXEC) < 0)
        err(2, "pipe2");

    pid_t pid = fork();

    if (pid == 0)
        own_memory(memory, ends[1]);
    close(ends[1]);
    if (pid < 0 || read(ends[0], &word, 1) != 1)
        errx(2, "the process to measure did not start");
    close(ends[0]);
    return pid;
}

static uint64_t wrong_words(pid_t pid, uint64_t hva)
{
    char path[64];
    uint64_t words[WORDS_AT_ONCE];
    uint64_t wrong = 0;

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);

    int fd = open(path, O_RDONLY | O_CLOEXEC);

    for (uint64_t at = 0; at < OWNED * huge_page_bytes(); at += sizeof(words)) {
        if (pread(fd, words, sizeof(words), (off_t)(hva + at)) != (ssize_t)sizeof(words))
            return UINT64_MAX;
        for (uint64_t i = 0; i < WORDS_AT_ONCE; i++)
            wrong += words[i] != word_at(at / sizeof(uint64_t) + i);
    }
    close(fd);
    return wrong;
}

/* --- measuring it ----------------------------------------------------------------------------- */

static _Noreturn void measure(void)
{
    static struct sample_result result;
    const struct sample_plan plan = {
        .method = &scripted,
        .census = true,
        .n_windows = 1,
        .window_s = {0.2},
        .interrupted = &interrupted,
        .seed = 1,
    };
    struct error error = {0};

    report->rc = fine_run(&target, &plan, SPLIT, &result, &report->fine, &error);
    if (report->rc < 0)
        fprintf(stderr, "fine_run: %s\n", error.text);
    _exit(0);
}

/* The guardian of a process that was killed needs a moment. */
static uint64_t huge_in_the_end(uint64_t before)
{
    for (unsigned i = 0; i < 200 && count_huge() < before; i++)
        usleep(50000);
    return count_huge();
}

static void identify(struct fsroot *root, struct qemu_process *process, pid_t pid)
{
    struct proc_stat stat;
    char path[64];

    if (fsroot_open(root, "/") < 0 || proc_stat_read(root, pid, &stat) < 0)
        errx(2, "/proc/%d/stat: cannot be read", (int)pid);
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    *process = (struct qemu_process){.pid = pid,
                                     .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
                                     .mm_fd = -1,
                                     .start_ticks = stat.start_ticks,
                                     .start_stack = stat.start_stack};
    if (readlink(path, process->exe, sizeof(process->exe) - 1) < 0)
        err(2, "%s", path);
}

static void run(pid_t owner, uint64_t hva)
{
    uint64_t before = count_huge();
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        measure();
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        err(2, "fork");

    uint64_t after = huge_in_the_end(before);

    printf(
        "{\"before\":%llu,\"during\":%llu,\"after\":%llu,\"wrong_words\":%llu,\"signal\":%d,\"rc\":%d,"
        "\"n\":%zu,\"density\":%g,\"not_joined\":%llu,\"split_s\":%.4f,\"join_s\":%.4f}\n",
        (unsigned long long)before, (unsigned long long)report->huge_during,
        (unsigned long long)after, (unsigned long long)wrong_words(owner, hva),
        WIFSIGNALED(status) ? WTERMSIG(status) : 0, report->rc, report->fine.tally.n,
        report->fine.tally.touched[0], (unsigned long long)report->fine.not_joined,
        report->fine.split_s, report->fine.join_s);
}

int main(int argc, char **argv)
{
    struct fsroot root;
    struct qemu_process process;
    struct error error = {0};
    uint64_t *memory = reserve();
    struct ram_block block = {.hva = (uint64_t)(uintptr_t)memory,
                              .bytes = OWNED * huge_page_bytes()};
    const struct guest_ram ram = {
        .bytes = block.bytes, .n_pages = base_pages(block.bytes), .n_blocks = 1, .blocks = &block};

    signal_number = argc > 1 ? atoi(argv[1]) : 0;
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED)
        err(2, "mmap");

    pid_t owner = start_owner(memory);

    identify(&root, &process, owner);
    target = (struct target){.root = &root, .process = &process, .ram = &ram};
    pagemap_fd = pagemap_open(&target, &error);
    if (pagemap_fd < 0)
        errx(2, "%s", error.text);
    run(owner, block.hva);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    return 0;
}
