/* JSON that any parser takes, and a table whose columns stand in line. */
#include <stdlib.h>

#include "core/base/json.h"
#include "core/report/render.h"
#include "tests/cases.h"
#include "tests/tap.h"

static void json(const char *string, const char *wanted, const char *what)
{
    struct text text = {0};

    json_string(&(struct json){.text = &text}, NULL, string);
    tap_is(text.bytes, wanted, what);
    text_clear(&text);
}

static void escapes(void)
{
    json("plain", "\"plain\"", "plain text");
    json(NULL, "null", "no text");
    json("", "null", "empty text");
    json("a\"b", "\"a\\\"b\"", "quotation mark");
    json("a\\b", "\"a\\\\b\"", "backslash");
    json("a\nb\t\x01", "\"a\\u000ab\\u0009\\u0001\"", "control characters");
    json("\x7f", "\"\\u007f\"", "DEL");
}

static void grows(void)
{
    struct text text = {0};

    for (int i = 0; i < 1000; i++)
        text_add(&text, "%d,", i % 10);
    tap_ok(text.length == 2000 && strlen(text.bytes) == 2000 && !text.failed, "text grows");
    text_clear(&text);
    tap_ok(!text.bytes && text.length == 0, "and is cleared");
}

/* Nine ranks, 0 a master, on two packages of two GPUs, the third's UUID unknown. */
static void make(struct node *node, struct job *job, struct plan *plan)
{
    static const int numa[] = {0, 0, 1, 1};
    const struct drawing drawing = {2, 1, 6, 2, 4, numa};
    struct policy policy;

    node_draw(&drawing, node);
    node->gpus[2].uuid[0] = '\0';
    job_unbound(node, 12, job);
    job->ranks[0].master = true;
    policy_default(&policy);
    if (plan_make(node, job, &policy, plan, NULL) < 0)
        tap_ok(false, "there is a plan");
}

static int line_of(const char *text, int number, char *line, size_t size)
{
    for (; number > 0 && text; number--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    snprintf(line, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
    return (int)strlen(line);
}

/* Numbers end where their title ends, words begin where it begins. */
static void table_is_aligned(const char *table)
{
    static const char *const words[] = {"role", "GPU", "PCI", "UUID", "CPUs", "NUMA"};
    static const char *const numbers[] = {"rank", "local", "north", "south"};
    char titles[512], line[512];
    int ragged = 0, longer = 0, length = line_of(table, 1, titles, sizeof titles);

    for (int r = 2; r < 14; r++) {
        longer += line_of(table, r, line, sizeof line) != length;
        for (int i = 0; i < 6; i++) {
            size_t at = (size_t)(strstr(titles, words[i]) - titles);

            ragged += line[at] == ' ' || line[at - 1] != ' ';
        }
        for (int i = 0; i < 4; i++) {
            size_t end = (size_t)(strstr(titles, numbers[i]) - titles) + strlen(numbers[i]);

            ragged += line[end - 1] == ' ' || (line[end] != ' ' && line[end] != '\0');
        }
    }
    tap_is_int(ragged, 0, "all columns stand in line");
    tap_is_int(longer, 0, "all lines are equally long");
}

static void tables(void)
{
    static const int with_gpu[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const struct gpu_ranks peers = {11, with_gpu}, nobody = {0, NULL};
    struct node node;
    struct job job;
    struct plan plan;
    struct text text = {0};

    make(&node, &job, &plan);
    render_table(&node, &plan, &peers, &text);
    table_is_aligned(text.bytes);
    tap_ok(strncmp(text.bytes, "node drawn: 12 ranks, 4 GPUs, plan ", 35) == 0, "title");
    tap_ok(!strstr(text.bytes, "NIC"), "no NIC, no column");
    tap_ok(strstr(text.bytes, "master"), "the master is called so");
    text_clear(&text);
    render_table(&node, &plan, &nobody, &text);
    tap_ok(!strstr(text.bytes, "north"), "no neighbours known, no columns");
    text_clear(&text);
    plan_clear(&plan);
    job_clear(&job);
    node_clear(&node);
}

static void json_of_a_plan(void)
{
    static const int with_gpu[] = {1, 3};
    const struct gpu_ranks peers = {2, with_gpu};
    struct node node;
    struct job job;
    struct plan plan;
    struct text text = {0};

    make(&node, &job, &plan);
    snprintf(node.name, sizeof node.name, "a\"b");
    render_json(&node, &plan, &peers, &text);
    tap_ok(strncmp(text.bytes, "{\"node\":\"a\\\"b\",\"plan\":\"", 23) == 0, "a node's odd name");
    tap_ok(strchr(text.bytes, '\n') == text.bytes + text.length - 1, "one node, one line");
    tap_ok(
        strstr(text.bytes, "{\"rank\":0,\"local\":0,\"role\":\"master\",\"gpus\":[],\"cpus\":\""),
        "a master has an empty list of GPUs");
    tap_ok(strstr(text.bytes, "{\"index\":2,\"pci\":\"0000:12:00.0\",\"uuid\":null}"),
           "a UUID that is not known is null");
    tap_ok(strstr(text.bytes, "\"nic\":null,\"north\":null,\"south\":3}"), "first neighbour");
    tap_ok(strstr(text.bytes, "\"north\":1,\"south\":null}"), "last neighbour");
    text_clear(&text);
    plan_clear(&plan);
    job_clear(&job);
    node_clear(&node);
}

int main(void)
{
    escapes();
    grows();
    tables();
    json_of_a_plan();
    return tap_done();
}
