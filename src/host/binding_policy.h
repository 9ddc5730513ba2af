/* Did Open MPI bind this rank because somebody asked for it? */
#ifndef GPUBIND_HOST_BINDING_POLICY_H
#define GPUBIND_HOST_BINDING_POLICY_H

#include <stdbool.h>

/* True when the rank was bound at launch and neither an option of mpirun nor the
 * environment nor an MCA parameter file said how. */
bool binding_policy_is_default(void);

#endif
