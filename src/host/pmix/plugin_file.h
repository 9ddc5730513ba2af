/* One file that may be gpubind's plugin, and the libpmix that would load it. */
#ifndef GPUBIND_HOST_PMIX_PLUGIN_FILE_H
#define GPUBIND_HOST_PMIX_PLUGIN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PLUGIN_FILE "pmix_mca_pmdl_gpubind.so"

enum plugin_file_state {
    PLUGIN_FILE_ABSENT,
    PLUGIN_FILE_UNREADABLE,
    PLUGIN_FILE_NO_OBJECT, /* no shared object of this kind of machine */
    PLUGIN_FILE_NOT_OURS,
    PLUGIN_FILE_OURS,
};

struct plugin_file {
    enum plugin_file_state state;
    char why[128];    /* a phrase for every state but PLUGIN_FILE_OURS */
    char version[32]; /* of gpubind */
    int pmix[3];      /* of the PMIx that it was built for */
};

struct pmix_library {
    char path[PATH_MAX]; /* "": none */
    char version[64];    /* "4.2.2rc2"; "": not known, why_not says why */
    char why_not[256];
    char plugin_why_not
        [256]; /* the plugin cannot be loaded beside it; "": it can, or was not tried */
};

/* Finds out about FOLDER/PLUGIN_FILE as it is seen below root ("" or a folder). */
void plugin_file_read(const char *root, const char *folder, struct plugin_file *file);

/* In a process of its own: loads the libpmix of library->path, or the one that the
 * loader finds when that is "", then, unless it is NULL, the plugin. Fills library. */
void pmix_library_load(const char *root, const char *plugin, struct pmix_library *library);

/* "OpenPMIx 4.2.2rc2 (...)" and the like; false where no three numbers are found. */
bool pmix_version_read(const char *text, int version[3]);

/* The bytes of a file, a NUL behind them, in memory that the caller frees; NULL with
 * errno. Works for those below /proc too. */
char *plugin_file_bytes(const char *path, size_t *size);

#endif
