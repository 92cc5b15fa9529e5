// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file balloon.c  See balloon.h.
 *
 * Legacy virtio over PCI (virtio 1.2, 4.1.4.8 and 2.7.2): registers in I/O space behind BAR 0, one
 * queue of which one descriptor is used again and again, and the used index polled. Done once,
 * before the steady state; or again whenever the host asks for another size (5.5.6.1), which is
 * looked at every 10 ms. Pages that are taken back need no message: the device did not ask to be
 * told first.
 */
#include "balloon.h"

#define PCI_ADDRESS 0xcf8
#define PCI_DATA 0xcfc
#define PCI_SLOTS 32
#define PCI_COMMAND 0x04
#define PCI_BAR0 0x10
#define PCI_IO_AND_MASTER 0x5
#define BALLOON_ID 0x10021af4 /* transitional balloon, Red Hat */

/* Offsets of legacy registers. */
#define GUEST_FEATURES 0x04
#define QUEUE_FRAME 0x08
#define QUEUE_SIZE 0x0c
#define QUEUE_SELECT 0x0e
#define QUEUE_NOTIFY 0x10
#define STATUS 0x12
#define WANTED_PAGES 0x14 /* the device's own begin here: no MSI-X */
#define ACTUAL_PAGES 0x18

#define STATUS_DRIVER 0x3
#define STATUS_DRIVER_OK 0x7
#define INFLATE_QUEUE 0
#define MAX_QUEUE 256

struct descriptor {
    uint64_t address;
    uint32_t length;
    uint16_t flags;
    uint16_t next;
};

struct queue {
    uint16_t port;
    volatile uint16_t *available; /**< flags, index, ring */
    volatile uint16_t *used;      /**< flags, index, ring */
    struct descriptor *descriptor;
};

/* While the host's size is followed. */
static struct queue followed;
static uint64_t given_pages;
static uint32_t asked_pages;

static char ring[3 * PARAMS_PAGE_SIZE] __attribute__((aligned(PARAMS_PAGE_SIZE)));
static uint32_t frames[PARAMS_PAGE_SIZE / sizeof(uint32_t)];

static void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static void out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port));
}

static void out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static uint16_t in16(uint16_t port)
{
    uint16_t value;

    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static uint32_t in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static void pci_select(uint32_t slot, uint32_t offset)
{
    out32(PCI_ADDRESS, UINT32_C(1) << 31 | slot << 11 | offset);
}

/** The device's I/O port, or 0. */
static uint16_t find_balloon(void)
{
    for (uint32_t slot = 0; slot < PCI_SLOTS; slot++) {
        pci_select(slot, 0);
        if (in32(PCI_DATA) != BALLOON_ID)
            continue;
        pci_select(slot, PCI_COMMAND);
        out16(PCI_DATA, PCI_IO_AND_MASTER);
        pci_select(slot, PCI_BAR0);

        uint32_t bar = in32(PCI_DATA);

        return bar & 1 ? (uint16_t)(bar & ~UINT32_C(3)) : 0;
    }
    return 0;
}

static const char *start_queue(struct queue *queue)
{
    queue->port = find_balloon();
    if (!queue->port)
        return "no virtio-balloon-pci with legacy registers";
    out8(queue->port + STATUS, 0);
    out8(queue->port + STATUS, STATUS_DRIVER);
    out32(queue->port + GUEST_FEATURES, 0);
    out16(queue->port + QUEUE_SELECT, INFLATE_QUEUE);

    uint64_t size = in16(queue->port + QUEUE_SIZE);

    if (size == 0 || size > MAX_QUEUE)
        return "the balloon's queue has an unexpected size";

    uint64_t available = size * sizeof(struct descriptor);
    uint64_t end = available + (3 + size) * sizeof(uint16_t);

    queue->descriptor = (struct descriptor *)(void *)ring;
    queue->available = (volatile uint16_t *)(void *)(ring + available);
    queue->used = (volatile uint16_t *)(void *)(ring + (end + PARAMS_PAGE_SIZE - 1) /
                                                           PARAMS_PAGE_SIZE * PARAMS_PAGE_SIZE);
    out32(queue->port + QUEUE_FRAME, (uint32_t)((uint64_t)ring / PARAMS_PAGE_SIZE));
    out8(queue->port + STATUS, STATUS_DRIVER_OK);
    return NULL;
}

/** Hands over the frames listed, and waits until the host has taken them. Ring slots stay 0:
 * descriptor 0. */
static void send(struct queue *queue, uint64_t count)
{
    *queue->descriptor = (struct descriptor){.address = (uint64_t)frames,
                                             .length = (uint32_t)(count * sizeof(frames[0]))};
    __asm__ volatile("mfence" : : : "memory");
    queue->available[1]++;
    __asm__ volatile("mfence" : : : "memory");
    out16(queue->port + QUEUE_NOTIFY, INFLATE_QUEUE);
    while (queue->used[1] != queue->available[1])
        __asm__ volatile("pause");
}

static uint64_t most_hot_pages(const struct params *params)
{
    uint64_t most = params->hot_pages;

    for (unsigned int i = 0; i < params->phase_count; i++)
        if (params->phases[i].hot_pages > most)
            most = params->phases[i].hot_pages;
    return most;
}

/** Gives cold pages, counted from the region's end, number from to number to - 1. How many there
 * are, at most to. */
static uint64_t give(struct queue *queue, const struct state *state, uint64_t from, uint64_t to)
{
    const struct params *params = &state->params;
    uint64_t most_hot = most_hot_pages(params), listed = 0, number = 0;

    for (uint64_t page = params->total_pages; number < to && page-- > 0;) {
        if (pattern_is_hot(&params->pattern, page, most_hot) || number++ < from)
            continue;
        frames[listed++] = (uint32_t)((uint64_t)state_word(state, page) / PARAMS_PAGE_SIZE);
        if (listed == sizeof(frames) / sizeof(frames[0])) {
            send(queue, listed);
            listed = 0;
        }
    }
    if (listed)
        send(queue, listed);
    return number;
}

const char *balloon_inflate(const struct state *state)
{
    uint64_t pages = state->params.balloon_pages;
    struct queue queue;
    const char *wrong = start_queue(&queue);

    if (!wrong && give(&queue, state, 0, pages) < pages)
        wrong = "balloon= is more than the region has cold pages";
    return wrong;
}

const char *balloon_follow_begin(void)
{
    return start_queue(&followed);
}

void balloon_follow(const struct state *state)
{
    uint32_t asked = in32(followed.port + WANTED_PAGES);

    if (asked == asked_pages)
        return;
    asked_pages = asked;
    given_pages = asked < given_pages || state->params.balloon_keeps
                      ? asked
                      : give(&followed, state, given_pages, asked);
    out32(followed.port + ACTUAL_PAGES, (uint32_t)given_pages);
}
