/* SPDX-License-Identifier: BSD-2-Clause */
/* Six times getppid(), with 3 + 2 + 20 (k + 1) + 2 instructions from the k-th to the next. */
	.globl	_start
_start:	mov	$1, %ebx
again:	mov	%ebx, %ecx
	imul	$10, %ecx, %ecx
count:	dec	%ecx
	jnz	count
	mov	$110, %eax
	syscall
	inc	%ebx
	cmp	$7, %ebx
	jne	again
	mov	$60, %eax
	xor	%edi, %edi
	syscall
