#include "mpi/base/own_mpi.h"

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#define VERSION_MAX 16384 /* MPI_MAX_LIBRARY_VERSION_STRING of any MPI: MPICH's is 8192 */

/* What the versions of MPIs with MPICH's ABI begin with. */
static const char *const like_mpich[] = {"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_like_mpich(const char *version)
{
    for (size_t i = 0; i < sizeof like_mpich / sizeof *like_mpich; i++)
        if (begins(version, like_mpich[i]))
            return true;
    return false;
}

/* Those of the MPI standard's ABI run with each. */
#if defined MPI_ABI_VERSION
#define OWN "the MPI ABI"
#define IS_FOREIGN(version) false
#elif defined OPEN_MPI
#define OWN "Open MPI"
#define IS_FOREIGN(version) is_like_mpich(version)
#else
#define OWN "MPICH's ABI"
#define IS_FOREIGN(version) (!is_like_mpich(version) && begins(version, "Open MPI"))
#endif

int own_mpi_check(struct gpubind_error *err)
{
    static char version[VERSION_MAX];
    int length = 0;

    if (PMPI_Get_library_version(version, &length) != MPI_SUCCESS || !IS_FOREIGN(version))
        return 0;
    version[strcspn(version, ",\n")] = 0;
    for (char *tab = version; (tab = strchr(tab, '\t'));) /* MPICH has some behind "Version:" */
        *tab = ' ';
    return error_set(err,
                     "this program runs with %.60s, and is linked with the libgpubind for " OWN
                     ": compile it with its own (pkg-config gpubind-mpich, gpubind-openmpi)",
                     version);
}
