/* The parts of the PMIx component. Every file of it that includes PMIx's headers sees
 * their PACKAGE_VERSION, not ours. */
#ifndef GPUBIND_PLUGIN_COMPONENT_H
#define GPUBIND_PLUGIN_COMPONENT_H

#include <src/mca/pmdl/base/base.h>
#include <src/mca/pmdl/pmdl.h>

extern pmix_pmdl_module_t gpubind_module;

/* The upcalls; see PMIx's pmdl.h. */
pmix_status_t gpubind_harvest_envars(pmix_namespace_t *nptr, const pmix_info_t info[], size_t ninfo,
                                     pmix_list_t *ilist, char ***priors);
pmix_status_t gpubind_register_nspace(pmix_namespace_t *nptr);
pmix_status_t gpubind_setup_fork(const pmix_proc_t *peer, char ***env, char ***priors);
void gpubind_deregister_nspace(pmix_namespace_t *nptr);

/* Prints one line at PMIx's verbosity level of this component. */
void gpubind_say_verbose(const char *nspace, const char *text);

#endif
