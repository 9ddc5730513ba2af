/* Inside Slurm's slurmstepd: whose GPUs are they, and what does the job ask for?
 *
 * slurmstepd shows a plugin neither the job's environment nor the step's GPUs. The relay
 * (spank_gpubind.so), where the site has it, leaves both in slurmstepd's environment
 * before PMIx starts; see gpubind-plugin(7). */
#ifndef GPUBIND_PLUGIN_SLURM_H
#define GPUBIND_PLUGIN_SLURM_H

#include <stdbool.h>

#include "core/base/error.h"

/* Whether this process is slurmstepd, or was forked from it to become a rank. */
bool slurm_is_here(void);

/* The environment that the job has as far as gpubind is concerned, the caller's to
 * free with env_array_free; its *_VISIBLE_DEVICES hold the numbers of the device files that
 * Slurm gave the step. NULL when ranks are to be left alone, with the reason in why. */
char **slurm_env(struct gpubind_error *why);

/* Whether a slurm.conf says that Slurm deals GPUs out (GresTypes). What cannot be read
 * may say so, too. */
bool slurm_conf_has_gpus(const char *path);

#endif
