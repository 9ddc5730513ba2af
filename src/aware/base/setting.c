#include "aware/base/setting.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/number.h"

bool setting_mib(const char *name, int most, _Atomic int *known, size_t *nbytes)
{
    int mib = atomic_load_explicit(known, memory_order_relaxed);
    const char *asked;
    struct gpubind_error err;

    if (mib == SETTING_UNKNOWN) {
        asked = getenv(name);
        mib = -1;
        if (asked && *asked && number_parse(asked, 0, most, name, &mib, &err) < 0)
            fprintf(stderr, "gpubind: %s\n", err.text);
        atomic_store(known, mib);
    }
    if (mib >= 0)
        *nbytes = (size_t)mib << 20;
    return mib >= 0;
}

bool setting_switch(const char *name, bool fallback, _Atomic int *known)
{
    int on = atomic_load_explicit(known, memory_order_relaxed);
    const char *asked;
    struct gpubind_error err;

    if (on == SETTING_UNKNOWN) {
        asked = getenv(name);
        on = fallback;
        if (asked && *asked && switch_parse(asked, name, &on, &err) < 0)
            fprintf(stderr, "gpubind: %s\n", err.text);
        atomic_store(known, on);
    }
    return on;
}
