/* The table of environment variables, and what is said of one that is not in it. */
#include "core/base/variables.h"
#include "host/launch/options.h"
#include "tests/tap.h"

/* What is said of these variables. */
static void said(const char *const *env, const char *wanted, const char *what)
{
    struct text text = {0};

    variables_note_unknown((char *const *)env, "|", &text);
    tap_is(text.bytes ? text.bytes : "", wanted, what);
    text_clear(&text);
}

static void said_of(const char *entry, const char *similar)
{
    const char *const env[] = {entry, NULL};
    char wanted[200];
    int name = (int)strcspn(entry, "=");

    if (similar)
        snprintf(wanted, sizeof wanted, "%.*s is no variable of gpubind; the nearest one is %s|",
                 name, entry, similar);
    else
        snprintf(wanted, sizeof wanted, "%.*s is no variable of gpubind, and none is like it|",
                 name, entry);
    said(env, wanted, entry);
}

static void test_table(void)
{
    static const char *const others[] = {"GPUBIND_ROLE",    "GPUBIND_OUTER_HIP_VISIBLE_DEVICES",
                                         "GPUBIND_RELAY",   "GPUBIND_RELAY_ENV_GPUBIND_MAP",
                                         "GPUBIND_SIM_JOB", "GPUBIND_TEST_GPU",
                                         "GPUBIND_ROOT"};

    for (int i = 0; i < option_table.nrows; i++) {
        char name[64];

        option_variable(&option_table.rows[i], name, sizeof name);
        if (option_table.rows[i].kind != OPTION_ACTION)
            tap_ok(variables_known(name), "%s of an option is known", name);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        tap_ok(variables_known(others[i]), "%s is known", others[i]);
    tap_ok(!variables_known("GPUBIND_") && !variables_known("GPUBIND") &&
               !variables_known("GPUBIND_SIM") && !variables_known("GPUBIND_ROLES"),
           "what only begins so is not");
}

static void test_nearest(void)
{
    said_of("GPUBIND_OVERFLO=idle", "GPUBIND_OVERFLOW");
    said_of("GPUBIND_OVREFLOW=idle", "GPUBIND_OVERFLOW");
    said_of("GPUBIND_overflow=idle", "GPUBIND_OVERFLOW");
    said_of("GPUBIND_MASTERS=0", "GPUBIND_MASTER");
    said_of("GPUBIND_GPU_PER_RANK=2", "GPUBIND_GPUS_PER_RANK");
    said_of("GPUBIND_PROGRESS_THREADS=1", "GPUBIND_PROGRESS_THREAD");
    said_of("GPUBIND_EAGERNESS=1", "GPUBIND_EAGER");
    said_of("GPUBIND_BIN=none", "GPUBIND_BIND");
    said_of("GPUBIND_XYZZY=1", NULL);
    said_of("GPUBIND_=1", NULL);
}

static void test_environment(void)
{
    const char *env[] = {"PATH=/bin",      "GPUBIND=off",   "GPUBINDING=1",
                         "GPUBIND_EMPTY=", "NOTHING",       "GPUBIND_ROLE=queen",
                         "GPUBIND_MAPP=0", "GPUBIND_MAQ=1", NULL};
    const char *const placed[] = {"GPUBIND_MAPP=0", "GPUBIND_PLAN=0123", NULL};
    const char *const lines[] = {"GPUBIND_A\nB=1", NULL};
    const char *long_one[2] = {NULL, NULL};
    char longest[5000] = "GPUBIND_";
    struct text text = {0};

    said(env,
         "GPUBIND_MAPP is no variable of gpubind; the nearest one is GPUBIND_MAP|"
         "GPUBIND_MAQ is no variable of gpubind; the nearest one is GPUBIND_MAP|",
         "each once; none that is empty, known, or of somebody else");
    said(placed, "", "a launcher or plugin above has said it");
    said(NULL, "", "no environment at all");
    said(lines, "GPUBIND_A?B is no variable of gpubind, and none is like it|",
         "a name cannot begin another line");
    memset(longest + 8, 'A', sizeof longest - 12);
    strcat(longest, "=1");
    long_one[0] = longest;
    variables_note_unknown((char *const *)long_one, "|", &text);
    tap_ok(text.length > 60 && text.length < 160, "a long name is cut");
    text_clear(&text);
}

int main(void)
{
    test_table();
    test_nearest();
    test_environment();
    return tap_done();
}
