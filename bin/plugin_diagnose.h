/* Does the plugin work, and if not, why not? */
#ifndef GPUBIND_BIN_PLUGIN_DIAGNOSE_H
#define GPUBIND_BIN_PLUGIN_DIAGNOSE_H

#include <stdbool.h>

#include "core/base/text.h"
#include "host/pmix/plugin_search.h"

/* What was found, and the verdict. */
struct plugin_view {
    struct plugin_search *places;
    const char *launcher;
    bool rank;                   /* of a job */
    bool through_pmix, planned;  /* this rank's PMIx server, its plan by the plugin */
    bool off;                    /* GPUBIND=off */
    const char *pmix;            /* version that runs, or would; "": not known */
    struct text verdict, advice; /* the caller clears them */
};

/* Fills verdict and, where there is something to advise, advice. Returns whether the
 * plugin works for this rank, or would be found outside of a job. */
bool plugin_diagnose(struct plugin_view *view);

/* Of the environment; "" when it is not set. */
const char *plugin_variable(const char *name);

#endif
