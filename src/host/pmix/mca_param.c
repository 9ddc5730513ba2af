/* Looks up an MCA parameter where PMIx does: variables and files. */
#include "host/pmix/mca_param.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/sys/env_array.h"

#define PATH_SIZE (PATH_MAX + 64)

/* The value of a line "name = value", NULL where it is another's or a comment. */
static char *value_of(char *line, const char *name)
{
    char *key = line + strspn(line, " \t"), *equals = strchr(key, '='), *value;

    if (!equals || *key == '#')
        return NULL;
    *equals = '\0';
    key[strcspn(key, " \t")] = '\0';
    if (strcmp(key, name) != 0)
        return NULL;
    value = equals + 1 + strspn(equals + 1, " \t");
    for (size_t end = strlen(value); end && strchr(" \t\r\n", value[end - 1]); end--)
        value[end - 1] = '\0';
    return value;
}

static bool read_file(const struct mca_param_sources *where, const char *path, const char *name,
                      struct mca_param *setting)
{
    char full[2 * PATH_SIZE], line[PATH_MAX + 128];
    bool found = false;
    FILE *file;

    snprintf(full, sizeof full, "%s%s", where->root, path);
    file = fopen(full, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = value_of(line, name);

        if (!value)
            continue;
        snprintf(setting->value, sizeof setting->value, "%s", value);
        snprintf(setting->from, sizeof setting->from, "%s", path);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* The file lies in PMIx's sysconfdir, which PMIx does not tell. */
static bool read_site(const struct mca_param_sources *where, const char *file, const char *name,
                      struct mca_param *setting)
{
    static const char *const folders[] = {"etc", "share", "/etc", "/etc/pmix"};
    char path[PATH_SIZE], prefix[PATH_MAX];

    snprintf(prefix, sizeof prefix, "%s", where->library);
    for (int i = 0; i < 2 && strrchr(prefix, '/'); i++)
        *strrchr(prefix, '/') = '\0';
    for (int i = 0; i < 4; i++) {
        bool absolute = folders[i][0] == '/';

        if (!absolute && !*where->library)
            continue;
        snprintf(path, sizeof path, "%s%s%s/%s", absolute ? "" : prefix, absolute ? "" : "/",
                 folders[i], file);
        if (read_file(where, path, name, setting))
            return true;
    }
    return false;
}

/* The user's and the site's, or those that are named in their place. */
static void read_files(const struct mca_param_sources *where, const char *name,
                       struct mca_param *setting)
{
    const char *files = env_array_get(where->env, "PMIX_MCA_mca_base_param_files");
    char path[PATH_SIZE];

    for (const char *at = files; at && *at;) {
        int length = (int)strcspn(at, ",:");

        snprintf(path, sizeof path, "%.*s", length, at);
        if (read_file(where, path, name, setting))
            return;
        at += length + (at[length] != '\0');
    }
    if (files)
        return;
    snprintf(path, sizeof path, "%s/.pmix/mca-params.conf", where->home);
    if (!*where->home || !read_file(where, path, name, setting))
        (void)read_site(where, "pmix-mca-params.conf", name, setting);
}

void mca_param_find(const struct mca_param_sources *where, const char *name,
                    struct mca_param *setting)
{
    const char *value;
    char variable[64];

    memset(setting, 0, sizeof *setting);
    snprintf(variable, sizeof variable, "PMIX_MCA_%s", name);
    value = env_array_get(where->env, variable);
    if (read_site(where, "pmix-mca-params-override.conf", name, setting))
        return;
    if (!value) {
        read_files(where, name, setting);
        return;
    }
    snprintf(setting->value, sizeof setting->value, "%s", value);
    snprintf(setting->from, sizeof setting->from, "%s in %s environment", variable, where->whose);
}
