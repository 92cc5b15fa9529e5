// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * @file machine_arm64.c  virt as QEMU leaves it to a bare image.
 *
 * The devicetree (devicetree.org, specification 0.4, chapter 5) is where RAM begins, for the image
 * is an ELF file that lies above it (hw/arm/boot.c, arm_setup_direct_kernel_boot()). Of it are read
 * /chosen's bootargs, and reg of the memory nodes, of two cells each.
 */
#include "machine.h"

#define FDT_MAGIC 0xd00dfeed
#define FDT_BEGIN_NODE 1
#define FDT_END_NODE 2
#define FDT_PROPERTY 3
#define FDT_NOP 4
#define FDT_MAX_BYTES (UINT32_C(1) << 20)

/* hw/arm/virt.c base_memmap[VIRT_UART] */
#define UART 0x09000000
#define UART_FLAGS 0x18
#define UART_FULL 0x20

/* gcc emits calls to these two whatever it is told; it must not make one of their own loops. */
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memset(void *to, int byte,
                                                                           size_t size)
{
    for (char *at = to; size--; at++)
        *at = (char)byte;
    return to;
}

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *
memcpy(void *to, const void *from, size_t size)
{
    const char *source = from;

    for (char *at = to; size--; at++)
        *at = *source++;
    return to;
}

/* KVM can emulate only plain loads and stores of one register. */
static uint32_t device_read(uint64_t address)
{
    uint32_t value;

    __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
    return value;
}

static void device_write(uint64_t address, uint32_t value)
{
    __asm__ volatile("str %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

void machine_put_char(char c)
{
    /* Bounded: a stuck one must not stop us. */
    for (int i = 0; i < 100000 && device_read(UART + UART_FLAGS) & UART_FULL; i++)
        ;
    device_write(UART, (uint8_t)c);
}

void machine_quiet(void)
{
}

const char *machine_rest_begin(void)
{
    return "rest=yes is for pc and q35 only";
}

static uint32_t big_endian(const void *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return __builtin_bswap32(value);
}

static uint64_t two_cells(const char *at)
{
    return (uint64_t)big_endian(at) << 32 | big_endian(at + 4);
}

static bool is_text(const char *text, const char *other)
{
    return params_take(&text, other) && *text == '\0';
}

static size_t text_bytes(const char *text)
{
    size_t bytes = 1;

    while (*text++)
        bytes++;
    return bytes;
}

/** A property of a node below the root. */
static const char *take_property(struct machine_info *info, const char *node, const char *name,
                                 const char *value, uint32_t bytes)
{
    if (is_text(node, "chosen") && is_text(name, "bootargs"))
        info->command = value;
    if (!params_take(&node, "memory@") || !is_text(name, "reg"))
        return NULL;
    for (; bytes >= 16; bytes -= 16, value += 16) {
        uint64_t base = two_cells(value);

        if (info->ram_count == MACHINE_MAX_RAM)
            return "the memory map has too many pieces";
        info->ram[info->ram_count++] = (struct machine_ram){base, base + two_cells(value + 8)};
    }
    return NULL;
}

static const char *walk(const char *at, const char *end, const char *names,
                        struct machine_info *info)
{
    const char *node = "", *wrong = NULL;
    unsigned int depth = 0;

    while (!wrong && at < end) {
        uint32_t token = big_endian(at), bytes;

        at += 4;
        if (token == FDT_BEGIN_NODE) {
            if (++depth == 2)
                node = at;
            at += (text_bytes(at) + 3) / 4 * 4;
        } else if (token == FDT_END_NODE) {
            depth--;
        } else if (token == FDT_PROPERTY) {
            bytes = big_endian(at);
            if (depth == 2)
                wrong = take_property(info, node, names + big_endian(at + 4), at + 8, bytes);
            at += 8 + (bytes + 3) / 4 * 4;
        } else if (token != FDT_NOP) {
            break;
        }
    }
    return wrong;
}

const char *machine_read(const uint64_t start[2], struct machine_info *info)
{
    const char *tree = (const char *)MACHINE_RAM_BEGIN;
    uint32_t structure = big_endian(tree + 8), bytes = big_endian(tree + 36);
    const char *wrong;

    (void)start;
    if (big_endian(tree) != FDT_MAGIC || big_endian(tree + 4) > FDT_MAX_BYTES)
        return "there is no devicetree where RAM begins";
    wrong = walk(tree + structure, tree + structure + bytes, tree + big_endian(tree + 12), info);
    if (!wrong && info->ram_count == 0)
        wrong = "the devicetree names no RAM";
    return wrong;
}
