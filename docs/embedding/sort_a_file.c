// More pairs than the memory that a sort may take: a file of records, a key with a value each, sorted to another file.
// The result gets its name when it is complete, so a program that is ended in between leaves no half file.
#include <inttypes.h>
#include <pairsieve/stream_sort.h>
#include <stdio.h>

#define RECORDS 300000u

typedef struct record {
    uint32_t key, item;
} record;

int main(void) {
    psv_context_def context_def = psv_default_context_def();
    psv_context *context = NULL;
    context_def.backend = PSV_BACKEND_CPU;
    if (psv_create_context(&context_def, &context) != PSV_OK) return printf("%s\n", psv_last_error(NULL));
    FILE *file = fopen("unsorted.bin", "wb");
    for (uint32_t i = 0; file != NULL && i < RECORDS; ++i) {
        const record next = {i * 7919u % RECORDS, i};
        if (fwrite(&next, sizeof next, 1, file) != 1) return 1;
    }
    if (file == NULL || fclose(file) != 0) return 1;

    psv_stream_def def = psv_default_stream_def();
    psv_stream_result result;
    def.key_type = PSV_KEY_U32;
    def.memory_bytes = 1 << 20; // less than half of the records
    if (psv_sort_file(context, &def, "unsorted.bin", "sorted.bin", &result) != PSV_OK)
        return printf("%s\n", psv_last_error(context));

    bool right = result.count == RECORDS && result.runs > 1;
    record here, last = {0, 0};
    file = fopen("sorted.bin", "rb");
    while (file != NULL && fread(&here, sizeof here, 1, file) == 1) {
        right = right && here.key >= last.key;
        last = here;
    }
    if (file == NULL || fclose(file) != 0) return 1;
    printf("%" PRIu64 " records in %" PRIu64 " runs, the largest key is %u\n", result.count, result.runs, last.key);
    (void)remove("unsorted.bin");
    (void)remove("sorted.bin");
    psv_destroy_context(context);
    return right ? 0 : 1;
}
