/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From QEMU's entry at EL1 with the MMU off to C, with virt's first two GiB mapped one to one: devices, and the first GiB of RAM
 * by 2 MiB blocks. payload.c maps the rest. The tables are part of the image, so nothing is written before the MMU and the caches
 * are on. No interrupt is ever enabled. An exception, which there should be none, ends in a loop of its own.
 */
#define MAIR_NORMAL_0_DEVICE_1 0x04ff
/* A table; a block with access flag, inner shareable; a block of device memory, never executed. */
#define TABLE 0x3
#define NORMAL_BLOCK 0x701
#define DEVICE_BLOCK 0x60000000000405

/* TCR_EL1: 48 bits (T0SZ 16), 4 KiB granule, tables in cached and inner shareable memory, no second half. */
#define TCR 0x00803510
#define SCTLR_M_C_I 0x1005

	.section .text.start, "ax"
	.global start
start:
	msr daifset, #15
	adrp x0, vectors
	msr vbar_el1, x0
	ldr x0, =MAIR_NORMAL_0_DEVICE_1
	msr mair_el1, x0
	/* As many physical address bits as the CPU has, of which 48 can be translated. */
	mrs x1, id_aa64mmfr0_el1
	and x1, x1, #15
	mov x2, #5
	cmp x1, x2
	csel x1, x1, x2, lo
	ldr x0, =TCR
	orr x0, x0, x1, lsl #32
	msr tcr_el1, x0
	adrp x0, boot_top
	msr ttbr0_el1, x0
	isb
	tlbi vmalle1
	ic iallu
	dsb nsh
	isb
	mrs x0, sctlr_el1
	ldr x1, =SCTLR_M_C_I
	orr x0, x0, x1
	/* No alignment checks. */
	bic x0, x0, #2
	msr sctlr_el1, x0
	isb
	adrp x0, boot_stack_end
	mov sp, x0
	mov x0, #0
	mov x1, #0
	bl payload_main
	/* It returns when something is wrong, after saying so. */
1:	wfi
	b 1b

	/* void spin_enter(struct state *): its stack is the rest of the state's own page. */
	.global spin_enter
spin_enter:
	add sp, x0, #4096
	bl spin

	.balign 4096
vectors:
	.rept 16
	b .
	.balign 128
	.endr

	.data
	.balign 4096
	.global boot_pdpt
boot_top:
	.quad boot_pdpt + TABLE
	.quad boot_pdpt + 4096 + TABLE
	.quad boot_pdpt + 8192 + TABLE
	.balign 4096
boot_pdpt:
	.quad DEVICE_BLOCK
	.quad boot_pd + TABLE
	.skip 3 * 4096 - 16
boot_pd:
	.set at, 0x40000000
	.rept 512
	.quad at + NORMAL_BLOCK
	.set at, at + 0x200000
	.endr

	.bss
	.balign 4096
	.skip 8192
boot_stack_end:

	.section .note.GNU-stack, "", %progbits
