// SPDX-License-Identifier: LGPL-2.1-or-later
/** @file machine_x86_64.c  pc and q35 as a multiboot loader leaves them. */
#include "machine.h"

#define MULTIBOOT_LOADED 0x2badb002
#define MULTIBOOT_HAS_MAP 0x40
#define MULTIBOOT_HAS_COMMAND 0x4
#define MULTIBOOT_RAM 1

struct multiboot_info {
    uint32_t flags;
    uint32_t unused[3];
    uint32_t command;
    uint32_t unused2[6];
    uint32_t map_length;
    uint32_t map;
};

struct multiboot_range {
    uint32_t size; /**< of what follows */
    uint64_t base;
    uint64_t length;
    uint32_t type;
} __attribute__((packed));

/* gcc emits calls to these two whatever it is told. */
void *memset(void *to, int byte, size_t size)
{
    void *end = to;

    __asm__ volatile("rep stosb" : "+D"(end), "+c"(size) : "a"(byte) : "memory");
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    void *end = to;

    __asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(size) : : "memory");
    return to;
}

static void out_byte(uint16_t port, uint8_t byte)
{
    __asm__ volatile("outb %0, %1" : : "a"(byte), "Nd"(port));
}

static uint8_t in_byte(uint16_t port)
{
    uint8_t byte;

    __asm__ volatile("inb %1, %0" : "=a"(byte) : "Nd"(port));
    return byte;
}

#define PIT_CHANNEL_0 0x40
#define PIT_CONTROL 0x43
/* Channel 0, its count in two bytes, mode 0: one interrupt when it has counted down, and none
 * after. */
#define PIT_ONCE 0x30

/**
 * SeaBIOS leaves the interval timer (Intel 8254) ticking 18.2 times a second. A halted guest that
 * masks interrupts does not mind, but its QEMU wakes up for each tick: 0.25 % of a core, and there
 * may be a thousand of them.
 */
void machine_quiet(void)
{
    out_byte(PIT_CONTROL, PIT_ONCE);
    out_byte(PIT_CHANNEL_0, 1);
    out_byte(PIT_CHANNEL_0, 0);
}

#define PIC_MASTER 0x20
#define PIC_SLAVE 0xa0
#define PIC_VECTOR 0x20
#define PIC_LINES 8
/* Channel 0, its count in two bytes, mode 2: an interrupt whenever it has counted down. */
#define PIT_PERIODIC 0x34
#define PIT_COUNT_10_MS 11932
#define GATE_INTERRUPT 0x8e00
#define CODE_SEGMENT 8

/* boot_x86_64.S has them in the page of spin.o. */
extern struct gate {
    uint16_t offset_low;
    uint16_t segment;
    uint16_t type;
    uint16_t offset_middle;
    uint64_t offset_high;
} rest_idt[PIC_VECTOR + PIC_LINES];
extern char rest_interrupt[], rest_gdt_pointer[], rest_idt_pointer[];

/**
 * The master interrupt controller (Intel 8259) acknowledges by itself, so that rest_interrupt has
 * nothing to do; all lines but the timer's are masked. Each line has a gate, for a spurious
 * interrupt is the last line's.
 */
const char *machine_rest_begin(void)
{
    uint64_t offset = (uint64_t)rest_interrupt;

    for (int line = 0; line < PIC_LINES; line++)
        rest_idt[PIC_VECTOR + line] = (struct gate){.offset_low = (uint16_t)offset,
                                                    .segment = CODE_SEGMENT,
                                                    .type = GATE_INTERRUPT,
                                                    .offset_middle = (uint16_t)(offset >> 16),
                                                    .offset_high = offset >> 32};
    __asm__ volatile("lgdt (%0); lidt (%1)"
                     :
                     : "r"(rest_gdt_pointer), "r"(rest_idt_pointer)
                     : "memory");
    out_byte(PIC_MASTER, 0x11);
    out_byte(PIC_MASTER + 1, PIC_VECTOR);
    out_byte(PIC_MASTER + 1, 0x04);
    out_byte(PIC_MASTER + 1, 0x03);
    out_byte(PIC_MASTER + 1, 0xfe);
    out_byte(PIC_SLAVE + 1, 0xff);
    out_byte(PIT_CONTROL, PIT_PERIODIC);
    out_byte(PIT_CHANNEL_0, PIT_COUNT_10_MS & 0xff);
    out_byte(PIT_CHANNEL_0, PIT_COUNT_10_MS >> 8);
    return NULL;
}

#define SERIAL 0x3f8
#define DEBUG_CONSOLE 0xe9

void machine_put_char(char c)
{
    /* Bounded: a port that is not there reads as ready, but a stuck one must not stop us. */
    for (int i = 0; i < 100000 && !(in_byte(SERIAL + 5) & 0x20); i++)
        ;
    out_byte(SERIAL, (uint8_t)c);
    out_byte(DEBUG_CONSOLE, (uint8_t)c);
}

/** QEMU puts the payload's file name, blanks and all, before the parameters. */
static const char *skip_file_name(const char *command)
{
    const char *word = command;

    for (const char *p = command; *p; p++) {
        if (*p == ' ')
            word = p + 1;
        if (*p == '=')
            return word;
    }
    return "";
}

static const char *read_map(const struct multiboot_info *said, struct machine_info *info)
{
    uint64_t at = said->map;

    while (at < said->map + said->map_length) {
        const struct multiboot_range *ram = (const struct multiboot_range *)at;

        at += ram->size + sizeof(ram->size);
        if (ram->type != MULTIBOOT_RAM)
            continue;
        if (info->ram_count == MACHINE_MAX_RAM)
            return "the memory map has too many pieces";
        info->ram[info->ram_count++] = (struct machine_ram){ram->base, ram->base + ram->length};
    }
    return NULL;
}

/* start: multiboot's eax and ebx */
const char *machine_read(const uint64_t start[2], struct machine_info *info)
{
    const struct multiboot_info *said = (const struct multiboot_info *)start[1];

    if (start[0] != MULTIBOOT_LOADED)
        return "not started by a multiboot loader";
    if (said->flags & MULTIBOOT_HAS_COMMAND)
        info->command = skip_file_name((const char *)(uint64_t)said->command);
    if (!(said->flags & MULTIBOOT_HAS_MAP))
        return "the loader gave no memory map";
    return read_map(said, info);
}
