/* What gpubind does; each returns the exit status. */
#ifndef GPUBIND_BIN_CMDS_H
#define GPUBIND_BIN_CMDS_H

#include "bin/options.h"

/* gpubind's own failures; 126 and 127 are those of running the command. */
#define EXIT_OWN 125

int cmd_run(const struct options *options);
/* When this rank cannot go on: the rendezvous of the node's ranks takes place all the same, so that
 * one of them says why. Returns status. */
int cmd_fail(const struct options *options, const struct gpubind_error *err, int status);
/* Where no command is given to run; words are those of the command line behind gpubind. */
int cmd_overview(const struct options *options, char *const *words);
int cmd_plan(const struct options *options);
int cmd_list(const struct options *options);
int cmd_check(const struct options *options);
int cmd_doctor(const struct options *options);
int cmd_plugin(const struct options *options);

/* "gpubind: TEXT" on stderr, each line of text. */
void say_lines(const char *text);
int fail(const struct gpubind_error *err);
/* Writes text in one piece, so that tables of several nodes do not mix; -1 with errno. */
int write_all(int fd, const struct text *text);
/* Prints text to stdout; returns the exit status. */
int print(const struct text *text);

#endif
