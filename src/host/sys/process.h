/* The processes above this one, and what this one may use. */
#ifndef GPUBIND_HOST_SYS_PROCESS_H
#define GPUBIND_HOST_SYS_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"
#include "core/base/idset.h"

struct process {
    pid_t pid;
    char command[32]; /* the kernel's name, at most 15 bytes */
};

/* In a child that does not exec: closes all descriptors above stderr but these two (-1: none). */
void process_close_others(int a, int b);

/* Commands that run one program and end with it, some by exec, others as its parent; the list ends
 * with NULL. No shells: what those run may be followed by something else. */
extern const char *const process_wrappers[];

/* Whether the command is one of these (the list ends with NULL). */
bool process_is(const struct process *process, const char *const *commands);

/* The process with this number; false when /proc cannot be read. */
bool process_read(pid_t pid, struct process *process);

/* The parent; false when /proc cannot be read. */
bool process_parent(struct process *parent);

/* The nearest ancestor whose command is one of these (the list ends with NULL). */
bool process_ancestor(const char *const *commands, struct process *found);

/* The nearest ancestor whose command is none of these (the list ends with NULL). */
bool process_ancestor_but(const char *const *commands, struct process *found);

/* The process that an ancestor started on the way to this one, or this one itself; 0: it is no
 * ancestor. */
pid_t process_below(pid_t ancestor);

/* Whether the environment that a process's program began with has this value of a variable; false,
 * too, where it may not be read. */
bool process_began_with(pid_t pid, const char *name, const char *value);

/* When it started, in clock ticks after boot: no two processes have both number
 * and start in common. 0 when /proc does not tell. */
unsigned long long process_start(pid_t pid);

/* The words of a process's command line, or of the environment that its program began with, each ended by
 * a NUL, in memory that the caller frees; NULL when it may not be read. */
char *process_command_line(pid_t pid, size_t *size);
char *process_environment(pid_t pid, size_t *size);

/* Its program's file; false when it may not be read. */
bool process_program(pid_t pid, char path[PATH_MAX]);

/* The folder above that of its program's file, as /usr for /usr/bin/mpirun; false when it may not be read. */
bool process_prefix(pid_t pid, char prefix[PATH_MAX]);

/* The CPUs that this process may use. */
int process_cpus(struct idset *cpus, struct gpubind_error *err);

/* The CPUs of the ancestor, which is what a launcher had to bind from; where there
 * is none (NULL), all that the kernel grants when asked for all. */
int process_cpus_before_binding(const struct process *ancestor, struct idset *cpus,
                                struct gpubind_error *err);

#endif
