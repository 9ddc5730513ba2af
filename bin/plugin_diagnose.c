/* --plugin-info: from what was found about the PMIx plugin to a verdict and a remedy. */
#include "bin/plugin_diagnose.h"

#include <stdlib.h>
#include <string.h>

const char *plugin_variable(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

static bool all_dirs_known(const struct plugin_search *places)
{
    return places->home[0] && places->pmix.path[0] && !places->left_out &&
           !places->environment_unknown[0] && !(places->has_daemon && places->pmix_is_guess);
}

static void advise_install(struct plugin_view *view)
{
    const struct plugin_dir *installed = &view->places->installed;

    if (view->places->component_path_too_late)
        text_add(&view->advice, "export PMIX_MCA_mca_base_component_path before mpirun, which -x "
                                "does not do; on other nodes put the plugin into "
                                "~/.pmix/components");
    else if (!view->places->built)
        text_add(&view->advice, "build gpubind where PMIx 4.2 or newer is with the headers of "
                                "its components (libpmix-dev)");
    else
        text_add(&view->advice,
                 "%s %s/%s into ~/.pmix/components on every node, or into the folder of "
                 "PMIx's own components",
                 installed->file.state == PLUGIN_FILE_OURS ? "link" : "make install, then link",
                 installed->folder, PLUGIN_FILE);
}

/* The plugin file that PMIx takes was built for another PMIx than the one that runs. */
static bool is_mismatch(const struct plugin_view *view, const struct plugin_file *file)
{
    int pmix[3];

    return pmix_version_read(view->pmix, pmix) && memcmp(pmix, file->pmix, sizeof pmix) != 0;
}

/* Why a daemon does not load the plugin file that it finds first. */
static bool judge_file(struct plugin_view *view, const struct plugin_dir *first, const char * not )
{
    const struct plugin_file *file = &first->file;

    if (file->state != PLUGIN_FILE_OURS) {
        text_add(&view->verdict, "%s: %s/%s %s", not, first->folder, PLUGIN_FILE, file->why);
        text_add(&view->advice, "remove or replace that file: PMIx takes the first of this name");
    } else if (is_mismatch(view, file)) {
        text_add(&view->verdict, "%s: built for PMIx %d.%d.%d, %s %s", not, file->pmix[0],
                 file->pmix[1], file->pmix[2],
                 view->rank ? "this daemon runs" : "the libpmix found from here is", view->pmix);
        text_add(&view->advice, "build gpubind with --with-pmix=PREFIX of that PMIx; each PMIx "
                                "needs a plugin of its own");
    } else if (view->places->pmix.plugin_why_not[0]) {
        text_add(&view->verdict, "%s: it cannot be loaded: %s", not,
                 view->places->pmix.plugin_why_not);
        text_add(&view->advice, "install what is missing, or build gpubind on this system");
    } else {
        return false;
    }
    return true;
}

/* The rank has the variable; whether the daemon has it is not known. */
static bool is_assumed(const struct plugin_search *places, const char *name)
{
    return places->has_daemon && places->environment_unknown[0] && *plugin_variable(name);
}

/* Reports what prevents loading; false when nothing does. */
static bool diagnose_dirs(struct plugin_view *view)
{
    const struct plugin_search *places = view->places;
    const struct plugin_dir *first = plugin_search_first(places);
    const char *not = view->rank ? "does not work" : "would not work";
    bool left_out = plugin_left_out(places->selection.value);

    if (left_out && !is_assumed(places, "PMIX_MCA_pmdl")) {
        text_add(&view->verdict, "%s: pmdl=%s leaves it out (%s)", not, places->selection.value,
                 places->selection.from);
        text_add(&view->advice, "take that setting away, or add gpubind to its list");
        return true;
    }
    if (first)
        return judge_file(view, first, not );
    text_add(&view->verdict, "not found: none of %s has %s",
             all_dirs_known(places) ? "these places" : "the places that are known", PLUGIN_FILE);
    advise_install(view);
    return true;
}

/* The daemon has loaded the plugin, but the rank has no plan of it. */
static void judge_loaded(struct plugin_view *view)
{
    if (view->off) {
        text_add(&view->verdict, "found, but GPUBIND=off is set");
        text_add(&view->advice, "unset GPUBIND");
    } else if (*plugin_variable("GPUBIND_PLAN") && !view->places->below_gpubind) {
        text_add(&view->verdict, "loaded, but a gpubind above this program planned anew");
        text_add(&view->advice, "start gpubind --plugin-info without another gpubind before it");
    } else {
        text_add(&view->verdict, "loaded, but it made no plan for this rank");
        text_add(&view->advice, "export PMIX_MCA_pmdl_base_verbose=2 before mpirun: it says why");
    }
}

/* Nothing prevents loading the file that is found first. */
static void judge_unloaded(struct plugin_view *view)
{
    const struct plugin_search *places = view->places;

    text_add(&view->verdict, "found, but this daemon did not load it");
    if (plugin_left_out(places->selection.value))
        text_add(&view->verdict, ", perhaps because of pmdl=%s (%s)", places->selection.value,
                 places->selection.from);
    if (strcmp(places->daemon.command, "slurmstepd") == 0)
        text_add(&view->advice, "set PMIX_MCA_mca_base_component_path by PMIxEnv in mpi.conf: "
                                "srun's environment does not reach the daemon");
    else
        text_add(&view->advice, "was it put there after the daemon started? Else export "
                                "PMIX_MCA_pmdl_base_verbose=20 before mpirun");
}

/* It is another user's daemon. */
static void judge_unseen(struct plugin_view *view)
{
    const struct plugin_search *places = view->places;

    text_add(&view->verdict, "no plan of it for this rank; %s: %s may not be looked at (%s)",
             view->off ? "GPUBIND=off is set, and whether it is found cannot be seen"
                       : "why cannot be seen",
             places->daemon.command, places->maps_unknown);
    if (view->off)
        text_add(&view->advice, "unset GPUBIND");
    else
        text_add(&view->advice, "ask as root or as the daemon's user; under Slurm, PMIxEnv in "
                                "mpi.conf names the plugin's folder");
}

static void judge_rank(struct plugin_view *view)
{
    const struct plugin_search *places = view->places;

    if (view->planned) {
        text_add(&view->verdict, "works: it made this rank's plan (%s)",
                 plugin_variable("GPUBIND_PLAN"));
        text_add(&view->advice, "none needed: ranks of this launcher get their GPUs without "
                                "gpubind before them");
    } else if (!view->through_pmix) {
        text_add(&view->verdict, "does not work: this rank was not started through PMIx (%s)",
                 view->launcher);
        text_add(&view->advice, "use mpirun of Open MPI 4 or newer, or srun --mpi=pmix");
    } else if (!places->has_daemon) {
        text_add(&view->verdict, "no plan of it for this rank; why cannot be seen: none of the "
                                 "processes above is a launcher that gpubind knows");
        text_add(&view->advice, "start gpubind --plugin-info by the launcher itself");
    } else if (places->loaded[0]) {
        judge_loaded(view);
    } else if (places->maps_unknown[0]) {
        judge_unseen(view);
    } else if (!places->pmix.path[0]) {
        text_add(&view->verdict, "does not work: this daemon has no libpmix");
        text_add(&view->advice, "use a launcher that was built with PMIx 4.2 or newer as a "
                                "library");
    } else if (!diagnose_dirs(view)) {
        judge_unloaded(view);
    }
}

/* Returns whether a daemon would find the plugin. */
static bool judge_here(struct plugin_view *view)
{
    const struct plugin_search *places = view->places;
    const struct plugin_dir *first = plugin_search_first(places);

    if (diagnose_dirs(view))
        return false;
    if (!*view->pmix)
        text_add(&view->verdict, "found in %s, but no PMIx is found from here to load it",
                 first->folder);
    else if (view->off)
        text_add(&view->verdict, "would be found in %s, but GPUBIND=off is set", first->folder);
    else
        text_add(&view->verdict, "would be found in %s", first->folder);
    if (view->off)
        text_add(&view->advice, "unset GPUBIND");
    return *view->pmix && !view->off;
}

bool plugin_diagnose(struct plugin_view *view)
{
    if (!view->rank)
        return judge_here(view);
    judge_rank(view);
    return view->planned;
}
