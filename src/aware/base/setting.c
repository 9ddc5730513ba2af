#include "aware/base/setting.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/number.h"

size_t setting_mib(const char *name, int most, int preset, _Atomic int *known)
{
    int mib = atomic_load_explicit(known, memory_order_relaxed);
    const char *asked;
    struct gpubind_error err;

    if (mib < 0) {
        asked = getenv(name);
        mib = preset;
        if (asked && *asked && number_parse(asked, 0, most, name, &mib, &err) < 0)
            fprintf(stderr, "gpubind: %s\n", err.text);
        atomic_store(known, mib);
    }
    return (size_t)mib << 20;
}
