/* The function that stands behind one of ours: another tool's that was loaded after us, libgpubind's,
 * or MPI's.
 *
 * The functions stand in for both MPI_ and PMPI_ names: a profiler that was loaded before us, and
 * Open MPI's Fortran functions, call PMPI_ alone. The files of src/aware/api that define them are
 * compiled twice; with AWARE_PMPI their functions get PMPI_ names, and call what is behind these. */
#ifndef GPUBIND_AWARE_NEXT_H
#define GPUBIND_AWARE_NEXT_H

#include <mpi.h>
#include <stdbool.h>

/* Functions of MPI 4 without large counts, which Open MPI 5 has, too. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#define AWARE_MPI_4
#endif

#define AWARE_PUBLIC __attribute__((visibility("default")))

/* This thread is in a function behind one of ours. What is called from there (a profiler that was
 * loaded after us calls PMPI_Send for MPI_Send) is passed on as it is: it has been staged. */
extern __thread bool is_behind __attribute__((tls_model("initial-exec")));

/* Where MPI was loaded for a plugin alone (Python's modules are), its symbols become the whole
 * process's: the lookup behind this library, and this library's own calls, then find them. To be called
 * before the library calls MPI. */
void next_find_mpi(void);

/* Looks the name up behind this library; aborts the job where there is none, since the program was
 * linked with a function that its MPI lacks. */
void *next_function(const char *name);

/* There is one behind this library. */
bool next_has(const char *name);

/* Calls a PMPI_ function that one of ours may stand in for, as it is. */
#define CALL_MPI(call)                     \
    __extension__({                        \
        const bool was_behind = is_behind; \
        int result_of_mpi;                 \
                                           \
        is_behind = true;                  \
        result_of_mpi = (call);            \
        is_behind = was_behind;            \
        result_of_mpi;                     \
    })

/* MPI makes progress, for other ranks' sake. MPI_Init has returned. */
void progress_of_mpi(void);

#ifdef AWARE_PMPI
#define NEXT_PREFIX "P"
#define NEXT_SYMBOL(name) extern __typeof__(name) name __asm__("P" #name);
#else
#define NEXT_PREFIX ""
#define NEXT_SYMBOL(name)
#endif

/* To stand before the definition of a function of ours. Defines next_of_NAME, which looks up what
 * is behind NAME at the first call. */
#define NEXT(name)                                               \
    NEXT_SYMBOL(name)                                            \
    static __typeof__(&name) next_of_##name(void)                \
    {                                                            \
        static __typeof__(&name) found;                          \
                                                                 \
        if (!found)                                              \
            *(void **)&found = next_function(NEXT_PREFIX #name); \
        return found;                                            \
    }

/* Calls what is behind NAME. */
#define BEHIND(name, ...)                              \
    __extension__({                                    \
        const bool was_behind = is_behind;             \
        int result_behind;                             \
                                                       \
        is_behind = true;                              \
        result_behind = next_of_##name()(__VA_ARGS__); \
        is_behind = was_behind;                        \
        result_behind;                                 \
    })

#endif
