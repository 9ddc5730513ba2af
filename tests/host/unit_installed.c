/* Where a gpubind finds its parts whose prefix was moved, and whose libdir is not lib. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/sys/installed.h"
#include "tests/tap.h"

static void shell(const char *command)
{
    if (system(command) != 0)
        tap_ok(false, "%s", command);
}

/* What a copy of this program finds that lies in the prefix. */
static const char *found(const char *copy)
{
    static char path[PATH_MAX];
    FILE *said = popen(copy, "r");

    if (!said || !fgets(path, sizeof path, said))
        path[0] = '\0';
    if (said)
        pclose(said);
    path[strcspn(path, "\n")] = '\0';
    return path;
}

int main(int argc, char **argv)
{
    static const struct installed_file part = {"src/part.so", "gpubind/part.so"};
    char path[PATH_MAX], prefix[] = "/tmp/gpubind_test.XXXXXX";

    (void)argv;
    if (argc > 1) {
        puts(installed_find(&part, path) ? path : "nothing");
        return 0;
    }
    if (!mkdtemp(prefix) || chdir(prefix) < 0)
        return 1;
    shell("mkdir -p bin lib/gpubind lib/of-machine/gpubind/pmix && : >lib/gpubind/part.so && "
          "cp /proc/$PPID/exe bin/copy && cp bin/copy lib/of-machine/gpubind/pmix");
    tap_is(found("bin/copy find"), "nothing", "what lies elsewhere is no part of it");
    shell(": >lib/of-machine/gpubind/part.so");
    tap_is(found("realpath $(bin/copy find) | sed 's|.*/lib/|lib/|'"),
           "lib/of-machine/gpubind/part.so", "from bin");
    tap_is(found("realpath $(lib/of-machine/gpubind/pmix/copy find) | sed 's|.*/lib/|lib/|'"),
           "lib/of-machine/gpubind/part.so", "from the folder of the plugin");
    shell("rm -r bin lib");
    rmdir(prefix);
    return tap_done();
}
