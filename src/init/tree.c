/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that descends from a process, by /proc. */
#include "init/tree.h"

#include "base/attr.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* More than this at once are reached by the next call, when these have died. */
enum { MAX_PROCS = 8192 };

struct proc {
	pid_t pid, parent, group;
	bool is_ours;
	bool is_due; /* alive, and has not had the signal yet */
};

struct tree {
	struct proc procs[MAX_PROCS];
	int n;
};

/* Digits at *at into a pid, or -1. */
static pid_t take_number(const char **at)
{
	const char *p = *at;
	pid_t n = 0;

	if (*p < '0' || *p > '9')
		return -1;
	for (; *p >= '0' && *p <= '9' && n < 100 * 1000 * 1000; p++)
		n = n * 10 + (*p - '0');
	*at = p;
	return n;
}

bool tree_parse_stat(const char *line, char *ret_state, pid_t *ret_parent, pid_t *ret_group)
{
	/* The name is in parentheses and may hold parentheses itself: its end is the last one. */
	const char *p = strrchr(line, ')');
	pid_t parent, group;
	char state;

	if (!p || p[1] != ' ' || !p[2] || p[3] != ' ')
		return false;
	state = p[2];
	p += 4;
	parent = take_number(&p);
	if (parent < 0 || *p++ != ' ')
		return false;
	group = take_number(&p);
	if (group < 0)
		return false;
	*ret_state = state;
	*ret_parent = parent;
	*ret_group = group;
	return true;
}

static void add_proc(struct tree *tree, int proc_fd, const char *name)
{
	char path[32], line[512], state;
	const char *digits = name;
	struct proc *proc = &tree->procs[tree->n];
	ssize_t n;

	proc->pid = take_number(&digits);
	if (proc->pid <= 0 || *digits)
		return;
	(void)snprintf(path, sizeof(path), "%d/stat", proc->pid);
	auto_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, line, sizeof(line) - 1);
	if (n <= 0)
		return;
	line[n] = '\0';
	if (!tree_parse_stat(line, &state, &proc->parent, &proc->group))
		return;
	proc->is_due = state != 'Z' && state != 'X';
	tree->n++;
}

static void read_procs(struct tree *tree)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	tree->n = 0;
	if (!dir)
		return;
	while (tree->n < MAX_PROCS && (entry = readdir(dir)))
		add_proc(tree, dirfd(dir), entry->d_name);
	(void)closedir(dir);
}

static bool is_below(const struct tree *tree, const struct proc *proc, pid_t root)
{
	if (proc->parent == root)
		return true;
	for (int i = 0; i < tree->n; i++)
		if (tree->procs[i].pid == proc->parent)
			return tree->procs[i].is_ours;
	return false;
}

/* A parent may come after its child in the list, so until nothing changes. */
static void mark(struct tree *tree, pid_t root, enum tree_scope scope)
{
	bool is_changed = true;

	for (int i = 0; i < tree->n; i++)
		tree->procs[i].is_ours = scope == TREE_WITH_ROOT && tree->procs[i].pid == root;
	while (is_changed) {
		is_changed = false;
		for (int i = 0; i < tree->n; i++) {
			struct proc *proc = &tree->procs[i];

			if (!proc->is_ours && is_below(tree, proc, root)) {
				proc->is_ours = true;
				is_changed = true;
			}
		}
	}
}

static bool is_all_ours(const struct tree *tree, pid_t group)
{
	if (group <= 1)
		return false; /* to kill() these are its own group, and everybody */
	for (int i = 0; i < tree->n; i++)
		if (tree->procs[i].group == group && !tree->procs[i].is_ours)
			return false;
	return true;
}

static int signal_group(struct tree *tree, pid_t group, int sig)
{
	int sent = 0;

	if (kill(-group, sig) < 0)
		return 0;
	for (int i = 0; i < tree->n; i++) {
		struct proc *proc = &tree->procs[i];

		if (proc->group == group && proc->is_due) {
			proc->is_due = false;
			sent++;
		}
	}
	return sent;
}

/*
 * By groups: what is forked after the listing has missed it is in its parent's, and the kernel lets
 * no fork slip through a signal to a group. A command that has not come to its setsid() is still in
 * init's.
 */
int tree_signal(pid_t root, enum tree_scope scope, int sig)
{
	static struct tree tree; /* too large for a stack; init and each leader are one thread */
	int sent = 0;

	read_procs(&tree);
	mark(&tree, root, scope);
	for (int i = 0; i < tree.n; i++) {
		const struct proc *proc = &tree.procs[i];

		if (!proc->is_ours || !proc->is_due)
			continue;
		if (is_all_ours(&tree, proc->group))
			sent += signal_group(&tree, proc->group, sig);
		else if (kill(proc->pid, sig) == 0)
			sent++;
	}
	return sent;
}
