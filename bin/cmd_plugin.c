/* Why does the plugin not work? Prints the verdict and all that it rests on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cmds.h"
#include "bin/plugin_diagnose.h"
#include "bin/plugin_plan.h"
#include "core/base/similar.h"
#include "host/launch/launcher.h"
#include "host/launch/options.h"

#define EXIT_NOT_WORKING 1
#define ASK "mpirun -np 1 gpubind --plugin-info, or srun --mpi=pmix -n 1 gpubind --plugin-info"

static int look(const struct options *options, struct plugin_view *view, struct gpubind_error *err)
{
    struct text remarks = {0}, notes = {0};
    struct plugin_search *places = view->places;
    struct world world;
    int status = launcher_read("auto", &world, &remarks, &notes, err);

    text_clear(&remarks);
    text_clear(&notes);
    if (status < 0)
        return -1;
    view->launcher = world.launcher;
    view->through_pmix = *plugin_variable("PMIX_NAMESPACE") && *plugin_variable("PMIX_RANK");
    view->rank = view->through_pmix || strcmp(world.launcher, "none") != 0;
    view->planned = view->through_pmix && plugin_plan_state(options) != PLUGIN_NONE;
    view->off = option_is_off(getenv("GPUBIND"));
    plugin_search_installed(places);
    if (view->through_pmix)
        plugin_search_daemon(places);
    else if (!view->rank)
        plugin_search_here(places);
    /* The PMIx server set these in the rank's environment. */
    view->pmix = places->pmix.version;
    if (view->through_pmix && *plugin_variable("PMIX_VERSION") &&
        (places->pmix_is_guess || !*view->pmix))
        view->pmix = plugin_variable("PMIX_VERSION");
    return 0;
}

static void add_daemon(struct text *text, const struct plugin_view *view)
{
    const struct plugin_search *places = view->places;

    if (!places->has_daemon) {
        text_add(text, "daemon: none among the processes above this one\n");
        return;
    }
    text_add(text, "daemon: %s, pid %ld\n", places->daemon.command, (long)places->daemon.pid);
    if (places->maps_unknown[0])
        text_add(text, "not known: what it has loaded: %s\n", places->maps_unknown);
    if (places->environment_unknown[0])
        text_add(text, "not known: its environment: %s\n", places->environment_unknown);
    if (places->mounts[0])
        text_add(text, "mounts: not those of this rank; its files are read below %s\n",
                 places->mounts);
}

static void add_pmix(struct text *text, const struct plugin_view *view)
{
    const struct pmix_library *pmix = &view->places->pmix;
    const char *version = *view->pmix ? view->pmix : "version not known";

    if (view->rank && !view->places->has_daemon)
        text_add(text, "PMIx: %s\n", version);
    else if (view->rank && view->places->pmix_is_guess)
        text_add(text, "PMIx: %s (which file is not known; from here it is %s)\n", version,
                 pmix->path[0] ? pmix->path : "none");
    else if (!pmix->path[0])
        text_add(text, "PMIx: none%s%s%s\n", view->rank ? " in this daemon" : " found from here (",
                 view->rank ? "" : pmix->why_not, view->rank ? "" : ")");
    else
        text_add(text, "PMIx: %s (%s%s)\n", version, pmix->path,
                 view->rank ? "" : ", found from here; a daemon's may be another");
    if (pmix->path[0] && pmix->why_not[0])
        text_add(text, "not known: what %s says of itself: %s\n", pmix->path, pmix->why_not);
}

static void add_setting(struct text *text, const char *name, const struct mca_param *setting,
                        bool too_late)
{
    if (setting->from[0])
        text_add(text, "set: %s=%s (%s)\n", name, setting->value, setting->from);
    if (too_late)
        text_add(text, "set: PMIX_MCA_%s=%s for this rank only: the daemon was started without\n",
                 name,
                 plugin_variable(strcmp(name, "pmdl") == 0 ? "PMIX_MCA_pmdl"
                                                           : "PMIX_MCA_mca_base_component_path"));
}

/* The plugin's parameter that the name is nearest to, which may be its own; false: none is like it. */
static bool nearest_parameter(const char *name, char nearest[64])
{
    struct similar similar = {.word = name, .least = (int)strlen(name) / 3 + 1};

    similar_try(&similar, "exclusive"); /* which is no option */
    for (int i = 0; i < option_table.nrows; i++)
        if (option_is_plugins(&option_table.rows[i]))
            similar_try(&similar, option_table.rows[i].name);
    text_copy(nearest, 64, similar.best ? similar.best : "");
    for (char *at = nearest; *at; at++)
        if (*at == '-')
            *at = '_';
    return similar.best;
}

static void add_parameters(struct text *text, const struct plugin_search *places)
{
    for (int i = 0; i < places->nparameters; i++) {
        const char *name = places->parameters[i].name;
        const struct mca_param *setting = &places->parameters[i].setting;
        char nearest[64];

        text_add(text, "set: " PLUGIN_PARAMETER "%s=%s (%s)", name, setting->value, setting->from);
        if (!nearest_parameter(name, nearest))
            text_add(text, ", which is no parameter of the plugin");
        else if (strcmp(nearest, name) != 0)
            text_add(text,
                     ", which is no parameter of the plugin; the nearest is " PLUGIN_PARAMETER "%s",
                     nearest);
        text_add(text, "\n");
    }
}

static void add_place(struct text *text, const char *what, const struct plugin_dir *place)
{
    const struct plugin_file *file = &place->file;

    text_add(text, "%s: %s: ", what, place->folder);
    if (file->state == PLUGIN_FILE_OURS)
        text_add(text, "gpubind %s for PMIx %d.%d.%d\n", file->version, file->pmix[0],
                 file->pmix[1], file->pmix[2]);
    else if (file->state == PLUGIN_FILE_ABSENT)
        text_add(text, "%s\n", file->why);
    else
        text_add(text, "%s %s\n", PLUGIN_FILE, file->why);
}

static void add_dirs(struct text *text, const struct plugin_view *view)
{
    const struct plugin_search *places = view->places;

    add_setting(text, "mca_base_component_path", &places->component_path,
                places->component_path_too_late);
    add_setting(text, "pmdl", &places->selection, places->selection_too_late);
    add_parameters(text, places);
    for (int i = 0; i < places->n; i++)
        add_place(text, "looked in", &places->place[i]);
    if (places->left_out)
        text_add(text, "not looked in: %d more\n", places->left_out);
    if (!places->home[0])
        text_add(text, "not known: .pmix/components in the daemon's HOME\n");
    if (!places->pmix.path[0])
        text_add(text, "not known: the folder of PMIx's own components\n");
}

/* The plugin that was installed with this gpubind. */
static void add_installed(struct text *text, const struct plugin_view *view)
{
    if (!view->places->built)
        text_add(text, "installed: nothing: this gpubind was built without the plugin\n");
    else if (!view->planned)
        add_place(text, "installed", &view->places->installed);
}

static void add_rank(struct text *text, const struct plugin_view *view)
{
    if (view->off)
        text_add(text, "set: GPUBIND=%s\n", plugin_variable("GPUBIND"));
    if (view->planned || !view->rank)
        return;
    if (*plugin_variable("GPUBIND_MADE_FOR"))
        text_add(text, "this rank: has another's plan of the plugin in its environment (%s)\n",
                 plugin_variable("GPUBIND_MADE_FOR"));
    else if (*plugin_variable("GPUBIND_PLAN"))
        text_add(text,
                 "this rank: has the plan of another gpubind, which started it or its "
                 "launcher (%s)\n",
                 plugin_variable("GPUBIND_PLAN"));
}

static void add_details(struct text *text, const struct plugin_view *view)
{
    if (view->through_pmix)
        add_daemon(text, view);
    if (view->through_pmix || !view->rank)
        add_pmix(text, view);
    if (view->places->loaded[0])
        text_add(text, "loaded: %s\n", view->places->loaded);
    if (!view->rank || view->places->has_daemon)
        add_dirs(text, view);
    add_installed(text, view);
    add_rank(text, view);
}

int cmd_plugin(const struct options *options)
{
    struct plugin_view view = {.places = calloc(1, sizeof *view.places)};
    struct text text = {0};
    struct gpubind_error err;
    bool good;
    int status;

    if (!view.places) {
        error_set(&err, "out of memory");
        return fail(&err);
    }
    if (look(options, &view, &err) < 0) {
        free(view.places);
        return fail(&err);
    }
    good = plugin_diagnose(&view);
    text_add(&text, "plugin: %s\n", view.verdict.bytes ? view.verdict.bytes : "");
    add_details(&text, &view);
    if (view.advice.bytes)
        text_add(&text, "advice: %s\n", view.advice.bytes);
    if (!view.rank)
        text_add(&text, "ask a daemon: %s\n", ASK);
    text.failed |= view.verdict.failed || view.advice.failed;
    status = print(&text);
    if (status == 0 && !good)
        status = EXIT_NOT_WORKING;
    text_clear(&view.verdict);
    text_clear(&view.advice);
    text_clear(&text);
    free(view.places);
    return status;
}
