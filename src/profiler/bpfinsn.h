/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpfinsn.h - instructions of the small BPF programs that we load without libbpf.
 */
#ifndef CEEMS_BPFINSN_H
#define CEEMS_BPFINSN_H

#include <linux/bpf.h>

#define LD_MAP(reg, fd) { .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = (reg), .src_reg = BPF_PSEUDO_MAP_FD, .imm = (fd) }, { 0 }
#define CALL(helper) { .code = BPF_JMP | BPF_CALL, .imm = (helper) }
#define SET(reg, value) { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value) }
#define MOV(reg, from) { .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (reg), .src_reg = (from) }
#define MOV32(reg, from) { .code = BPF_ALU | BPF_MOV | BPF_X, .dst_reg = (reg), .src_reg = (from) }
#define OP(op, reg, value) { .code = BPF_ALU64 | (op) | BPF_K, .dst_reg = (reg), .imm = (value) }
#define OR(reg, from) { .code = BPF_ALU64 | BPF_OR | BPF_X, .dst_reg = (reg), .src_reg = (from) }
#define LOAD(reg, at) { .code = BPF_LDX | BPF_DW | BPF_MEM, .dst_reg = (reg), .src_reg = BPF_REG_10, .off = (at) }
#define STORE(at, reg) { .code = BPF_STX | BPF_DW | BPF_MEM, .dst_reg = BPF_REG_10, .src_reg = (reg), .off = (at) }
#define JUMP(op, reg, value, to) { .code = BPF_JMP | (op) | BPF_K, .dst_reg = (reg), .imm = (value), .off = (to) }
#define JUMP32_NE(reg, value, to) { .code = BPF_JMP32 | BPF_JNE | BPF_K, .dst_reg = (reg), .imm = (int32_t)(value), .off = (to) }
#define EXIT { .code = BPF_JMP | BPF_EXIT }

#endif
