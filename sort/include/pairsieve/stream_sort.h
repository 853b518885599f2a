// pairsieve sort: more pairs than fit in memory, from a file or from host memory, on any backend, stable.
//
// The input is read in runs that fit. Each run is sorted by a sorter of the context and put aside: in temporary files
// beside the output, or in place in host memory. Then the runs are merged, a window of each at a time. All pairs below
// the least key that some run may still follow with are sorted once more, stably in the order of the runs, and written.
// So each pair is sorted twice, and the merge runs on the device too. This is a form of external merge sort (Knuth, The
// Art of Computer Programming, volume 3, 5.4).
//
// On CUDA a sort of host memory has three runs on their way at once: one goes to the device, one is sorted, one comes
// back. Page-locked arrays (cudaHostAlloc, cudaHostRegister) then go as fast as the bus; of other arrays the driver
// makes copies first. psv_stream_progress may be three parts ahead there.
//
// A file has records without gaps: a key of def.key_type, then a value of def.value_bytes, in the machine's byte order.
// The output gets its name when it is complete and on the disk; until then a file of that name keeps its content.
// Temporary files have no name while they are used; on Windows they are removed at the end. So a process that is killed
// leaves only the output's unfinished part, «.pairsieve-...part» in its folder. With def.restart they have names, and a
// later call goes on behind the runs that were finished.
#ifndef PAIRSIEVE_STREAM_SORT_H
#define PAIRSIEVE_STREAM_SORT_H

#include "pairsieve/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

// How far a sort has come; pairs count once when their run is sorted and once when they are merged.
typedef struct psv_stream_progress {
    uint64_t done;
    uint64_t total; // 0: not known, the input is a pipe
    bool merging;
} psv_stream_progress;

typedef struct psv_stream_def {
    uint32_t cookie;           // set by psv_default_stream_def
    const char *method;        // sorter of the runs; default "radix"
    psv_key_type key_type;     // default PSV_KEY_U32
    uint32_t value_bytes;      // 0 (keys only), 4 (default) or 8
    bool descending;           // default false
    psv_nan_policy nan_policy; // default PSV_NAN_LAST
    uint64_t memory_bytes;     // most memory of host and device together, default 1 GiB; host arrays are not counted
    bool check;   // a checksum over the input's pairs is compared with the output's, and its order is checked (host
                  // memory on CUDA: on the device); default true
    bool restart; // psv_sort_file: finished runs outlive the process as «.pairsieve-OUTPUT.list», .keys and .values
                  // beside the output. A later call with the same input (device, number, size and time of change),
                  // order, sizes and check takes over those whose checksums hold; all else begins anew. They go when
                  // the output is there. Each run is flushed to the disk. Default false
    void (*progress)(void *user, const psv_stream_progress *progress); // after each part; NULL (default): none
    void *user;
} psv_stream_def;

psv_stream_def psv_default_stream_def(void);

typedef struct psv_stream_result {
    uint64_t count;     // pairs
    uint64_t runs;      // that were put aside; 0: all pairs fitted at once
    uint64_t rounds;    // of the merge
    uint64_t kept_runs; // of `runs`, that an earlier call with def.restart had finished
    uint64_t checksum;  // of all pairs in any order; 0 without def.check
} psv_stream_result;

// Sorts the records of `input` to `output`, which may be the same file. result may be NULL. Blocks.
// Errors: PSV_ERROR_ARGUMENT (a field out of range), PSV_ERROR_UNSUPPORTED (the method), PSV_ERROR_FILE (a file cannot
// be opened, read or written; no room on the disk), PSV_ERROR_FORMAT (the input's last record is not complete),
// PSV_ERROR_CAPACITY (def.memory_bytes is too small for the count; the sentence says what helps), PSV_ERROR_MEMORY,
// PSV_ERROR_DEVICE, PSV_ERROR_INTERNAL (the check failed). With def.restart also PSV_ERROR_UNSUPPORTED (input or output
// is no plain file; Windows) and PSV_ERROR_FILE (another process sorts to the same output). After an error the output
// is as it was.
psv_status psv_sort_file(psv_context *context, const psv_stream_def *def, const char *input, const char *output,
                         psv_stream_result *result);

// The same from host memory to host memory, for contexts whose memory does not hold the pairs. keys and values: `count`
// keys and values of the def's sizes; they hold sorted runs afterwards. sorted_keys and sorted_values get the result
// and must not overlap the input. values and sorted_values are NULL for def.value_bytes 0. Blocks. Errors: as above
// without those of files; sorted_keys and sorted_values are undefined then.
psv_status psv_sort_host(psv_context *context, const psv_stream_def *def, void *keys, void *values, uint64_t count,
                         void *sorted_keys, void *sorted_values, psv_stream_result *result);

#ifdef __cplusplus
}
#endif
#endif
