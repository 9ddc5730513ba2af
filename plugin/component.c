/* What PMIx's component system sees: who we are, our parameters, our module. */
#include "plugin/component.h"

#include <stdio.h>

#include <pmix_server.h>
#include <src/util/pmix_output.h>

#include "plugin/jobs.h"
#include "plugin/settings.h"

static int register_parameters(void);
static int query(pmix_mca_base_module_t **module, int *priority);

#ifndef PMIX_PMDL_BASE_VERSION_1_0_0
#define PMIX_PMDL_BASE_VERSION_1_0_0 PMIX_MCA_BASE_VERSION(pmdl)
#endif

#define COMPONENT                                                                         \
    {                                                                                     \
        PMIX_PMDL_BASE_VERSION_1_0_0,                                                     \
            .pmix_mca_component_name = "gpubind",                                         \
            PMIX_MCA_BASE_MAKE_VERSION(component, PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, \
                                       PMIX_VERSION_RELEASE),                             \
            .pmix_mca_query_component = query,                                            \
            .pmix_mca_register_component_params = register_parameters,                    \
    }

/* The one symbol that is looked up. Before PMIx 5 a component is wrapped. */
#ifdef HAVE_PMIX_PMDL_BASE_COMPONENT_T_BASE
PMIX_EXPORT pmix_pmdl_base_component_t pmix_mca_pmdl_gpubind_component = {.base = COMPONENT};
#define OWN_COMPONENT (&pmix_mca_pmdl_gpubind_component.base)
#else
PMIX_EXPORT pmix_pmdl_base_component_t pmix_mca_pmdl_gpubind_component = COMPONENT;
#define OWN_COMPONENT (&pmix_mca_pmdl_gpubind_component)
#endif

void gpubind_say_verbose(const char *nspace, const char *text)
{
    pmix_output_verbose(2, pmix_pmdl_base_framework.framework_output, "pmdl:gpubind %s: %s", nspace,
                        text);
}

/* `gpubind --plugin-info` searches the file for this text. */
__attribute__((used)) static const char identity[] = "@gpubind-plugin " GPUBIND_VERSION
                                                     " for PMIx " GPUBIND_PMIX_VERSION;

/* PMIx's own structures, which we look into, are the same within one release only;
 * the component system compares less. */
static bool is_our_pmix(void)
{
    const char *version = PMIx_Get_version();
    int major = 0, minor = 0, release = 0;

    return sscanf(version, "%*[^0-9]%d.%d.%d", &major, &minor, &release) == 3 &&
           major == PMIX_VERSION_MAJOR && minor == PMIX_VERSION_MINOR &&
           release == PMIX_VERSION_RELEASE;
}

static void register_parameter(const char *name, const char *help, char **value)
{
    (void)pmix_mca_base_component_var_register(OWN_COMPONENT, name, help,
                                               PMIX_MCA_BASE_VAR_TYPE_STRING, value);
}

static int register_parameters(void)
{
    if (!is_our_pmix())
        return PMIX_ERR_NOT_AVAILABLE;
    for (int i = 0; i < option_table.nrows; i++) {
        char name[64];

        if (!option_is_plugins(&option_table.rows[i]))
            continue;
        settings_parameter_name(&option_table.rows[i], name, sizeof name);
        register_parameter(name, option_table.rows[i].help, &settings_parameter[i]);
    }
    for (int i = 0; i < SITE_SETTINGS; i++)
        register_parameter(site_settings[i].name, site_settings[i].help, &site_settings[i].value);
    return PMIX_SUCCESS;
}

static int query(pmix_mca_base_module_t **module, int *priority)
{
    *module = NULL;
    *priority = 0;
    if (!is_our_pmix() || !PMIX_PROC_IS_SERVER(&pmix_globals.mypeer->proc_type))
        return PMIX_ERR_NOT_AVAILABLE;
    *module = (pmix_mca_base_module_t *)&gpubind_module;
    *priority = 40;
    return PMIX_SUCCESS;
}

static void finalize(void)
{
    jobs_clear();
}

static char module_name[] = "gpubind";

pmix_pmdl_module_t gpubind_module = {
    .name = module_name,
    .finalize = finalize,
    .harvest_envars = gpubind_harvest_envars,
    .register_nspace = gpubind_register_nspace,
    .setup_fork = gpubind_setup_fork,
    .deregister_nspace = gpubind_deregister_nspace,
};
