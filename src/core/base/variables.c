/* The table of all GPUBIND_ variables. */
#include "core/base/variables.h"

#include <string.h>

#include "core/base/similar.h"

#define PREFIX "GPUBIND_"
#define PREFIX_LENGTH (sizeof PREFIX - 1)
/* Longer names are compared and shown up to here. */
#define NAME_MAX_LENGTH SIMILAR_LONGEST

/* What a user may set: the launcher's and the plugin's options, then the library's. */
/* clang-format off */
static const char *const settings[] = {
    "MASTER", "OVERFLOW", "GPUS_PER_RANK", "RANKS_PER_GPU", "MAP", "POLICY", "BIND", "SMT",
    "MEMBIND", "REQUIRE_GPU", "TOPOLOGY", "VISIBLE", "IDS", "OMP", "NIC", "GPU_AWARE", "LAUNCHER", "TIMEOUT",
    "MPS", "REPORT", "VERBOSE", "QUIET", "JSON", "RANKS", "RANKS_FILE", "NODES", "DISTRIBUTION",
    "CPUSET", "XML",
    "PATH", "EAGER", "COPY_BLOCKS", "COLLECTIVES", "MAPPINGS", "WINDOWS", "WIN_DYNAMIC", "WIN_MEMORY", "ORDER", "PACK_MEMORY", "PINNED_MEMORY",
    "PROGRESS_THREAD", "TRACE", "UNEXPECTED", "WAIT_NOTICE", "LOG", "LOG_FILE"};
/* clang-format on */

/* What gpubind itself sets, for programs and between its own parts; its tests; and what
 * environment modules call an installation. A '*' stands for any end. */
/* clang-format off */
static const char *const others[] = {
    "VERSION", "PLAN", "ROLE", "LOCAL_RANK", "GPU_UUID", "GPU_PCI", "VISIBLE_DEVICES", "CPUS",
    "NUMA", "RECORDED", "MADE_BY", "MADE_FOR", "SETTINGS", "OUTER_*", "RELAY", "RELAY_*",
    "SIM_*", "TEST_*", "STRESS_SECONDS",
    "ROOT", "HOME", "DIR", "PREFIX", "LIB", "INCLUDE"};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_listed(const char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        size_t before = strcspn(list[i], "*");

        if (list[i][before] ? strncmp(list[i], word, before) == 0 : strcmp(list[i], word) == 0)
            return true;
    }
    return false;
}

bool variables_known(const char *name)
{
    const char *word = name + PREFIX_LENGTH;

    return strncmp(name, PREFIX, PREFIX_LENGTH) == 0 &&
           (is_listed(settings, COUNT(settings), word) || is_listed(others, COUNT(others), word));
}

/* NULL where most of the word would have to change. */
static const char *most_similar(const char *word)
{
    struct similar similar = {.word = word, .least = (int)(strlen(word) + 1) / 2 + 1};

    for (size_t i = 0; i < COUNT(settings); i++)
        similar_try(&similar, settings[i]);
    return similar.best;
}

/* The name in "GPUBIND_NAME=VALUE", of which there is something to say. */
static bool is_unknown(const char *entry, char name[PREFIX_LENGTH + NAME_MAX_LENGTH + 1])
{
    size_t length = strcspn(entry, "=");

    if (strncmp(entry, PREFIX, PREFIX_LENGTH) != 0 || !entry[length] || !entry[length + 1])
        return false;
    if (length > PREFIX_LENGTH + NAME_MAX_LENGTH)
        length = PREFIX_LENGTH + NAME_MAX_LENGTH;
    memcpy(name, entry, length);
    name[length] = '\0';
    text_clean(name);
    return !variables_known(name);
}

static bool is_placed(char *const *env)
{
    for (; env && *env; env++)
        if (strncmp(*env, PREFIX "PLAN=", PREFIX_LENGTH + 5) == 0)
            return true;
    return false;
}

void variables_note_unknown(char *const *env, const char *end, struct text *text)
{
    if (is_placed(env))
        return;
    for (; env && *env; env++) {
        char name[PREFIX_LENGTH + NAME_MAX_LENGTH + 1];
        const char *similar;

        if (!is_unknown(*env, name))
            continue;
        similar = most_similar(name + PREFIX_LENGTH);
        if (similar)
            text_add(text, "%s is no variable of gpubind; the nearest one is " PREFIX "%s%s", name,
                     similar, end);
        else
            text_add(text, "%s is no variable of gpubind, and none is like it%s", name, end);
    }
}
