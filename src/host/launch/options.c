/* From the texts that options were given to struct options: defaults, other sources than the
 * command line, what contradicts what. */
#include "host/launch/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"

void options_default(struct options *options)
{
    memset(options, 0, sizeof *options);
    policy_default(&options->rules.policy);
    options->gpu_aware = GPU_AWARE_NOT_GIVEN;
    (void)options_set_presets(&option_table, ~0u, options, NULL);
}

bool options_given(const char *const *values, const char *name)
{
    for (int i = 0; i < option_table.nrows; i++)
        if (strcmp(option_table.rows[i].name, name) == 0)
            return values[i] != NULL;
    return false;
}

/* Whether the row is skipped: it is given already, contradicts what is given, or does not go
 * with the action. */
static bool is_skipped(const struct options *options, const struct option_row *row,
                       const char *const *values)
{
    static const char *const pairs[][2] = {{"map", "policy"}, {"ranks", "ranks-file"}};

    if (row->kind == OPTION_ACTION || options_given(values, row->name) ||
        !option_is_for(row, options->action))
        return true;
    for (int i = 0; i < 2; i++)
        if ((strcmp(row->name, pairs[i][0]) == 0 && options_given(values, pairs[i][1])) ||
            (strcmp(row->name, pairs[i][1]) == 0 && options_given(values, pairs[i][0])))
            return true;
    return false;
}

int options_take_rest(struct options *options, const char **values, option_getter *get,
                      const void *context, struct text *refused, struct gpubind_error *err)
{
    for (int i = 0; i < option_table.nrows; i++) {
        char from[64];
        const char *value;

        if (is_skipped(options, &option_table.rows[i], values))
            continue;
        value = get(context, &option_table.rows[i], from, sizeof from);
        if (!value || !*value)
            continue;
        if (option_set(&option_table.rows[i], value, from, options, err) == 0)
            values[i] = value;
        else if (refused)
            text_add(refused, "%s; passed over\n", err->text);
        else
            return -1;
    }
    return 0;
}

void option_variable(const struct option_row *row, char *name, size_t size)
{
    size_t length = (size_t)snprintf(name, size, "GPUBIND_%s", row->name);

    for (size_t i = 8; i < length && i < size; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

/* With its end, so that "ab", "c" and "a", "bc" differ. */
static uint64_t add_text(uint64_t digest, const char *text)
{
    return hash_bytes(digest, text, strlen(text) + 1);
}

uint64_t options_digest(const char *const *values, enum group last)
{
    uint64_t digest = 0;

    for (int i = 0; i < option_table.nrows; i++)
        if (values[i] && option_table.rows[i].group <= (int)last) {
            digest = add_text(digest, option_table.rows[i].name);
            digest = add_text(digest, values[i]);
        }
    return digest;
}

void options_say(const char *const *values, enum group last, char *lines, size_t size)
{
    struct text text = {0};

    for (int i = 0; i < option_table.nrows; i++) {
        const struct option_row *row = &option_table.rows[i];
        char value[32];

        if (!values[i] || row->group > (int)last)
            continue;
        text_copy(value, sizeof value, values[i]);
        if (row->kind == OPTION_FLAG && strcmp(value, "1") == 0)
            text_add(&text, "--%s\n", row->name);
        else
            text_add(&text, "--%s %s%s\n", row->name, value,
                     strlen(values[i]) < sizeof value ? "" : "...");
    }
    snprintf(lines, size, "%s", text.length < size && text.bytes ? text.bytes : "");
    text_clear(&text);
}

bool option_is_off(const char *value)
{
    static const char *const off_words[] = {"off", "0", "no", "false"};

    for (int i = 0; value && i < 4; i++)
        if (strcasecmp(value, off_words[i]) == 0)
            return true;
    return false;
}

int options_check(const struct options *options, struct gpubind_error *err)
{
    if (options->ranks && options->ranks_file)
        return error_set(err, "--ranks and --ranks-file exclude each other");
    if (options->rules.map && options->rules.policy.gpus != POLICY_CLOSEST)
        return error_set(err,
                         "--map and --policy exclude each other: a map is in the user's order");
    return 0;
}
