#include "aware/coll_ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct coll_ways coll_ways(void)
{
    static const struct {
        const char *name;
        struct coll_ways ways;
    } known[] = {
        {"auto", {true, true, false}},
        {"staged", {false, false, false}},
        {"messages", {true, false, false}},
        {"nccl", {true, true, true}},
    };
    static bool told;
    const char *asked = getenv("GPUBIND_COLLECTIVES");

    for (size_t i = 0; asked && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(asked, known[i].name) == 0)
            return known[i].ways;
    if (asked && !told)
        fprintf(stderr,
                "gpubind: GPUBIND_COLLECTIVES is auto, staged, messages or nccl, not \"%s\"; taken "
                "as auto\n",
                asked);
    told = told || asked;
    return known[0].ways;
}
