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
    shell(
        "mkdir -m 1777 -p open/bin open/lib && cp bin/copy open/bin && ln -s $PWD/lib/of-machine open/lib");
    tap_is(found("realpath $(open/bin/copy find) | sed 's|.*/lib/|lib/|'"),
           "lib/of-machine/gpubind/part.so", "below a folder that is open to others");
    /* Another user's link to the same, which may lead elsewhere when it is loaded. */
    if (system("chown -h 65533 open/lib/of-machine 2>/dev/null") == 0) {
        tap_is(found("open/bin/copy find"), "nothing", "by a link of another user's");
        shell("chown -h 0 open/lib/of-machine && chown 65533 open/lib");
        tap_is(found("open/bin/copy find"), "nothing", "in a folder of another user's");
        shell("chown 0 open/lib && chmod 777 open/lib");
        tap_is(found("open/bin/copy find"), "nothing", "in a folder that anybody can change");
    } else {
        tap_skip("what other users can change", "files cannot be given to others here");
    }
    shell("rm -r bin lib open");
    rmdir(prefix);
    return tap_done();
}
