/* The small parts of core/base: numbers, switches, the hash, the JSON writer, options by a
 * table. */
#include <getopt.h>
#include <limits.h>
#include <stddef.h>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/number.h"
#include "core/base/options.h"
#include "tests/tap.h"

static void numbers(void)
{
    static const char *const refused[] = {"",   " 1", "1 ", "+1",         "-1",
                                          "1x", "0x", "11", "2147483648", "99999999999999999999"};
    struct gpubind_error err;
    int number = 7;

    tap_ok(number_read("010", 0, 10, &number) && number == 10, "leading zeros are decimal");
    tap_ok(number_read("2147483647", 0, INT_MAX, &number) && number == INT_MAX, "the largest int");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        number = 7;
        tap_ok(!number_read(refused[i], 0, 10, &number) && number == 7, "'%s' is refused",
               refused[i]);
    }
    tap_ok(number_parse("0", 1, 8, "--smt", &number, &err) == -1, "0 is out of range");
    tap_is(err.text, "--smt: '0' is not a number from 1 to 8", "and the error says so");
    tap_ok(switch_parse("Yes", "--x", &number, &err) == 0 && number == 1, "Yes is 1");
    tap_ok(switch_parse("off", "--x", &number, &err) == 0 && number == 0, "off is 0");
    tap_ok(switch_parse("2", "--x", &number, &err) == -1, "2 is no switch");
}

/* The test vectors of the algorithm's authors. */
static void hashes(void)
{
    tap_ok(hash_text(HASH_START, "") == UINT64_C(0xcbf29ce484222325), "the hash of nothing");
    tap_ok(hash_text(HASH_START, "a") == UINT64_C(0xaf63dc4c8601ec8c), "the hash of a");
    tap_ok(hash_text(hash_text(HASH_START, "foo"), "bar") == UINT64_C(0x85944171f73967e8),
           "the hash of foobar, in two steps");
}

static void writes_json(void)
{
    struct text text = {0};
    struct json json = {.text = &text};
    struct idset ids;

    idset_clear(&ids);
    idset_add(&ids, 2);
    idset_add(&ids, 3);
    json_open(&json, NULL, '{');
    json_string(&json, "a", "x\"\n");
    json_string(&json, "b", NULL);
    json_ids(&json, "c", &ids);
    json_open(&json, "d", '[');
    json_open(&json, NULL, '[');
    json_close(&json, ']');
    json_value(&json, NULL, "%d", 1);
    json_bool(&json, NULL, false);
    json_close(&json, ']');
    json_lines(&json, "e", "one\ntwo\n", 0);
    json_lines(&json, "f", NULL, 0);
    json_close(&json, '}');
    tap_is(text.bytes,
           "{\"a\":\"x\\\"\\u000a\",\"b\":null,\"c\":\"2-3\",\"d\":[[],1,false],"
           "\"e\":[\"one\",\"two\"],\"f\":[]}",
           "compact");
    text_clear(&text);

    json = (struct json){.text = &text, .spaced = true};
    json_open(&json, NULL, '{');
    json_value(&json, "a", "1");
    json_value(&json, "b", "2");
    json_newline(&json, 1);
    json_lines(&json, "c", "one\ntwo", 2);
    json_newline(&json, 1);
    json_close(&json, '}');
    tap_is(text.bytes, "{\"a\": 1, \"b\": 2,\n \"c\": [\n  \"one\",\n  \"two\"]\n }", "spaced");
    text_clear(&text);
}

struct settings {
    int number, word, taken;
    bool flag;
    const char *name, *file;
};
#define AT(member) .offset = offsetof(struct settings, member)

static const struct option_row rows[] = {
    {1, 0, OPTION_NUMBER, 'n', "number", "N", "4", "a number", AT(number), 1, 9},
    {3, 0, OPTION_WORD, 0, "word", "one|two", NULL, "a word", AT(word)},
    {3, 1, OPTION_NAME, 0, "name", "one|two", NULL, "a name", AT(name)},
    {3, 1, OPTION_FLAG, 'f', "flag", NULL, NULL, "a flag", AT(flag)},
    {2, 1, OPTION_TEXT, 0, "file", "FILE", NULL, "a file", AT(file)},
};
static const char *const groups[] = {"First", "Second"};
static const struct option_table table = {rows, sizeof rows / sizeof *rows, groups, 2};

static int take(void *context, const struct option_row *row, const char *value,
                struct gpubind_error *err)
{
    ((struct settings *)context)->taken++;
    return option_set(row, value, row->name, context, err);
}

static void options(void)
{
    char *argv[] = {(char *)"x",    (char *)"--word=two", (char *)"-f",
                    (char *)"-n3",  (char *)"--name",     (char *)"one",
                    (char *)"rest", (char *)"-f",         NULL};
    char *other[] = {(char *)"x", (char *)"--file", (char *)"f", NULL};
    struct settings settings = {0};
    struct gpubind_error err = {""};
    struct text text = {0};

    tap_ok(options_set_presets(&table, 2, &settings, &err) == 0 && settings.number == 0,
           "the preset of another mode is left out");
    tap_ok(options_set_presets(&table, 1, &settings, &err) == 0 && settings.number == 4,
           "a preset is set");
    tap_is_int(options_read_arguments(&table, 1, 8, argv, "x --help", take, &settings, &err), 6,
               "options end at the first word");
    tap_ok(settings.taken == 4 && settings.word == 1 && settings.flag && settings.number == 3 &&
               strcmp(settings.name, "one") == 0,
           "each option is where its row says");
    optind = 1;
    tap_is_int(options_read_arguments(&table, 1, 3, other, "x --help", take, &settings, &err), -1,
               "an option of another mode is unknown");
    tap_is(err.text, "unknown option '--file' (x --help lists them)", "and the error says so");
    tap_ok(option_set(&rows[1], "three", "WORD", &settings, &err) == -1 && settings.word == 1,
           "a failure changes nothing");
    tap_is(err.text, "WORD: 'three' is none of one|two", "and names the words");
    options_describe(&table, 1, &text);
    tap_is(text.bytes,
           "\nFirst:\n  -n, --number N\n          a number (4)\n      --word one|two\n"
           "          a word\n\nSecond:\n      --name one|two\n          a name\n  -f, --flag\n"
           "          a flag\n",
           "help");
    text_clear(&text);
}

int main(void)
{
    numbers();
    hashes();
    writes_json();
    options();
    return tap_done();
}
