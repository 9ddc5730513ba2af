#ifndef JACOBI_OPTIONS_H
#define JACOBI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

struct options {
    int version;       /* number in versions[]; -1: all */
    int rows, columns; /* of the grid, or of a rank's strip */
    bool per_gpu;
    int steps, warmup;
    int norm_every; /* steps; 0: never */
    bool doubles, periodic, check, no_exchange, graph, csv, quiet, help;
    const char *timeline; /* file, or NULL */
    const char *compute;  /* auto, gpu or host */
    int march;            /* rows that a warp of the kernel goes down; 0: chosen */
};

/* 0, or -1 with a sentence in text, of size bytes. */
int options_read(struct options *options, int argc, char **argv, char *text, size_t size);
void options_help(FILE *to);

#endif
