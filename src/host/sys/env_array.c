/* Environments as arrays of "NAME=VALUE". */
#include "host/sys/env_array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Position of the variable, or of the NULL at the end. */
static size_t find(char *const *array, const char *name)
{
    size_t length = strlen(name), i = 0;

    while (array[i] && (strncmp(array[i], name, length) != 0 || array[i][length] != '='))
        i++;
    return i;
}

const char *env_array_get(char *const *array, const char *name)
{
    size_t at = array ? find(array, name) : 0;

    return array && array[at] ? array[at] + strlen(name) + 1 : NULL;
}

static char *assignment(const struct env_item *item)
{
    size_t name = strlen(item->name), value = strlen(item->value);
    char *text = malloc(name + 1 + value + 1);

    if (text) {
        memcpy(text, item->name, name);
        text[name] = '=';
        memcpy(text + name + 1, item->value, value + 1);
    }
    return text;
}

static void put(char **array, const char *name, char *text)
{
    size_t at = find(array, name);

    if (!array[at])
        array[at + 1] = NULL;
    free(array[at]);
    array[at] = text;
}

static void drop(char **array, const char *name)
{
    size_t at = find(array, name);

    if (!array[at])
        return;
    free(array[at]);
    for (; array[at]; at++)
        array[at] = array[at + 1];
}

/* Room for n more; NULL leaves the array as it is. */
static char **grow(char **array, int n)
{
    size_t count = 0;
    char **pointers;

    while (array && array[count])
        count++;
    pointers = realloc(array, (count + (size_t)n + 1) * sizeof *pointers);
    if (pointers)
        pointers[count] = NULL;
    return pointers;
}

/* A server that becomes the program itself hands over its own environment. */
static int apply_here(const struct env_list *list)
{
    int status = 0;

    for (int i = 0; i < list->n; i++) {
        const struct env_item *item = &list->item[i];

        status |= item->how == ENV_UNSET ? unsetenv(item->name)
                                         : setenv(item->name, item->value, item->how == ENV_SET);
    }
    return status;
}

int env_array_apply(char ***array, const struct env_list *list)
{
    char *texts[ENV_MAX] = {NULL}, **pointers;
    bool failed = false;

    if (*array && *array == environ)
        return apply_here(list);
    for (int i = 0; i < list->n; i++)
        if (list->item[i].how != ENV_UNSET) {
            texts[i] = assignment(&list->item[i]);
            failed |= !texts[i];
        }
    pointers = failed ? NULL : grow(*array, list->n);
    if (!pointers) {
        for (int i = 0; i < list->n; i++)
            free(texts[i]);
        return -1;
    }
    *array = pointers;
    for (int i = 0; i < list->n; i++) {
        const struct env_item *item = &list->item[i];

        if (item->how == ENV_UNSET)
            drop(pointers, item->name);
        else if (item->how == ENV_DEFAULT && env_array_get(pointers, item->name))
            free(texts[i]);
        else
            put(pointers, item->name, texts[i]);
    }
    return 0;
}

int env_array_replace(char **array, const char *name, const char *value)
{
    const struct env_item item = {ENV_SET, name, (char *)(size_t)value};
    size_t at = find(array, name);
    char *text = array[at] ? assignment(&item) : NULL;

    if (!text)
        return -1;
    free(array[at]);
    array[at] = text;
    return 0;
}

void env_array_free(char **array)
{
    for (char **at = array; at && *at; at++)
        free(*at);
    free(array);
}
