#include <string.h>

#include "bin/options.h"
#include "host/launch/launcher.h"
#include "host/launch/option_table.h"

static const char *const group_titles[GROUPS] = {
    "Placement (all ranks of a node must agree on these)", "What the program sees",
    "Running", "Planning (with --plan)", "Instead of running a command"};

static void add_row(struct text *text, const struct row *row)
{
    struct text names = {0};

    text_add(&names, "  %s--%s%s%s", row->letter ? "-, " : "    ", row->name,
             row->argument ? " " : "", row->argument ? row->argument : "");
    if (row->letter && names.bytes)
        names.bytes[3] = row->letter;
    text_add(text, "%s\n", names.bytes ? names.bytes : "");
    if (row->kind == KIND_LAUNCHER) {
        struct text help = {0}, known = {0};
        const char *at = strstr(row->help, "NAMES");

        launcher_names(&known);
        text_add(&help, "%.*s%s%s", (int)(at - row->help), row->help, known.bytes, at + 5);
        text_add_wrapped(text, help.bytes, 10);
        text_clear(&help);
        text_clear(&known);
    } else {
        text_add_wrapped(text, row->help, 10);
    }
    text_clear(&names);
}

void options_help(struct text *text)
{
    text_add(text, "Usage: gpubind [OPTION...] [--] COMMAND [ARG...]\n"
                   "       gpubind --plan [OPTION...]\n"
                   "       gpubind --list [--topology FILE] [--json]\n"
                   "       gpubind --doctor [--json]\n"
                   "Give every MPI rank the right GPU, then run COMMAND as that rank:\n"
                   "       mpirun -np 8 gpubind ./app\n");
    for (int group = 0; group < GROUPS; group++) {
        text_add(text, "\n%s:\n", group_titles[group]);
        for (int i = 0; i < option_nrows; i++)
            if ((int)option_rows[i].group == group)
                add_row(text, &option_rows[i]);
    }
    text_add(text, "\nEvery option but the last seven is also an environment variable: GPUBIND_ and "
                   "its\nname in capitals with _ for -, as in GPUBIND_OVERFLOW=idle; flags take 1 "
                   "or 0.\nAn option wins over the environment. See gpubind(1) and gpubind(7).\n");
}
