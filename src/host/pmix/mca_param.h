/* MCA parameters as a daemon's PMIx finds them. */
#ifndef GPUBIND_HOST_PMIX_MCA_PARAM_H
#define GPUBIND_HOST_PMIX_MCA_PARAM_H

#include <limits.h>

/* Where it looks. */
struct mca_param_sources {
    const char *root;    /* below which its files are seen from here; mostly "" */
    const char *home;    /* "": not known */
    const char *library; /* path of its libpmix; "": not known */
    char *const *env;
    const char *whose; /* environment that is: "the daemon's" */
};

/* from is "" where it is not set. */
struct mca_param {
    char value[PATH_MAX];
    char from[PATH_MAX + 64]; /* a variable and whose, or a file */
};

/* The site's overriding file, PMIX_MCA_NAME, the user's file, the site's. Sites may
 * have compiled another folder into PMIx than those that are tried. */
void mca_param_find(const struct mca_param_sources *where, const char *name,
                    struct mca_param *setting);

/* All whose names begin with prefix, each as often as it is set, those that count first. */
typedef void mca_param_visitor(void *visitor, const char *name, const char *value,
                               const char *from);
void mca_params_see(const struct mca_param_sources *where, const char *prefix,
                    mca_param_visitor *visits, void *visitor);

#endif
