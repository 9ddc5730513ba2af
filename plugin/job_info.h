/* What PMIx's server knows of a job. */
#ifndef GPUBIND_PLUGIN_JOB_INFO_H
#define GPUBIND_PLUGIN_JOB_INFO_H

#include "plugin/component.h"
#include "plugin/jobs.h"

/* Fills info; its ranks are the caller's to free. Returns PMIX_ERR_NOT_FOUND for what
 * is no application with ranks on this node, and PMIX_ERR_NOMEM. To be called by
 * PMIx's own thread, once the job's information is cached. */
pmix_status_t job_info_read(const char *nspace, struct job_info *info);

/* Publishes each local rank's GPU as PMIX_DEVICE_ID. Likewise. */
void job_info_publish(pmix_namespace_t *nptr);

/* The same from any other thread, asynchronously: PMIx's thread does it before it serves a
 * client that has not started yet. */
void job_info_publish_soon(const char *nspace);

#endif
