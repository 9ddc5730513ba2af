/* Does src/host/pmix/pmix_api.h say what pmix.h says? The compiler decides; the program only
 * reports that it was built. */
#include <pmix.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "host/pmix/pmix_api.h"

_Static_assert(sizeof(struct pmix_name) == sizeof(pmix_proc_t), "pmix_name");
_Static_assert(offsetof(struct pmix_name, rank) == offsetof(pmix_proc_t, rank), "rank");
_Static_assert(sizeof(struct pmix_datum) == sizeof(pmix_value_t), "pmix_datum");
_Static_assert(offsetof(struct pmix_datum, data) == offsetof(pmix_value_t, data), "data");
_Static_assert(sizeof(((struct pmix_datum *)0)->type) == sizeof(pmix_data_type_t), "type");
_Static_assert(offsetof(struct pmix_datum, data.object.size) ==
                   offsetof(pmix_value_t, data.bo.size),
               "object.size");
_Static_assert(sizeof(struct pmix_attribute) == sizeof(pmix_info_t), "pmix_attribute");
_Static_assert(offsetof(struct pmix_attribute, flags) == offsetof(pmix_info_t, flags), "flags");
_Static_assert(offsetof(struct pmix_attribute, value) == offsetof(pmix_info_t, value), "value");
_Static_assert((int)PMIX_TYPE_BOOL == PMIX_BOOL && (int)PMIX_TYPE_STRING == PMIX_STRING &&
                   (int)PMIX_TYPE_UINT16 == PMIX_UINT16 && (int)PMIX_TYPE_UINT32 == PMIX_UINT32 &&
                   (int)PMIX_TYPE_OBJECT == PMIX_BYTE_OBJECT,
               "types");
_Static_assert((int)PMIX_FOR_ALL == PMIX_GLOBAL && (int)PMIX_OK == PMIX_SUCCESS &&
                   (int)PMIX_DONE_AT_ONCE == PMIX_OPERATION_SUCCEEDED,
               "PMIX_FOR_ALL");
_Static_assert(PMIX_WHOLE_JOB == (PMIX_RANK_WILDCARD), "PMIX_WHOLE_JOB");
_Static_assert(sizeof(pmix_scope_t) == sizeof(uint8_t), "scope");

/* Each call has the arguments of PMIX_FUNCTIONS; sizeof evaluates nothing. */
#define CALLS(call) _Static_assert(sizeof(call) == sizeof(int), #call)
CALLS(PMIx_Init((pmix_proc_t *)0, (pmix_info_t *)0, (size_t)0));
CALLS(PMIx_Finalize((const pmix_info_t *)0, (size_t)0));
CALLS(PMIx_Put((pmix_scope_t)0, "", (pmix_value_t *)0));
CALLS(PMIx_Commit());
CALLS(PMIx_Fence_nb((const pmix_proc_t *)0, (size_t)0, (const pmix_info_t *)0, (size_t)0,
                    (pmix_op_cbfunc_t)0, (void *)0));
CALLS(PMIx_Get((const pmix_proc_t *)0, "", (const pmix_info_t *)0, (size_t)0, (pmix_value_t **)0));

static const struct {
    const char *ours, *theirs;
} keys[] = {{PMIX_KEY_SIZE, PMIX_JOB_SIZE},
            {PMIX_KEY_HOSTNAME, PMIX_HOSTNAME},
            {PMIX_KEY_OPTIONAL, PMIX_OPTIONAL},
            {PMIX_KEY_COLLECT, PMIX_COLLECT_DATA}};

int main(void)
{
    int same = 1;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        same &= strcmp(keys[i].ours, keys[i].theirs) == 0;
    printf("1..2\nok 1 - PMIx's entry points are declared as in pmix.h\n%sok 2 - and the keys\n",
           same ? "" : "not ");
    return !same;
}
