// The comparisons of the papers' figures, `bench_sort --papers`.
#ifndef BENCH_PAPERS_H
#define BENCH_PAPERS_H

// argv[0] is "--papers". Returns the program's exit code.
int psv_bench_papers(int argc, char **argv);

#endif
