/* What a plan would see of a node. */
#include <string.h>

#include "bin/cmds.h"
#include "core/report/render_list.h"

static int look(const struct options *options, struct placement *placement, struct text *notes,
                struct gpubind_error *err)
{
    const struct world alone = {.launcher = "none", .size = 1, .local_size = 1};
    struct facts here;

    memset(placement, 0, sizeof *placement);
    if (facts_read(&alone, &here, err) < 0 ||
        topology_load(options->rules.topology, true, &placement->node, err) < 0)
        return -1;
    return placement_see(placement, &here, notes, err);
}

int cmd_list(const struct options *options)
{
    struct placement placement;
    struct gpubind_error err;
    struct text text = {0}, notes = {0};
    int status = look(options, &placement, &notes, &err);

    if (!options->quiet)
        say_lines(notes.bytes);
    if (status == 0) {
        if (options->json)
            render_list_json(&placement.node, &text);
        else
            render_list(&placement.node, &text);
        status = print(&text);
    } else {
        status = fail(&err);
    }
    text_clear(&text);
    text_clear(&notes);
    placement_clear(&placement);
    return status;
}
