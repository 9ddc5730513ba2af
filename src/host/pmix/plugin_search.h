/* Where a PMIx daemon looks for gpubind's plugin, and what is there. */
#ifndef GPUBIND_HOST_PMIX_PLUGIN_SEARCH_H
#define GPUBIND_HOST_PMIX_PLUGIN_SEARCH_H

#include <limits.h>
#include <stdbool.h>

#include "core/base/error.h"
#include "host/pmix/mca_param.h"
#include "host/pmix/plugin_file.h"
#include "host/sys/process.h"

#define PLUGIN_DIRS_MAX 32
#define PLUGIN_PARAMETERS_MAX 32
#define PLUGIN_PARAMETER "pmdl_gpubind_"

struct plugin_dir {
    char folder[PATH_MAX];
    struct plugin_file file;
};

struct plugin_search {
    bool has_daemon; /* else: what one that is started from here would find */
    struct process daemon;
    /* Why they are not known, "" when they are. Where the daemon's environment is
     * not, the rank's stands for it. */
    char maps_unknown[128], environment_unknown[128];
    char mounts[64];       /* below which this process sees the daemon's files; mostly "" */
    char loaded[PATH_MAX]; /* the plugin that the daemon has; "": none */
    char home[PATH_MAX];   /* "": not known */
    bool below_gpubind;    /* the daemon was started by one that gave it this GPUBIND_PLAN */
    struct pmix_library pmix;
    bool pmix_is_guess; /* found from here, not in the daemon */
    struct mca_param component_path, selection;
    int nparameters; /* the plugin's own, as often as each is set, those that count first */
    struct {
        char name[64]; /* behind PLUGIN_PARAMETER */
        struct mca_param setting;
    } parameters[PLUGIN_PARAMETERS_MAX];
    /* Set for the rank, though not for the daemon, which is what counts. */
    bool component_path_too_late, selection_too_late;
    int n, left_out;                          /* more places than fit */
    struct plugin_dir place[PLUGIN_DIRS_MAX]; /* in the order of PMIx: the first that
                                                     has the file decides */
    bool built; /* whether this gpubind has a plugin, which was installed here */
    struct plugin_dir installed;
};

/* These fill what they are about and expect it zeroed. The first: of the daemon that
 * started this rank; has_daemon stays false when there is none among the processes
 * above that gpubind knows. */
void plugin_search_daemon(struct plugin_search *places);
void plugin_search_here(struct plugin_search *places);
void plugin_search_installed(struct plugin_search *places);

/* The place that decides, NULL when none has the file. */
const struct plugin_dir *plugin_search_first(const struct plugin_search *places);

/* A list of components, as in PMIX_MCA_pmdl, leaves gpubind out. */
bool plugin_left_out(const char *selection);

#endif
