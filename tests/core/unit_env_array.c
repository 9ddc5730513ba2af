/* The environment of a rank that is still to start. */
#include <stdlib.h>
#include <unistd.h>

#include "host/sys/env_array.h"
#include "tests/tap.h"

static char **array_of(const char *const *texts)
{
    size_t n = 0;
    char **array;

    while (texts[n])
        n++;
    array = calloc(n + 1, sizeof *array);
    for (size_t i = 0; array && i < n; i++)
        array[i] = strdup(texts[i]);
    return array;
}

/* All of it between bars. */
static const char *joined(char *const *array)
{
    static char text[1024];

    text[0] = '\0';
    for (; array && *array; array++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s|", *array);
    return text;
}

static void add(struct env_list *list, enum env_how how, const char *name, const char *value)
{
    list->item[list->n++] = (struct env_item){how, name, value ? strdup(value) : NULL};
}

static void make_list(struct env_list *list)
{
    memset(list, 0, sizeof *list);
    add(list, ENV_SET, "SET", "new");
    add(list, ENV_SET, "EMPTY", "");
    add(list, ENV_DEFAULT, "KEPT", "ours");
    add(list, ENV_DEFAULT, "ABSENT", "ours");
    add(list, ENV_UNSET, "GONE", NULL);
    add(list, ENV_UNSET, "NEVER", NULL);
}

static void test_get(void)
{
    static const char *const texts[] = {"AB=long", "A=1", "E=", "A=2", NULL};
    char **array = array_of(texts);

    tap_is(env_array_get(array, "A"), "1", "the first of a name counts, not a longer name");
    tap_is(env_array_get(array, "E"), "", "an empty value is set");
    tap_ok(!env_array_get(array, "B"), "a name that is not there");
    tap_ok(!env_array_get(NULL, "A"), "no environment at all");
    env_array_free(array);
}

static void test_apply(void)
{
    static const char *const texts[] = {"SETTER=x", "SET=old", "GONE=1", "KEPT=user", "GO=2", NULL};
    char **array = array_of(texts), **none = NULL;
    struct env_list list;

    make_list(&list);
    tap_is_int(env_array_apply(&array, &list), 0, "a list is applied");
    tap_is(joined(array), "SETTER=x|SET=new|KEPT=user|GO=2|EMPTY=|ABSENT=ours|",
           "set, set by default, unset");
    tap_is_int(env_array_apply(&array, &list), 0, "... twice");
    tap_is(joined(array), "SETTER=x|SET=new|KEPT=user|GO=2|EMPTY=|ABSENT=ours|",
           "... changes nothing more");
    tap_is_int(env_array_apply(&none, &list), 0, "to no environment");
    tap_is(joined(none), "SET=new|EMPTY=|KEPT=ours|ABSENT=ours|", "... which then is one");
    env_array_free(array);
    env_array_free(none);
    env_list_clear(&list);
}

static void test_replace(void)
{
    char **array = calloc(3, sizeof *array), **before = array;

    array[0] = strdup("AB=1");
    array[1] = strdup("A=2");
    tap_is_int(env_array_replace(array, "A", "longer than before"), 0, "another value");
    tap_is(env_array_get(array, "A"), "longer than before", "... is there");
    tap_is(env_array_get(array, "AB"), "1", "... and no other changed");
    tap_is_int(env_array_replace(array, "B", "x"), -1, "... of a variable that is not set");
    tap_ok(array == before && !array[2], "... the array is as long as before");
    env_array_free(array);
}

static void test_own(void)
{
    struct env_list list;

    setenv("KEPT", "user", 1);
    setenv("GONE", "1", 1);
    make_list(&list);
    tap_is_int(env_array_apply(&environ, &list), 0, "to this process's own");
    tap_is(getenv("SET"), "new", "... set");
    tap_is(getenv("KEPT"), "user", "... kept");
    tap_ok(!getenv("GONE"), "... unset");
    env_list_clear(&list);
}

int main(void)
{
    test_get();
    test_apply();
    test_replace();
    test_own();
    return tap_done();
}
