/* One report for several nodes: names, who says the same, what differs, bytes that are not what
 * doctor_pack makes. */
#include <stdlib.h>

#include "core/doctor/doctor_nodes.h"
#include "tests/tap.h"

#define MOST 8

static struct text packed[MOST];
static struct doctor_message messages[MOST];
static int nnodes;

static void names(const char *wanted, int n, const char **list)
{
    struct text text = {0};

    doctor_node_names(list, n, &text);
    tap_is(text.bytes ? text.bytes : "", wanted, wanted);
    text_clear(&text);
}
#define NAMES(wanted, ...)                                                     \
    names(wanted, (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *)), \
          (const char *[]){__VA_ARGS__})

static void folds_names(void)
{
    NAMES("n1", "n1");
    NAMES("n1,n2", "n2", "n1");
    NAMES("n1-n3", "n3", "n1", "n2");
    NAMES("n1-n3,n5,n8-n11", "n10", "n3", "n11", "n1", "n9", "n5", "n2", "n8");
    NAMES("n08-n11", "n08", "n09", "n10", "n11");
    NAMES("n1,n02,n3", "n1", "n02", "n3");
    NAMES("a1.x-a3.x,b4.x", "a1.x", "b4.x", "a2.x", "a3.x");
    NAMES("a1.x,a2.y", "a1.x", "a2.y");
    NAMES("gpu-2-ib,gpu-3-ib", "gpu-3-ib", "gpu-2-ib");
    NAMES("login,n1", "n1", "login");
    NAMES("9,10", "10", "9");
    NAMES("a,a", "a", "a");
    NAMES("r1n9,r2n10", "r2n10", "r1n9");
}

/* Adds a node with an NVIDIA GPU, changed by what is not 0. */
static void add_node(const char *name, long long shm_mib, const char *driver, long long free_mib,
                     const char *error)
{
    struct doctor_facts *facts = calloc(1, sizeof *facts);
    struct doctor_report *report = calloc(1, sizeof *report);
    struct doctor_gpu *gpu;

    doctor_facts_init(facts);
    snprintf(facts->node, sizeof facts->node, "%s", name);
    snprintf(facts->version, sizeof facts->version, "%s", PACKAGE_VERSION);
    strcpy(facts->launcher, "openmpi");
    snprintf(facts->driver_version, sizeof facts->driver_version, "%s", driver);
    facts->driver_loaded = true;
    gpu = doctor_facts_gpu(facts, "0000:10:00.0");
    snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-of-%s", name);
    snprintf(facts->shm_type, sizeof facts->shm_type, "tmpfs");
    facts->shm_bytes = shm_mib << 20;
    facts->shm_free = free_mib << 20;
    doctor_judge(facts, report);
    text_clear(&packed[nnodes]);
    doctor_pack(facts, error ? NULL : report, error, &packed[nnodes]);
    messages[nnodes] = (struct doctor_message){packed[nnodes].bytes, packed[nnodes].length};
    nnodes++;
    doctor_clear(report);
    free(report);
    free(facts);
}

static struct text text;
static int worst;

static int render(bool all, bool json)
{
    struct gpubind_error err = {""};
    int status;

    text_clear(&text);
    status = doctor_render_nodes(messages, nnodes, all, json, &text, &worst, &err);
    tap_diag("%d %s", status, err.text);
    return status;
}

static bool has(const char *part)
{
    return text.bytes && strstr(text.bytes, part);
}

static int count(const char *part)
{
    int n = 0;

    for (const char *at = text.bytes; at && (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void groups_nodes(void)
{
    nnodes = 0;
    add_node("n1", 2048, "580.1", 1000, NULL);
    add_node("n2", 2048, "580.1", 1234, NULL);
    add_node("n3", 2048, "580.1", 1000, NULL);
    tap_is_int(render(false, false), 0, "three that say the same");
    tap_ok(has("nodes n1-n3 (3): ") && count("\nlooked at and fine") == 1 && !has("differ"),
           "are told once, whatever the evidence");
    tap_is_int(count("See gpubind-doctor(7)"), 1, "with one last line");
    add_node("n8", 64, "580.1", 60, NULL);
    tap_is_int(render(false, false), 0, "one that differs");
    tap_ok(has("nodes n1-n3 (3): ") && has("\nnode n8 differs: ") &&
               has("breaks: shm: /dev/shm holds"),
           "is named, with what differs");
    tap_ok(!strstr(strstr(text.bytes, "n8 differs"), "hidden-gpus"), "and with nothing else");
    tap_is_int(worst, 1, "the worst counts");
    add_node("n9", 64, "580.1", 60, NULL);
    add_node("n7", 2048, "575.2", 1000, NULL);
    render(true, false);
    tap_ok(has("\nnodes n8,n9 (2) differ: ") && has("\nnode n7 differs: ") && has("driver 575.2"),
           "another driver alone is a difference");
    tap_ok(has("fine: shm: /dev/shm\n"), "--verbose tells each check");
}

static void groups_other_way(void)
{
    nnodes = 0;
    add_node("n1", 64, "580.1", 60, NULL);
    add_node("n2", 2048, "580.1", 1000, NULL);
    add_node("n3", 2048, "580.1", 1000, NULL);
    add_node("n4", 0, "", 0, "this machine's files cannot be read: no answer within 20 seconds");
    tap_is_int(render(false, false), 0, "the first node differs, the last cannot tell");
    tap_ok(has("nodes n2,n3 (2): ") && has("\nnode n1 differs: "), "the largest group comes first");
    tap_ok(has("\nnode n4 could not be looked at: this machine's files"),
           "who cannot tell is named");
    tap_is_int(worst, 2, "and is the worst");
    tap_is_int(render(false, true), 0, "JSON");
    tap_is_int(count("\n"), 3, "has a line for each group");
    tap_ok(has("{\"node\":\"n2\",\"nodes\":[\"n2\",\"n3\"],") && has("\"uuid\":\"GPU-of-n2\"") &&
               has("{\"node\":\"n4\",\"nodes\":[\"n4\"],\"version\":\"" PACKAGE_VERSION
                   "\",\"error\":\"this machine's files"),
           "which names its nodes");
    nnodes = 0;
    add_node("n1", 0, "", 0, "why");
    tap_is_int(render(false, false), 0, "nobody can tell");
    tap_ok(has("node n1 could not be looked at: why\n"), "which is said");
    nnodes = 0;
    add_node("n1", 2048, "580.1", 1000, NULL);
    tap_ok(render(false, false) == 0 && has("node n1: "), "one node");
}

/* Any beginning of a message, and any byte changed, is refused or rendered. */
static void meets_ruins(void)
{
    int refused = 0;
    size_t length;

    nnodes = 0;
    add_node("n1", 64, "580.1", 60, NULL);
    length = packed[0].length;
    for (size_t size = 0; size < length; size++) {
        struct gpubind_error err;
        char *bytes = malloc(size + 1); /* so that reading beyond it shows */

        memcpy(bytes, packed[0].bytes, size);
        messages[0] = (struct doctor_message){bytes, size};
        text_clear(&text);
        refused += doctor_render_nodes(messages, 1, false, false, &text, &worst, &err) < 0;
        free(bytes);
    }
    tap_is_int(refused, (long)length, "every beginning of a message is refused");
    for (size_t at = 0; at < length; at++) {
        struct gpubind_error err;
        char before = packed[0].bytes[at];

        packed[0].bytes[at] = before ? '\0' : '9';
        messages[0] = (struct doctor_message){packed[0].bytes, length};
        text_clear(&text);
        doctor_render_nodes(messages, 1, true, at % 2, &text, &worst, &err);
        packed[0].bytes[at] = before;
    }
    tap_ok(true, "a changed byte does no harm");
    messages[0] = (struct doctor_message){"gpubind-doctor\0"
                                          "0.0.0\0n1\0",
                                          24};
    tap_ok(render(false, false) < 0, "another version is refused");
}

int main(void)
{
    folds_names();
    groups_nodes();
    groups_other_way();
    meets_ruins();
    for (int i = 0; i < MOST; i++)
        text_clear(&packed[i]);
    text_clear(&text);
    return tap_done();
}
