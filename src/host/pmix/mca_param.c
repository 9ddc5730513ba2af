/* Looks up an MCA parameter where PMIx does: variables and files. */
#include "host/pmix/mca_param.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/sys/env_array.h"

#define PATH_SIZE (PATH_MAX + 64)
#define OVERRIDING "pmix-mca-params-override.conf"
#define VARIABLE "PMIX_MCA_"

/* Splits a line "name = value". NULL: it is empty, or a comment. */
static char *split(char *line, char **name)
{
    char *key = line + strspn(line, " \t"), *equals = strchr(key, '='), *value;

    if (!equals || *key == '#')
        return NULL;
    *equals = '\0';
    key[strcspn(key, " \t")] = '\0';
    *name = key;
    value = equals + 1 + strspn(equals + 1, " \t");
    for (size_t end = strlen(value); end && strchr(" \t\r\n", value[end - 1]); end--)
        value[end - 1] = '\0';
    return value;
}

/* What a file is read for. */
struct reader {
    const char *name; /* of the parameter; or, where there is a visitor, what names begin with */
    struct mca_param *setting; /* the last of them */
    mca_param_visitor *visits;
    void *visitor;
};

/* Whether the parameter is found, and files behind this one do not count. */
static bool read_file(const struct mca_param_sources *where, const char *path,
                      const struct reader *reader)
{
    char full[2 * PATH_SIZE], line[PATH_MAX + 128], *name;
    bool found = false;
    FILE *file;

    snprintf(full, sizeof full, "%s%s", where->root, path);
    file = fopen(full, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = split(line, &name);

        if (value && reader->visits && strncmp(name, reader->name, strlen(reader->name)) == 0)
            reader->visits(reader->visitor, name, value, path);
        if (!value || reader->visits || strcmp(name, reader->name) != 0)
            continue;
        snprintf(reader->setting->value, sizeof reader->setting->value, "%s", value);
        snprintf(reader->setting->from, sizeof reader->setting->from, "%s", path);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* The file lies in PMIx's sysconfdir, which PMIx does not tell. */
static bool read_site(const struct mca_param_sources *where, const char *file,
                      const struct reader *reader)
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
        if (read_file(where, path, reader))
            return true;
    }
    return false;
}

/* The user's and the site's, or those that are named in their place. */
static void read_files(const struct mca_param_sources *where, const struct reader *reader)
{
    const char *files = env_array_get(where->env, "PMIX_MCA_mca_base_param_files");
    char path[PATH_SIZE];

    for (const char *at = files; at && *at;) {
        int length = (int)strcspn(at, ",:");

        snprintf(path, sizeof path, "%.*s", length, at);
        if (read_file(where, path, reader))
            return;
        at += length + (at[length] != '\0');
    }
    if (files)
        return;
    snprintf(path, sizeof path, "%s/.pmix/mca-params.conf", where->home);
    if (!*where->home || !read_file(where, path, reader))
        (void)read_site(where, "pmix-mca-params.conf", reader);
}

void mca_param_find(const struct mca_param_sources *where, const char *name,
                    struct mca_param *setting)
{
    const struct reader reader = {.name = name, .setting = setting};
    const char *value;
    char variable[64];

    memset(setting, 0, sizeof *setting);
    snprintf(variable, sizeof variable, VARIABLE "%s", name);
    value = env_array_get(where->env, variable);
    if (read_site(where, OVERRIDING, &reader))
        return;
    if (!value) {
        read_files(where, &reader);
        return;
    }
    snprintf(setting->value, sizeof setting->value, "%s", value);
    snprintf(setting->from, sizeof setting->from, "%s in %s environment", variable, where->whose);
}

void mca_params_see(const struct mca_param_sources *where, const char *prefix,
                    mca_param_visitor *visits, void *visitor)
{
    const struct reader reader = {.name = prefix, .visits = visits, .visitor = visitor};
    char name[64], from[128];

    (void)read_site(where, OVERRIDING, &reader);
    for (char *const *env = where->env; env && *env; env++) {
        const size_t before = strlen(VARIABLE), length = strcspn(*env, "=");

        if (strncmp(*env, VARIABLE, before) != 0 || !(*env)[length] ||
            strncmp(*env + before, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(length - before), *env + before);
        snprintf(from, sizeof from, VARIABLE "%s in %s environment", name, where->whose);
        visits(visitor, name, *env + length + 1, from);
    }
    read_files(where, &reader);
}
