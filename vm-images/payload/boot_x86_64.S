/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From multiboot's 32-bit entry into 64-bit mode, with the first GiB mapped one to one by 2 MiB pages.
 * payload.c maps the rest. No interrupt is enabled and no segment loaded again, so that neither IDT nor GDT is touched
 * once the payload spins. With rest=yes both are, and lie in the page of spin.o, which counts as touched anyway.
 */
#define MULTIBOOT_MAGIC 0x1badb002
#define MULTIBOOT_MEMORY_MAP 2

#define PRESENT_WRITABLE 0x3
#define HUGE_PAGE 0x80

#define CR4_PAE 0x20
#define MSR_EFER 0xc0000080
#define EFER_LME 0x100
#define CR0_PG_PE 0x80000001

/* The local APIC's registers, and what SeaBIOS leaves there: switched on, and passing on what the 8259 says. */
#define APIC_SPURIOUS 0xfee000f0
#define APIC_ON 0x1ff
#define APIC_LINT0 0xfee00350
#define APIC_EXTINT 0x8700

	.section .multiboot, "a"
	.align 4
	.long MULTIBOOT_MAGIC, MULTIBOOT_MEMORY_MAP, -(MULTIBOOT_MAGIC + MULTIBOOT_MEMORY_MAP)

	.text
	.code32
	.global start
start:
	cli
	cld
	/* eax (magic) and ebx (information) are payload_main's arguments. */
	movl %eax, %edi
	movl %ebx, %esi
	/* A smaller firmware (qboot) has left it off, and rest=yes would never wake up. */
	movl $APIC_ON, APIC_SPURIOUS
	movl $APIC_EXTINT, APIC_LINT0

	movl $boot_pdpt + PRESENT_WRITABLE, boot_pml4
	movl $boot_pdpt + 4096 + PRESENT_WRITABLE, boot_pml4 + 8
	movl $boot_pdpt + 8192 + PRESENT_WRITABLE, boot_pml4 + 16
	movl $boot_pd + PRESENT_WRITABLE, boot_pdpt
	xorl %ecx, %ecx
	movl $PRESENT_WRITABLE | HUGE_PAGE, %eax
1:	movl %eax, boot_pd(,%ecx,8)
	addl $0x200000, %eax
	incl %ecx
	cmpl $512, %ecx
	jne 1b

	movl $CR4_PAE, %eax
	movl %eax, %cr4
	movl $boot_pml4, %eax
	movl %eax, %cr3
	movl $MSR_EFER, %ecx
	xorl %edx, %edx
	movl $EFER_LME, %eax
	wrmsr
	movl $CR0_PG_PE, %eax
	movl %eax, %cr0
	lgdt gdt_pointer
	ljmp $8, $start64

	.code64
start64:
	movl $16, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	leaq boot_stack_end(%rip), %rsp
	/* Their upper halves are nothing that 32-bit code has set. */
	movl %edi, %edi
	movl %esi, %esi
	call payload_main
	/* It returns when something is wrong, after saying so. */
2:	hlt
	jmp 2b

	/* void spin_enter(struct state *): its stack is the rest of the state's own page. */
	.global spin_enter
spin_enter:
	leaq 4096(%rdi), %rsp
	call spin

	.section .rodata
	.align 8
gdt:	.quad 0
	.quad 0x00209a0000000000
	.quad 0x0000920000000000
gdt_pointer:
	.word . - gdt - 1
	.long gdt

	.section .spin_page, "awx"
	.align 8
	.global rest_idt, rest_interrupt, rest_gdt_pointer, rest_idt_pointer
rest_idt:
	.skip 40 * 16
rest_gdt:
	.quad 0
	.quad 0x00209a0000000000
	.quad 0x0000920000000000
rest_idt_pointer:
	.word rest_gdt - rest_idt - 1
	.quad rest_idt
rest_gdt_pointer:
	.word rest_idt_pointer - rest_gdt - 1
	.quad rest_gdt
rest_interrupt:
	iretq

	.bss
	.align 4096
	.global boot_pdpt
boot_pml4:
	.skip 4096
boot_pdpt:
	.skip 3 * 4096
boot_pd:
	.skip 4096
	.skip 8192
boot_stack_end:

	.section .note.GNU-stack, "", @progbits
