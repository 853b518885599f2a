// `--papers` in a build without CUDA.
#include <stdio.h>

#include "bench_papers.h"

int psv_bench_papers(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fprintf(stderr, "bench_sort: --papers compares CUDA methods; this build has none\n");
    return 2;
}
