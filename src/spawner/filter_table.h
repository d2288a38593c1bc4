/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls a tenant may make. Names that a machine does not have are skipped (arm64 has
 * no open or fork); those that libseccomp may be too old to know come with their number, which is
 * the same on every architecture since 424.
 */
#ifndef BERTH_SPAWNER_FILTER_TABLE_H
#define BERTH_SPAWNER_FILTER_TABLE_H

/* clang-format off */

/* Left out here and decided by argument: clone unshare ioctl fcntl prlimit64 setsockopt socket
 * socketpair personality. */
static const char filter_allowed[] =
	"read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction "
	"rt_sigprocmask rt_sigreturn pread64 pwrite64 readv writev access pipe select sched_yield "
	"mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm "
	"setitimer getpid sendfile connect accept sendto recvfrom sendmsg recvmsg shutdown bind "
	"listen getsockname getpeername getsockopt fork vfork execve exit "
	"wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv msgctl flock fsync "
	"fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link "
	"unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit "
	"getrusage sysinfo times ptrace getuid getgid setuid setgid geteuid getegid setpgid getppid "
	"getpgrp setsid setreuid setregid getgroups setgroups setresuid getresuid setresgid "
	"getresgid getpgid setfsuid setfsgid getsid capget capset rt_sigpending rt_sigtimedwait "
	"rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod statfs fstatfs getpriority "
	"setpriority sched_setparam sched_getparam sched_setscheduler sched_getscheduler "
	"sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock mlockall "
	"munlockall prctl arch_prctl setrlimit chroot sync gettid readahead setxattr lsetxattr "
	"fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr "
	"lremovexattr fremovexattr tkill time futex sched_setaffinity sched_getaffinity "
	"epoll_create getdents64 set_tid_address "
	"restart_syscall semtimedop fadvise64 timer_create timer_settime timer_gettime "
	"timer_getoverrun timer_delete clock_gettime clock_getres clock_nanosleep exit_group "
	"epoll_wait epoll_ctl tgkill utimes get_mempolicy mq_open mq_unlink mq_timedsend "
	"mq_timedreceive mq_notify mq_getsetattr waitid ioprio_set ioprio_get inotify_init "
	"inotify_add_watch inotify_rm_watch openat mkdirat mknodat fchownat futimesat newfstatat "
	"unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll "
	"set_robust_list get_robust_list splice tee sync_file_range utimensat epoll_pwait signalfd "
	"timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 "
	"eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo recvmmsg "
	"syncfs sendmmsg getcpu process_vm_readv process_vm_writev sched_setattr "
	"sched_getattr renameat2 seccomp getrandom memfd_create execveat membarrier mlock2 "
	"copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx "
	"rseq pidfd_send_signal=424 pidfd_open=434 close_range=436 openat2=437 faccessat2=439 "
	"epoll_pwait2=441 landlock_create_ruleset=444 landlock_add_rule=445 "
	"landlock_restrict_self=446 futex_waitv=449 cachestat=451 fchmodat2=452 futex_wake=454 "
	"futex_wait=455 futex_requeue=456 mseal=462 setxattrat=463 getxattrat=464 listxattrat=465 "
	"removexattrat=466 file_getattr=468 file_setattr=469";

/*
 * Known and refused. In neither list, so that ENOSYS makes programs fall back: clone3 (libc goes on
 * with clone), and io_setup and its kin, whose contexts one sandbox could take from the whole host
 * (fs.aio-max-nr counts no users, databases do without).
 */
static const char filter_refused[] =
	"mount umount2 pivot_root fsopen=430 fsconfig=431 fsmount=432 fspick=433 open_tree=428 "
	"open_tree_attr=467 move_mount=429 mount_setattr=442 statmount=457 listmount=458 "
	"listns=470 setns io_uring_setup=425 io_uring_enter=426 io_uring_register=427 bpf "
	"perf_event_open userfaultfd kcmp lookup_dcookie fanotify_init fanotify_mark keyctl add_key "
	"request_key kexec_load kexec_file_load init_module finit_module delete_module "
	"create_module query_module get_kernel_syms reboot swapon swapoff acct syslog quotactl "
	"quotactl_fd=443 settimeofday clock_settime clock_adjtime adjtimex iopl ioperm modify_ldt "
	"vhangup nfsservctl uselib _sysctl sysfs ustat getpmsg putpmsg afs_syscall tuxcall security "
	"vserver epoll_ctl_old epoll_wait_old set_thread_area get_thread_area open_by_handle_at "
	"name_to_handle_at pidfd_getfd=438 process_madvise=440 process_mrelease=448 move_pages "
	"migrate_pages mbind set_mempolicy set_mempolicy_home_node=450 vmsplice memfd_secret=447 "
	"remap_file_pages lsm_get_self_attr=459 lsm_set_self_attr=460 lsm_list_modules=461 "
	"map_shadow_stack=453 sethostname setdomainname";

/* clang-format on */

#endif
