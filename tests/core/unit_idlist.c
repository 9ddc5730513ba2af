/* Lists of numbers: what is read, what is refused, what is written. */
#include <stdlib.h>

#include "core/base/idset.h"
#include "tests/tap.h"

static void reads(const char *text, const char *wanted)
{
    struct idset set;
    struct gpubind_error err = {""};
    char *got = idlist_parse(text, "list", &set, &err) < 0 ? NULL : idlist_text(&set);
    char what[256];

    snprintf(what, sizeof what, "'%.*s' is read", (int)strcspn(text, "\n"), text);
    tap_is(got, wanted, what);
    free(got);
}

/* The sentence names the list and its text, and the set stays as it was. */
static void refuses(const char *text)
{
    struct idset set;
    struct gpubind_error err = {""};

    idset_clear(&set);
    idset_add(&set, 77);
    tap_ok(idlist_parse(text, "--cpuset", &set, &err) == -1 && idset_has(&set, 77) &&
               idset_count(&set) == 1 && strstr(err.text, "--cpuset") && strstr(err.text, text),
           "'%s' is refused", text);
}

static void operates(void)
{
    struct idset a, b, c;

    idlist_parse("0-3,64,8191", "a", &a, NULL);
    idlist_parse("3-4,64", "b", &b, NULL);
    tap_is_int(idset_count(&a), 6, "count");
    tap_ok(idset_has(&a, 8191) && !idset_has(&a, 4), "has");
    tap_ok(!idset_has(&a, -1) && !idset_has(&a, IDSET_MAX), "has nothing out of range");
    c = a;
    idset_add(&c, -1);
    idset_add(&c, IDSET_MAX);
    idset_remove(&c, IDSET_MAX);
    tap_ok(idset_equal(&a, &c), "adding what is out of range changes nothing");
    tap_ok(idset_intersects(&a, &b) && !idset_within(&b, &a), "intersects, within");
    idset_intersect(&c, &b);
    tap_ok(idset_count(&c) == 2 && idset_within(&c, &a) && idset_within(&c, &b), "intersect");
    idset_union(&c, &a);
    tap_ok(idset_equal(&a, &c), "union");
    idset_remove(&c, 8191);
    tap_is_int(idset_next(&c, 64), -1, "no member behind the last");
    tap_is_int(idset_next(&a, 64), 8191, "next across words");
    idset_clear(&c);
    tap_ok(idset_empty(&c) && !idset_empty(&a), "empty");
}

/* As snprintf: the whole length is returned, what fits is written. */
static void renders_cut(void)
{
    struct idset set;
    char text[6] = "xxxxx";

    idlist_parse("0-3,8,10", "list", &set, NULL);
    tap_is_int((long)idlist_render(&set, NULL, 0), 8, "length without memory");
    tap_is_int((long)idlist_render(&set, text, 5), 8, "length with little memory");
    tap_is(text, "0-3,", "what fits is written and ends in NUL");
    tap_is_int(text[5], '\0', "nothing behind the buffer is written");
}

int main(void)
{
    reads("", "");
    reads(" \n", "");
    reads("0", "0");
    reads("0-3,8", "0-3,8");
    reads("3,2,1", "1-3");
    reads("5-5", "5");
    reads("1,1,0-2", "0-2");
    reads(" 0-1,4\n", "0-1,4");
    reads("8191", "8191");
    reads("007", "7");
    refuses("8192");
    refuses("0-8192");
    refuses("99999999999999999999");
    refuses("3-1");
    refuses("-1");
    refuses("1-");
    refuses(",1");
    refuses("1,");
    refuses("1,,2");
    refuses("1 2");
    refuses("1 ,2");
    refuses("0x3");
    refuses("a");
    refuses("1-2-3");
    refuses("+1");
    operates();
    renders_cut();
    return tap_done();
}
