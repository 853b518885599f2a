// bench_sort --papers: the comparisons of the three papers' figures on today's card.
#ifndef PAIRSIEVE_BENCH_PAPERS_H
#define PAIRSIEVE_BENCH_PAPERS_H

// Options: --csv FILE, --max-count N (default 16777216), --runs N (default 11), --no-cpu (leave out quicksort).
// Returns the exit status: 77 with no CUDA device.
int psv_bench_papers(int argc, char **argv);

#endif
