// The self-check of pairs on the CPU, see ../src/pair_check.h.
#include "../src/pair_check.h"
#include "cpu_boxes.h"

#define BOX_GRAIN 4096u
#define PAIR_GRAIN 16384u

typedef struct check_job {
    const psvi_check_input *input;
    bool second; // boxes of set b
} check_job;

// Sums of a range of boxes or pairs, of each sample.
typedef struct check_sums {
    uint64_t count[PSV_MOST_SAMPLES], sum[PSV_MOST_SAMPLES];
} check_sums;

static void choose_samples(const psvi_check_input *input) {
    psvi_check_memory *memory = input->memory;
    memset(memory, 0, sizeof *memory);
    for (uint32_t s = 0; s < input->samples; ++s) {
        psvi_sample *sample = &memory->samples[s];
        *sample = psvi_choose_sample(input, s, input->a.count, input->rules.between ? input->b.count : 0);
        const uint32_t bit = psvi_name_bit(sample->name);
        memory->names[sample->second][bit / 32] |= 1u << bit % 32;
    }
}

static psv_pair pair_of(uint64_t key) { return (psv_pair){(uint32_t)(key >> 32), (uint32_t)key}; }

static void append(psv_pair *list, uint64_t room, uint64_t *count, psv_pair pair) {
    const uint64_t at = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    if (at < room) list[at] = pair;
}

static void add_sums(const check_sums *sums, psvi_sample *samples, uint32_t count, bool listed) {
    for (uint32_t s = 0; s < count; ++s) {
        if (sums->count[s] == 0) continue;
        uint64_t *number = listed ? &samples[s].listed : &samples[s].found;
        uint64_t *sum = listed ? &samples[s].listed_sum : &samples[s].found_sum;
        __atomic_fetch_add(number, sums->count[s], __ATOMIC_RELAXED);
        __atomic_fetch_add(sum, sums->sum[s], __ATOMIC_RELAXED);
    }
}

static void test_boxes(void *data, uint64_t first, uint64_t end) {
    const check_job *job = data;
    const psvi_check_input *input = job->input;
    psvi_check_memory *memory = input->memory;
    check_sums sums = {{0}, {0}};
    for (uint64_t place = first; place < end; ++place) {
        double min[3], max[3];
        uint64_t key;
        if (!psvi_read_corners(input, job->second, place, min, max)) continue;
        for (uint32_t s = 0; s < input->samples; ++s) {
            const psvi_sample *sample = &memory->samples[s];
            if (!psvi_sample_pairs(input, sample, job->second, place, min, max, &key)) continue;
            ++sums.count[s];
            sums.sum[s] += psvi_mix_bits(key);
            if (input->found != NULL && sample->differs != 0)
                append(input->found, input->found_room, &memory->found, pair_of(key));
        }
    }
    if (input->found == NULL) add_sums(&sums, memory->samples, input->samples, false);
}

static void read_pairs(void *data, uint64_t first, uint64_t end) {
    const psvi_check_input *input = ((const check_job *)data)->input;
    psvi_check_memory *memory = input->memory;
    check_sums sums = {{0}, {0}};
    for (uint64_t p = first; p < end; ++p) {
        const psv_pair pair = input->pairs[p];
        bool differs = false;
        if (!psvi_may_name_sample(input, memory->names[0], memory->names[1], pair)) continue;
        for (uint32_t s = 0; s < input->samples; ++s) {
            if (!psvi_names_sample(input, &memory->samples[s], pair)) continue;
            ++sums.count[s];
            sums.sum[s] += psvi_mix_bits(psvi_pair_key(pair.a, pair.b));
            differs = differs || memory->samples[s].differs != 0;
        }
        if (differs && input->found != NULL) append(input->listed, input->listed_room, &memory->listed, pair);
    }
    if (input->found == NULL) add_sums(&sums, memory->samples, input->samples, true);
}

psv_status psvi_check_pairs_cpu(psv_context *context, const psvi_check_input *input) {
    check_job job = {input, false};
    if (input->found == NULL) choose_samples(input);
    psvi_run_ranges(context, input->a.count, BOX_GRAIN, test_boxes, &job);
    if (input->rules.between) {
        job.second = true;
        psvi_run_ranges(context, input->b.count, BOX_GRAIN, test_boxes, &job);
    }
    psvi_run_ranges(context, *input->pair_count, PAIR_GRAIN, read_pairs, &job);
    return PSV_OK;
}
