/* Collects the facts for the doctor. root is put before every path ("" except in tests, see
 * sysroot.h); call doctor_facts_init first. */
#ifndef GPUBIND_HOST_DOCTOR_COLLECT_H
#define GPUBIND_HOST_DOCTOR_COLLECT_H

#include "core/base/error.h"
#include "core/doctor/doctor_facts.h"

/* The GPUs, as the PCI bus and the driver list them, and their surroundings. */
void doctor_read_bus(const char *root, struct doctor_facts *facts);
/* Kernel module, device files, libraries. */
void doctor_read_driver(const char *root, const char *library_path, struct doctor_facts *facts);
/* Limits, namespaces, container; the environment comes before. */
void doctor_read_limits(const char *root, struct doctor_facts *facts);
/* hwloc's plugins. plugins_path is HWLOC_PLUGINS_PATH, NULL when not set. */
void doctor_read_hwloc(const char *root, const char *plugins_path, struct doctor_facts *facts);
/* MPS servers, persistence daemon, fabric manager. */
void doctor_read_daemons(const char *root, struct doctor_facts *facts);
/* What the driver wrote to the kernel's log, of which so much is read as is there now. */
void doctor_read_log(const char *root, struct doctor_facts *facts);

/* What depends on this process: the environment, the launcher. */
void doctor_read_environment(struct doctor_facts *facts);

/* All of these, in a child process that may take so many seconds. local becomes the
 * rank's number on its node. */
int doctor_read(int seconds, struct doctor_facts *facts, int *local, struct gpubind_error *err);

/* Asks NVML, and the MPIs of PATH, in children that may take so many seconds each. What
 * fails is a fact too. */
void doctor_ask_nvml(int seconds, struct doctor_facts *facts);
void doctor_ask_mpi(int seconds, struct doctor_facts *facts);

#endif
