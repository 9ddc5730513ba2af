#include <string.h>

#include "tests/fuzz/fuzz.h"

const struct fuzz_target fuzz_targets[] = {
    {"bench_options", fuzz_bench_options},
    {"facts", fuzz_facts},
    {"idlist", fuzz_idlist},
    {"json", fuzz_json},
    {"launcher", fuzz_launcher},
    {"map", fuzz_map},
    {"nodes", fuzz_nodes},
    {"options", fuzz_options},
    {"directives", fuzz_directives},
    {"packed", fuzz_packed},
    {"plugin_file", fuzz_plugin_file},
    {"plugin_plan", fuzz_plugin_plan},
    {"plugin_settings", fuzz_plugin_settings},
    {"pmix_answers", fuzz_pmix_answers},
    {"mca_param", fuzz_mca_param},
    {"policy", fuzz_policy},
    {"rankfile", fuzz_rankfile},
    {"slurm", fuzz_slurm},
    {"visible", fuzz_visible},
    {"wire", fuzz_wire},
    {"xml", fuzz_xml},
};
const int fuzz_ntargets = sizeof fuzz_targets / sizeof fuzz_targets[0];

const struct fuzz_target *fuzz_find(const char *name)
{
    for (int t = 0; t < fuzz_ntargets; t++)
        if (strcmp(fuzz_targets[t].name, name) == 0)
            return &fuzz_targets[t];
    return NULL;
}
