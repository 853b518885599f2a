// What a sort's kernels know in common, in the state block.
#define UNSORTED 0u // word: not 0 when the input is not known to be in order: then there is work to do
#define COUNT 1u    // word: how many elements
