/* What a rank says of itself, as a message: lists of visible devices of any length that fits. */
#include <stdlib.h>

#include "host/launch/placement.h"
#include "tests/tap.h"

/* 64 GPUs of 8 MIG instances with a UUID and a comma each. */
#define LONG_LIST (64 * 8 * 41)

static struct gpubind_error err;

static char *list_of(size_t length, char fill)
{
    char *list = calloc(1, length + 1);

    memset(list, fill, length);
    return list;
}

static void start(struct facts *facts)
{
    memset(facts, 0, sizeof *facts);
    snprintf(facts->version, sizeof facts->version, "%s", PACKAGE_VERSION);
}

static void set(struct facts *facts, int which, const char *value)
{
    facts->has_visible[which] = true;
    facts->visible[which] = value;
}

static void test_round_trip(void)
{
    char *cuda = list_of(LONG_LIST, 'c'), *hip = list_of(LONG_LIST, 'h');
    struct rendezvous_message message;
    struct facts facts, got;

    start(&facts);
    set(&facts, GPU_NVIDIA, cuda);
    set(&facts, GPU_AMD, "");
    set(&facts, VISIBLE_HIP, hip);
    if (!tap_ok(facts_pack(&facts, &message, &err) == 0, "two lists of 21 KB fit a message"))
        return;
    tap_ok(message.size <= RENDEZVOUS_MAX, "... that can be sent: %zu bytes", message.size);
    tap_ok(facts_check(message.bytes, message.size, &err) == 0, "the message is good");
    facts_unpack(&message, &got);
    tap_ok(strcmp(got.visible[GPU_NVIDIA], cuda) == 0 && strcmp(got.visible[GPU_AMD], "") == 0 &&
               strcmp(got.visible[VISIBLE_HIP], hip) == 0,
           "the lists are in it");
    tap_ok(!got.has_visible[GPU_INTEL] && !got.visible[GPU_INTEL],
           "... but for the one that is not set");
    tap_ok(facts_check(message.bytes, message.size - 1, &err) < 0,
           "one that is cut off is refused");
    ((char *)message.bytes)[message.size - 1] = 'h';
    tap_ok(facts_check(message.bytes, message.size, &err) < 0, "one without an end, too");
    free(message.bytes);
    free(cuda);
    free(hip);
}

static void test_sizes(void)
{
    char *list = list_of(RENDEZVOUS_MAX, 'c');
    struct rendezvous_message message;
    struct facts facts;
    char *more;

    start(&facts);
    tap_ok(facts_pack(&facts, &message, &err) == 0 && message.size == sizeof facts,
           "without lists a message is %zu bytes", sizeof facts);
    more = calloc(1, message.size + 1);
    memcpy(more, message.bytes, message.size);
    tap_ok(facts_check(more, message.size + 1, &err) < 0, "what is left over is refused");
    tap_ok(facts_check(more, 1, &err) < 0, "a short message is refused");
    free(more);
    free(message.bytes);
    set(&facts, GPU_NVIDIA, list);
    tap_ok(facts_pack(&facts, &message, &err) < 0, "a list that fits no message is refused");
    tap_ok(strstr(err.text, "CUDA_VISIBLE_DEVICES is too long") != NULL, "... by its name: %s",
           err.text);
    free(list);
}

/* What is said of two ranks that were given these. */
static const char *difference(const char *a, const char *b)
{
    struct facts one, other;

    start(&one);
    start(&other);
    other.local = 1;
    one.rules_digest = a != NULL;
    other.rules_digest = b != NULL;
    snprintf(one.given, sizeof one.given, "%s", a ? a : "");
    snprintf(other.given, sizeof other.given, "%s", b ? b : "");
    tap_ok(facts_refuse_difference(&one, &other, &err) < 0, "it is refused");
    return err.text + strlen("local ranks 0 and 1 were given different placement options");
}

static void test_differences(void)
{
    tap_is(difference("--master 0\n--smt 1\n", "--master 0\n--smt 2\n"), ": --smt 1 and --smt 2",
           "another value");
    tap_is(difference("--map 0\n", "--map 0\n--require-gpu\n"),
           ": no --require-gpu and --require-gpu", "an option that the second rank alone has");
    tap_is(difference("--gpus-per-rank 2\n", NULL), ": --gpus-per-rank 2 and no --gpus-per-rank",
           "a rank without options");
    tap_is(difference("--bind core\n", ""), "", "options for which there was no room");
    tap_is(difference("--map a...\n", "--map a...\n"), "", "values that differ further on");
    tap_is(difference("--smt 1", "--smt 1\n"), "", "a last line without an end");
}

int main(void)
{
    test_round_trip();
    test_differences();
    test_sizes();
    return tap_done();
}
