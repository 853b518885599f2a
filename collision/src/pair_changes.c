// Lists of pairs that began and ended, in host memory.
#include "pair_changes.h"

psv_status psvi_sort_changes(psv_pair_finder *finder, psv_pair *list, uint64_t count) {
    if (count > 32)
        return finder->ops->order_pairs(finder->context, finder->memory.sorter, list, &count, count,
                                        finder->memory.order_scratch);
    for (uint64_t i = 1; i < count; ++i) {
        const psv_pair pair = list[i];
        uint64_t at = i;
        for (; at > 0 && psvi_key_of(list[at - 1]) > psvi_key_of(pair); --at)
            list[at] = list[at - 1];
        list[at] = pair;
    }
    return PSV_OK;
}

psv_status psvi_cancel_changes(psv_pair_finder *finder, psv_pair *begin, uint64_t *begins, psv_pair *end,
                               uint64_t *ends) {
    psv_status status = psvi_sort_changes(finder, begin, *begins);
    if (status == PSV_OK) status = psvi_sort_changes(finder, end, *ends);
    uint64_t b = 0, e = 0, kept_b = 0, kept_e = 0;
    while (status == PSV_OK && (b < *begins || e < *ends)) {
        const uint64_t x = b < *begins ? psvi_key_of(begin[b]) : UINT64_MAX,
                       y = e < *ends ? psvi_key_of(end[e]) : UINT64_MAX;
        if (x < y) begin[kept_b++] = begin[b];
        if (y < x) end[kept_e++] = end[e];
        b += x <= y;
        e += y <= x;
    }
    if (status == PSV_OK) *begins = kept_b, *ends = kept_e;
    return status;
}

// First place from `first` on whose pair is not below `key`.
static uint64_t place_of(const psv_pair *list, uint64_t first, uint64_t end, uint64_t key) {
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        if (psvi_key_of(list[middle]) < key)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

void psvi_change_pairs(psv_pair *list, uint64_t *count, const psv_pair *out, uint64_t outs, const psv_pair *in,
                       uint64_t ins) {
    uint64_t to = 0, from = 0;
    for (uint64_t i = 0; i <= outs; ++i) {
        const uint64_t at = i == outs ? *count : place_of(list, from, *count, psvi_key_of(out[i]));
        if (i == 0)
            to = at;
        else {
            memmove(list + to, list + from, (at - from) * sizeof *list);
            to += at - from;
        }
        from = at + 1;
    }
    *count = to;
    for (uint64_t i = ins, end = to; i > 0; --i) {
        const uint64_t at = place_of(list, 0, end, psvi_key_of(in[i - 1]));
        memmove(list + at + i, list + at, (end - at) * sizeof *list);
        list[at + i - 1] = in[i - 1];
        end = at;
    }
    *count = to + ins;
}

psv_status psvi_make_delta_lists(psv_pair_finder *finder) {
    psvi_mover_state *movers = &finder->movers;
    psvi_pair_memory *memory = &finder->memory;
    const psv_status status = psvi_cancel_changes(finder, memory->begin, &movers->begins, memory->end, &movers->ends);
    finder->event_counts[PSVI_EVENTS_BEGIN] = movers->begins;
    finder->event_counts[PSVI_EVENTS_END] = movers->ends;
    return status;
}
