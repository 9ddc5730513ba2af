/* What a process of the same user said need not be what a rank of this build says. */
#include <string.h>

#include "host/launch/placement.h"

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* A bool with another value must not even be read as one. */
static bool is_bool(const bool *flag)
{
    return *(const unsigned char *)flag <= 1;
}

static bool has_good_texts(const struct facts *facts)
{
    for (int which = 0; which < VISIBLE_VARIABLES; which++)
        if (!is_text(facts->visible[which], sizeof facts->visible[which]) ||
            !is_bool(&facts->has_visible[which]))
            return false;
    return is_text(facts->made_gpus, sizeof facts->made_gpus) &&
           is_text(facts->failure, sizeof facts->failure) &&
           is_text(facts->unknown, sizeof facts->unknown);
}

static bool has_good_prefs(const struct prefs *prefs)
{
    return (unsigned)prefs->visible <= VISIBLE_ALL && (unsigned)prefs->ids <= IDS_INDEX &&
           (unsigned)prefs->nic <= NIC_NONE && is_bool(&prefs->omp) &&
           is_bool(&prefs->ze.composite) && is_bool(&prefs->ze.by_pci);
}

int facts_check(const void *bytes, size_t size, struct gpubind_error *err)
{
    const struct facts *facts = bytes;

    if (size != sizeof *facts || !is_text(facts->version, sizeof facts->version) ||
        strcmp(facts->version, PACKAGE_VERSION) != 0)
        return error_set(err, "the ranks of this node run different versions of gpubind");
    if (facts->rank < 0 || facts->local < 0 || (unsigned)facts->wish > BINDING_UNKNOWN ||
        !is_bool(&facts->unnumbered) || !is_bool(&facts->report) || !is_bool(&facts->verbose) ||
        !is_bool(&facts->mps) || !is_bool(&facts->has_memory_policy) || !is_bool(&facts->made) ||
        !is_bool(&facts->made_master) || !has_good_prefs(&facts->prefs) || !has_good_texts(facts))
        return error_set(err, "a process of this node says what no rank can have said");
    return 0;
}
