/* One report for the nodes of a job: those that say the same are told once. */
#ifndef GPUBIND_CORE_DOCTOR_DOCTOR_NODES_H
#define GPUBIND_CORE_DOCTOR_DOCTOR_NODES_H

#include "core/base/error.h"
#include "core/doctor/doctor.h"

/* What one node has to say, as bytes for another one of the same version. error: why it could
 * not be looked at, else NULL; facts then have the node's name alone, and report may be NULL. */
void doctor_pack(const struct doctor_facts *facts, const struct doctor_report *report,
                 const char *error, struct text *packed);

/* Bytes that stay the caller's. */
struct doctor_message {
    const char *bytes;
    size_t size;
};

/* Groups n nodes by what they found, evidence aside, which may differ. In text, the largest
 * group is told in full and of the others what is different; in JSON there is a line for each
 * group, the evidence being that of its first node. *worst becomes 2 when a node could not be
 * looked at, 1 when something slows or breaks on one, else 0. Fails on bytes that doctor_pack
 * of this version did not make. */
int doctor_render_nodes(const struct doctor_message *messages, int n, bool all, bool json,
                        struct text *text, int *worst, struct gpubind_error *err);

/* "n1-n5,n7" of names in any order; sorts them. */
void doctor_node_names(const char **names, int n, struct text *text);

#endif
