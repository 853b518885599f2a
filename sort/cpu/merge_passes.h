// The loops of the CPU merge sort for one kind of element; included once per kind with
//   ELEMENT  its type,  NAME(x)  the names,  BEFORE(a, b)  whether a must come before b. No two elements are equal:
// they end in their position.

// Merges two runs. The side that is taken is computed and not jumped to: it cannot be predicted.
static void NAME(merge_runs)(const ELEMENT *left, const ELEMENT *left_end, const ELEMENT *right,
                             const ELEMENT *right_end, ELEMENT *out) {
    while (left < left_end && right < right_end) {
        const bool take_right = BEFORE(*right, *left);
        const ELEMENT *from = take_right ? right : left;
        *out++ = *from;
        right += take_right;
        left += !take_right;
    }
    memcpy(out, left, (size_t)(left_end - left) * sizeof *out);
    memcpy(out + (left_end - left), right, (size_t)(right_end - right) * sizeof *out);
}

static void NAME(insert_run)(ELEMENT *elements, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        const ELEMENT element = elements[i];
        size_t at = i;
        for (; at > 0 && BEFORE(element, elements[at - 1]); --at)
            elements[at] = elements[at - 1];
        elements[at] = element;
    }
}

// Sorts a[0..count); the result is in b when `into_b` and in a otherwise, the other is overwritten. Halving keeps each
// merge's runs in the smallest cache that holds them.
static void NAME(sort_run)(ELEMENT *a, ELEMENT *b, size_t count, bool into_b) {
    if (count <= RADIX_INSERTION_MAX) {
        NAME(insert_run)(a, count);
        if (into_b) memcpy(b, a, count * sizeof *a);
        return;
    }
    const size_t half = count / 2;
    NAME(sort_run)(a, b, half, !into_b);
    NAME(sort_run)(a + half, b + half, count - half, !into_b);
    const ELEMENT *from = into_b ? a : b;
    ELEMENT *to = into_b ? b : a;
    if (BEFORE(from[half - 1], from[half]))
        memcpy(to, from, count * sizeof *to); // in order already
    else
        NAME(merge_runs)(from, from + half, from + half, from + count, to);
}

// Merge path: how many elements of the left run are among the first `place` of the merged runs.
static inline size_t NAME(left_of_place)(const ELEMENT *left, size_t left_count, const ELEMENT *right,
                                         size_t right_count, size_t place) {
    size_t low = place > right_count ? place - right_count : 0, high = place < left_count ? place : left_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (BEFORE(right[place - middle - 1], left[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

// Writes the places [begin, end) of the merge of from[first..middle) and from[middle..last) to `to`, where the merge
// begins at `first` too.
static inline void NAME(merge_places)(const void *from_any, void *to_any, size_t first, size_t middle, size_t last,
                                      size_t begin, size_t end) {
    const ELEMENT *left = (const ELEMENT *)from_any + first, *right = (const ELEMENT *)from_any + middle;
    const size_t left_count = middle - first, right_count = last - middle;
    const size_t left_begin = NAME(left_of_place)(left, left_count, right, right_count, begin - first);
    const size_t left_end = NAME(left_of_place)(left, left_count, right, right_count, end - first);
    NAME(merge_runs)
    (left + left_begin, left + left_end, right + (begin - first - left_begin), right + (end - first - left_end),
     (ELEMENT *)to_any + begin);
}

#undef ELEMENT
#undef NAME
#undef BEFORE
