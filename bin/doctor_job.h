/* --doctor in a job of several nodes. */
#ifndef GPUBIND_BIN_DOCTOR_JOB_H
#define GPUBIND_BIN_DOCTOR_JOB_H

#include "bin/options.h"
#include "core/base/text.h"

/* Milliseconds suffice where all is well; NVML starts idle GPUs. */
#define DOCTOR_FILES_SECONDS 20
#define DOCTOR_NVML_SECONDS 30
#define DOCTOR_MPI_SECONDS 10

#define DOCTOR_EXIT_FOUND 1

/* Where the job has several nodes and PMIx: the first rank of each looks at its node, and that
 * of the first node has the report of all. True: text is what this rank is to print, *status its
 * exit status, why (if anything) a sentence on the report. False: each node is to speak for
 * itself, and why may say why. */
bool doctor_job(const struct options *options, struct text *text, int *status, struct text *why);

#endif
