/* A report as one HTML page, with its tables and pictures inside. Pure. */
#ifndef GPUBIND_BIN_BENCH_PAGE_H
#define GPUBIND_BIN_BENCH_PAGE_H

#include "bin/bench_sheet.h"

struct page_section {
    const char *title, *about;
    const char *absent; /* why nothing was measured, or NULL */
    const struct sheet *sheet;
};

struct page {
    const char *version, *date;
    const struct sheet *verdicts; /* its machine's lines say what was measured on */
    const struct page_section *sections;
    int nsections;
};

void page_render(const struct page *page, struct text *text);

#endif
