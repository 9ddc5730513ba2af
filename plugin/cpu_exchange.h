/* The exchange of CPU sets between ranks that are forked and know only their own. */
#ifndef GPUBIND_PLUGIN_CPU_EXCHANGE_H
#define GPUBIND_PLUGIN_CPU_EXCHANGE_H

#include "plugin/jobs.h"

/* To be called by every rank's own process, all at about the same time. Fills the CPUs
 * of all ranks of info. Returns -1 when not all came in time; info is then as it was.
 * *leads: this process is the one that reports for the node. */
int cpu_exchange(struct job_info *info, int rank, bool *leads, struct gpubind_error *err);

#endif
