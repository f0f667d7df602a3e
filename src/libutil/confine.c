/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* syscall */
#include "src/libutil/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/libutil/util.h"

/* --- capabilities -------------------------------------------------------------------------- */

int confine_caps(uint64_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	int cap;
	size_t i;

	/* the bounding set first, which needs CAP_SETPCAP; from an unknown capability on, EINVAL */
	for (cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(kept & CONFINE_CAP(cap)))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	for (i = 0; i < ARRAY_SIZE(data); i++) {
		data[i].permitted &= (uint32_t)(kept >> (32 * i));
		data[i].effective &= data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, data) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* --- system calls -------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif
/* LeakSanitizer traces its own process at the end */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef NATIVE
#endif

#ifdef NATIVE
/* What a parser that writes one file has no use for, and what attacks on the kernel begin with. */
static const uint32_t refused[] = {
	/* other programs */
	SYS_execve,
	SYS_execveat,
	/* the network, and sockets of daemons */
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	SYS_accept4,
	/* other processes */
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kcmp,
#ifdef SYS_pidfd_getfd
	SYS_pidfd_getfd,
#endif
	/* namespaces and mounts */
	SYS_unshare,
	SYS_setns,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
#ifdef SYS_open_tree
	SYS_open_tree,
	SYS_move_mount,
	SYS_fsopen,
#endif
	/* large parts of the kernel */
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
#ifdef SYS_io_uring_setup
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
#endif
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_quotactl,
	SYS_acct,
	SYS_swapon,
	SYS_swapoff,
	SYS_reboot,
	SYS_personality,
	SYS_setuid,
	SYS_setresuid,
	SYS_setgroups,
};

#define X32_BIT 0x40000000u

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, name))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

int confine_parser(void)
{
	/* a 32 bit or x32 call has other numbers, and no program of ours makes one */
	static const struct sock_filter head[] = {
		FIELD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),	 REFUSE,
		FIELD(nr),   BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1), REFUSE,
	};
	struct sock_filter filter[ARRAY_SIZE(head) + 2 * ARRAY_SIZE(refused) + 1];
	const struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = filter };
	size_t i, n = 0;

	for (i = 0; i < ARRAY_SIZE(head); i++)
		filter[n++] = head[i];
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
		filter[n++] = (struct sock_filter)REFUSE;
	}
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return -errno;
	return 0;
}
#else
int confine_parser(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
#endif
