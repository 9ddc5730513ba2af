/* Ranks that were forked but know only their own CPUs tell each other. */
#ifndef GPUBIND_PLUGIN_CPU_EXCHANGE_H
#define GPUBIND_PLUGIN_CPU_EXCHANGE_H

#include "plugin/jobs.h"

/* To be called by every rank's own process, all at about the same time. Fills the CPUs
 * of all ranks of info. Returns -1 when not all came in time; info is then as it was.
 * *leads: this process is the one that speaks for the node. */
int cpu_exchange(struct job_info *info, int rank, bool *leads, struct gpubind_error *err);

#endif
