/* Between the files of the doctor: the judges, and how they put things. */
#ifndef GPUBIND_CORE_DOCTOR_DOCTOR_INTERNAL_H
#define GPUBIND_CORE_DOCTOR_DOCTOR_INTERNAL_H

#include "core/doctor/doctor.h"
#include "core/doctor/doctor_nodes.h"

typedef void doctor_judgement(const struct doctor_facts *facts, struct doctor_result *result);

/* doctor_driver.c */
doctor_judgement doctor_driver, doctor_device_files, doctor_uvm, doctor_cuda_library,
    doctor_library_version;
/* doctor_visibility.c */
doctor_judgement doctor_hidden_gpus, doctor_visible_devices, doctor_device_order,
    doctor_all_visible;
/* doctor_modes.c */
doctor_judgement doctor_persistence, doctor_compute_mode, doctor_mig, doctor_ecc, doctor_mps,
    doctor_mps_left;
/* doctor_log.c */
doctor_judgement doctor_xid;
/* doctor_fabric.c */
doctor_judgement doctor_fabric_manager, doctor_nvlink;
/* doctor_speed.c */
doctor_judgement doctor_clocks, doctor_numa_balancing, doctor_bar1;
/* doctor_paths.c */
doctor_judgement doctor_numa, doctor_peer_access, doctor_iommu, doctor_acs;
/* doctor_limits.c */
doctor_judgement doctor_shm, doctor_memlock, doctor_ptrace_scope;
/* doctor_namespaces.c */
doctor_judgement doctor_pid_namespace, doctor_ipc_namespace, doctor_user_namespace;
/* doctor_software.c */
doctor_judgement doctor_launcher, doctor_hwloc_plugins, doctor_cuda_aware;

/* doctor_render.c: of one group of nodes, which who names. usual: the results of the largest
 * group, of which only what differs is told; NULL: all. */
void doctor_render_group(const char *who, const struct doctor_facts *facts,
                         const struct doctor_report *report, const struct doctor_report *usual,
                         bool all, struct text *text);
void doctor_render_end(struct text *text);
/* nodes: their names, a line each. */
void doctor_render_json_group(const char *nodes, const struct doctor_facts *facts,
                              const struct doctor_report *report, struct text *text);

/* doctor_pack.c: a message whose beginning was read. It stays the caller's. */
struct doctor_packed {
    const char *node, *error;   /* error "": none */
    struct doctor_message rest; /* behind these */
    size_t compared;            /* bytes of it that tell whether nodes say the same */
};
bool doctor_packed_head(const struct doctor_message *message, const char *version,
                        struct doctor_packed *head);
/* The caller clears the report, even after a failure. */
bool doctor_unpack(const struct doctor_packed *head, struct doctor_facts *facts,
                   struct doctor_report *report);

/* Begin the sentence of a result, without a full stop. */
void doctor_found(struct doctor_result *result, enum doctor_severity severity, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));
void doctor_unknown(struct doctor_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_moot(struct doctor_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A line each. */
void doctor_saw(struct doctor_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_set(struct doctor_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether there are any; else the result becomes moot. */
bool doctor_has_gpus(const struct doctor_facts *facts, struct doctor_result *result);
/* The driver's README, NVreg_DeviceFileMode: nvidia-modprobe makes the files so. */
#define DOCTOR_OPEN_FILES                                                                    \
    "echo options nvidia NVreg_DeviceFileMode=0666 > /etc/modprobe.d/nvidia-files.conf   # " \
    "and reload the driver"

/* Whether the kernel driver is loaded; else the result becomes moot. */
bool doctor_has_driver(const struct doctor_facts *facts, struct doctor_result *result);
/* Whether NVML answered; else the result becomes unknown, or moot without GPUs. */
bool doctor_has_nvml(const struct doctor_facts *facts, struct doctor_result *result);
/* Adds "SENTENCE: 0000:3b:00.0, 0000:5e:00.0" GPU by GPU; the worst severity stays. */
void doctor_found_at(struct doctor_result *result, enum doctor_severity severity,
                     const char *sentence, const struct doctor_gpu *gpu);
/* Whether some pair of GPUs that can be used is known to have no NVLink. */
bool doctor_needs_pci(const struct doctor_facts *facts);
bool doctor_may_open(const struct doctor_gpu *gpu);
int doctor_usable_gpus(const struct doctor_facts *facts);
bool doctor_in_job(const struct doctor_facts *facts);
const char *doctor_file_text(enum doctor_file file);
bool doctor_in_container(const struct doctor_facts *facts, const char *kind);
/* doctor_driver.c: adds the line that gives this container GPUs. False where there is no
 * container, or it is not what keeps the file from this process. */
bool doctor_give_gpus(const struct doctor_facts *facts, enum doctor_file file, int ngpus,
                      struct doctor_result *result);

#endif
