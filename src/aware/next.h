/* The function that stands behind one of ours: another tool's that was loaded after us, libgpubind's,
 * or MPI's. */
#ifndef GPUBIND_AWARE_NEXT_H
#define GPUBIND_AWARE_NEXT_H

#define AWARE_PUBLIC __attribute__((visibility("default")))

/* Looks the name up behind this library; aborts the job where there is none, since the program was
 * linked with a function that its MPI lacks. */
void *next_function(const char *name);

/* Defines next_NAME, a pointer to the function behind NAME, and the function that looks it up at
 * the first call. */
#define NEXT(name)                                   \
    static __typeof__(&name) next_of_##name(void)    \
    {                                                \
        static __typeof__(&name) found;              \
                                                     \
        if (!found)                                  \
            *(void **)&found = next_function(#name); \
        return found;                                \
    }

#endif
