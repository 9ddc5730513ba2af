/* What a subcommand's --help prints. */
#include "bench/lib/option_table.h"
#include "bench/main/subcommands.h"

static const char *const group_titles[BENCH_GROUPS] = {"What is measured", "How", "Output",
                                                       "Instead of measuring"};

static void add_row(struct text *text, const struct bench_row *row)
{
    char letter[] = "-x, ";
    struct text help = {0};

    letter[1] = row->letter;
    text_add(text, "  %s--%s%s%s\n", row->letter ? letter : "    ", row->name,
             row->argument ? " " : "", row->argument ? row->argument : "");
    text_add(&help, "%s", row->help);
    if (row->preset)
        text_add(&help, " (%s)", row->preset);
    text_add_wrapped(text, help.bytes ? help.bytes : "", 10);
    text_clear(&help);
}

void bench_options_help(enum bench_mode_name mode, struct text *text)
{
    text_add(text, "Usage: %s\n%s\n", bench_modes[mode].synopsis, bench_modes[mode].about);
    for (int group = 0; group < BENCH_GROUPS; group++) {
        bool empty = true;

        for (int i = 0; i < bench_nrows; i++) {
            if ((int)bench_rows[i].group != group || !bench_row_is_for(&bench_rows[i], mode))
                continue;
            if (empty)
                text_add(text, "\n%s:\n", group_titles[group]);
            empty = false;
            add_row(text, &bench_rows[i]);
        }
    }
    text_add(text, "\nSee gpubind-bench(1).\n");
}
