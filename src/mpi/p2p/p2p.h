/* Messages from one rank to another, as the core sees them. */
#ifndef GPUBIND_MPI_P2P_P2P_H
#define GPUBIND_MPI_P2P_P2P_H

#include "mpi/base/modules.h"

extern const struct module p2p_module;

#endif
