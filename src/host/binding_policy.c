#include "host/binding_policy.h"
#include <stdlib.h>
bool binding_policy_is_default(void) { return getenv("OMPI_MCA_orte_bound_at_launch") && !getenv("OMPI_MCA_hwloc_base_binding_policy"); }
