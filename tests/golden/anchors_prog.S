/* SPDX-License-Identifier: BSD-2-Clause */
/* 400 system calls: getppid() by "parent", getuid() by "user", as the bits of a shift register say.
   Each of parent's has a far call before it, which is no system call. */
	.globl	_start, parent, user
_start:	mov	$0xace1, %ebx
	mov	$400, %ebp
next:	mov	%ebx, %ecx
	and	$15, %ecx
	inc	%ecx
count:	dec	%ecx
	jnz	count
	shr	%ebx
	jnc	other
	xor	$0xb400, %ebx
	rex.W lcall *gate_at(%rip)
	call	parent
	jmp	again
other:	call	user
again:	dec	%ebp
	jnz	next
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.type	parent, @function
parent:	mov	$110, %eax
	syscall
	ret
	.size	parent, . - parent
	.type	user, @function
user:	mov	$102, %eax
	syscall
	ret
	.size	user, . - user
	.type	gate, @function
gate:	rex.W lret
	.size	gate, . - gate
	.data
gate_at: .quad	gate
	.word	0x33
