/* The plugin's settings: GPUBIND_* variables of the job and MCA parameters of the site. */
#include "plugin/settings.h"

#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "host/sys/env_array.h"

#define PARAMETER "pmdl_gpubind_"

char *settings_parameter[OPTIONS_MAX];

struct site_setting site_settings[SITE_SETTINGS] = {
    [SITE_EXCLUSIVE] = {"exclusive",
                        "each job takes GPUs that the daemon's other jobs have not, as long as "
                        "there are any (0)",
                        NULL},
};

void settings_parameter_name(const struct option_row *row, char *name, size_t size)
{
    snprintf(name, size, "%s", row->name);
    for (char *at = name; *at; at++)
        if (*at == '-')
            *at = '_';
}

static const char *get_variable(const void *context, const struct option_row *row, char *from,
                                size_t size)
{
    char *const *env = context;

    option_variable(row, from, size);
    /* What a gpubind around the whole mpirun exported is not a setting. */
    if (strcmp(row->name, "nic") == 0 && env_array_get(env, "GPUBIND_PLAN"))
        return NULL;
    return option_is_plugins(row) ? env_array_get(env, from) : NULL;
}

static const char *get_parameter(const void *context, const struct option_row *row, char *from,
                                 size_t size)
{
    char name[64];

    (void)context;
    settings_parameter_name(row, name, sizeof name);
    snprintf(from, size, PARAMETER "%s", name);
    return settings_parameter[row - option_table.rows];
}

/* Whether a site uses the option to refuse jobs; what else it asks of placement may be
 * right on another node, or for a larger job. */
static bool is_limit(const struct option_row *row)
{
    static const char *const limits[] = {"overflow", "ranks-per-gpu", "require-gpu"};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (strcmp(row->name, limits[i]) == 0)
            return true;
    return false;
}

static const char *get_limit(const void *context, const struct option_row *row, char *from,
                             size_t size)
{
    return row->group != PLACEMENT || is_limit(row) ? get_parameter(context, row, from, size)
                                                    : NULL;
}

static int read_by(char *const *env, option_getter *parameter, struct options *options,
                   struct text *refused, struct gpubind_error *err)
{
    const char *values[OPTIONS_MAX] = {NULL};

    options_default(options);
    options->prefs.ze = visible_ze_order(env_array_get(env, "ZE_FLAT_DEVICE_HIERARCHY"),
                                         env_array_get(env, "ZE_ENABLE_PCI_ID_DEVICE_ORDER"));
    if (options_take_rest(options, values, get_variable, env, NULL, err) < 0 ||
        options_take_rest(options, values, parameter, NULL, refused, err) < 0)
        return -1;
    options->rules_digest = options_digest(values, PLACEMENT);
    options->settings_digest = options_digest(values, PROGRAM);
    return options_check(options, err);
}

int settings_read(char *const *env, struct options *options, struct text *refused,
                  struct gpubind_error *err)
{
    return read_by(env, get_parameter, options, refused, err);
}

int settings_read_limits(char *const *env, struct options *options, struct gpubind_error *err)
{
    struct text refused = {0};
    int status = read_by(env, get_limit, options, &refused, err);

    text_clear(&refused);
    return status;
}

void settings_name_parameters(char *const *env, struct text *text)
{
    for (int i = 0, n = 0; i < option_table.nrows; i++) {
        const struct option_row *row = &option_table.rows[i];
        char name[64], from[64];
        const char *own = get_variable(env, row, from, sizeof from);

        if (row->group != PLACEMENT || is_limit(row) || !settings_parameter[i] ||
            !*settings_parameter[i] || (own && *own))
            continue;
        settings_parameter_name(row, name, sizeof name);
        text_add(text, "%s" PARAMETER "%s", n++ ? ", " : "", name);
    }
}

bool settings_exclusive(struct text *refused)
{
    const char *value = site_settings[SITE_EXCLUSIVE].value;
    struct gpubind_error err;
    int number = 0;

    if (value && *value && switch_parse(value, PARAMETER "exclusive", &number, &err) < 0)
        text_add(refused, "%s; passed over\n", err.text);
    return number;
}

bool settings_off(char *const *env)
{
    return option_is_off(env_array_get(env, "GPUBIND"));
}
