/* A report as one HTML page, with its tables and pictures inside. Pure. */
#ifndef GPUBIND_BENCH_MAIN_HTML_PAGE_H
#define GPUBIND_BENCH_MAIN_HTML_PAGE_H

#include "bench/output/table.h"

struct page_section {
    const char *subcommand, *title;
    const char *about;  /* a sentence: what is measured */
    const char *absent; /* why nothing was measured, or NULL */
    const struct table *table; /* not looked at where absent */
};

struct page {
    const char *version, *date;
    const struct table *roofline; /* of roofline_schema; its machine is that of the page */
    const struct page_section *sections;
    int nsections;
};

void page_render(const struct page *page, struct text *text);

#endif
