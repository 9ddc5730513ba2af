/* Checks for what slows or breaks GPU jobs on a node, over facts that the caller collected, and
 * their report. */
#ifndef GPUBIND_CORE_DOCTOR_DOCTOR_H
#define GPUBIND_CORE_DOCTOR_DOCTOR_H

#include "core/base/text.h"
#include "core/doctor/doctor_facts.h"

/* Found: something to do. Moot: cannot matter on this machine or in this job.
 * Unknown: could not be looked at, which is not the same as fine. */
enum doctor_state { DOCTOR_FINE, DOCTOR_FOUND, DOCTOR_UNKNOWN, DOCTOR_MOOT };

/* A note is worth knowing, and no fault. */
enum doctor_severity { DOCTOR_BREAKS, DOCTOR_SLOWS, DOCTOR_NOTE };

struct doctor_result {
    enum doctor_state state;
    enum doctor_severity severity; /* of what was found */
    struct text sentence;          /* what was found, or why it is unknown or moot */
    struct text evidence, set;     /* lines: what was seen where; what to set */
};

/* One thing to look at. A judge fills a zeroed result. */
struct doctor_check {
    const char *name;
    const char *title; /* what is looked at */
    void (*judge)(const struct doctor_facts *facts, struct doctor_result *result);
};

extern const struct doctor_check doctor_checks[];
extern const int doctor_nchecks;
#define DOCTOR_MAX_CHECKS 64

struct doctor_report {
    struct doctor_result results[DOCTOR_MAX_CHECKS]; /* in the order of doctor_checks */
};

void doctor_judge(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_clear(struct doctor_report *report);

/* How many were found that are at least as bad. */
int doctor_count(const struct doctor_report *report, enum doctor_severity severity);

/* Findings, then the names of the other checks; with all, each check and its
 * evidence. */
void doctor_render(const struct doctor_facts *facts, const struct doctor_report *report, bool all,
                   struct text *text);
/* One object in one line. */
void doctor_render_json(const struct doctor_facts *facts, const struct doctor_report *report,
                        struct text *text);

#endif
