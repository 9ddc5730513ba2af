/* Lists of what PMIx is told, and keys by their names. */
#include <pmix.h>
#include <stdlib.h>
#include <string.h>

#include "tests/plugin/server.h"

const char *key_text(const char *name)
{
    char copy[PMIX_MAX_KEYLEN + 1];
    const char *text;

    snprintf(copy, sizeof copy, "%s", name);
    text = PMIx_Get_attribute_string(copy);
    return text == copy ? name : text; /* an unknown name comes back */
}

void infos_make(struct infos *infos, size_t room, const char *omit)
{
    infos->n = 0;
    infos->room = room;
    infos->omit = omit;
    PMIX_INFO_CREATE(infos->list, room);
    if (!infos->list)
        abort();
}

static bool omitted(const struct infos *infos, const char *key)
{
    char name[PMIX_MAX_KEYLEN + 1];

    for (size_t i = 0; infos->omit && word_part(infos->omit, ',', i, name, sizeof name); i++)
        if (strcmp(key_text(name), key) == 0)
            return true;
    return false;
}

void infos_add(struct infos *infos, const char *key, const void *data, pmix_data_type_t type)
{
    if (omitted(infos, key))
        return;
    if (infos->n == infos->room)
        abort();
    PMIX_INFO_LOAD(&infos->list[infos->n], key, data, type);
    infos->n++;
}

void infos_add_number(struct infos *infos, const char *key, uint32_t number, pmix_data_type_t type)
{
    uint16_t small = (uint16_t)number;
    int whole = (int)number;

    if (type == PMIX_UINT16)
        infos_add(infos, key, &small, type);
    else if (type == PMIX_INT)
        infos_add(infos, key, &whole, type);
    else
        infos_add(infos, key, &number, type); /* PMIX_UINT32, PMIX_PROC_RANK */
}

/* Takes part over. */
void infos_add_array(struct infos *infos, const char *key, struct infos *part)
{
    pmix_data_array_t *array;
    pmix_info_t *info;

    if (omitted(infos, key)) {
        PMIX_INFO_FREE(part->list, part->room);
        return;
    }
    if (infos->n == infos->room)
        abort();
    array = malloc(sizeof *array); /* PMIx frees it by free() */
    if (!array)
        abort();
    *array = (pmix_data_array_t){.type = PMIX_INFO, .size = part->n, .array = part->list};
    info = &infos->list[infos->n++];
    PMIX_LOAD_KEY(info->key, key);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
}
