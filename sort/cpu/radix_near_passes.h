// The loops of radix_near.c for one kind of element; included once per kind with the macros of radix_passes.h.

PSVI_INLINE void NAME(tally_step)(const ELEMENT *elements, size_t count, KEY_TYPE mask, const KEY_TYPE *pivots,
                                  psvi_near_tally *tally) {
    KEY_TYPE before = 0, after = 0, far_before = 0, far_after = 0;
    for (size_t i = 0; i < count; ++i) {
        const KEY_TYPE key = KEY(elements[i]) & mask;
        before += key < pivots[1];
        far_before += key < pivots[0];
        after += key > pivots[2];
        far_after += key > pivots[3];
    }
    tally->before += (uint32_t)(before - far_before);
    tally->after += (uint32_t)(after - far_after);
    tally->far += (uint32_t)(far_before + far_after);
}

// In most steps no element leaves the chunk; one comparison an element shows it.
PSVI_CLONES static psvi_near_tally NAME(tally)(const void *any, size_t count, uint64_t key_mask,
                                               const uint64_t *wide_pivots) {
    const ELEMENT *elements = any;
    const KEY_TYPE mask = (KEY_TYPE)key_mask;
    const KEY_TYPE pivots[4] = {(KEY_TYPE)wide_pivots[0], (KEY_TYPE)wide_pivots[1], (KEY_TYPE)wide_pivots[2],
                                (KEY_TYPE)wide_pivots[3]};
    const KEY_TYPE low = pivots[1], span = pivots[2] - low;
    psvi_near_tally tally = {0};
    // Of the first and the last some nearly always leave.
    NAME(tally_step)(elements, NEAR_STEP, mask, pivots, &tally);
    size_t i = NEAR_STEP;
    for (uint32_t step = 1; i + 2 * NEAR_STEP <= count; ++step, i += NEAR_STEP) {
        KEY_TYPE leaves = 0;
        for (size_t k = 0; k < NEAR_STEP; ++k)
            leaves |= -(KEY_TYPE)((KEY_TYPE)((KEY(elements[i + k]) & mask) - low) > span);
        if (leaves == 0)
            tally.staying |= 1u << step;
        else
            NAME(tally_step)(elements + i, NEAR_STEP, mask, pivots, &tally);
    }
    NAME(tally_step)(elements + i, count - i, mask, pivots, &tally);
    return tally;
}

// Places of the far elements.
static size_t NAME(list_far)(const void *any, size_t count, uint64_t key_mask, const uint64_t *pivots, uint32_t staying,
                             uint64_t first, uint64_t *list) {
    const ELEMENT *elements = any;
    const KEY_TYPE mask = (KEY_TYPE)key_mask, low = (KEY_TYPE)pivots[0], span = (KEY_TYPE)pivots[3] - low;
    size_t found = 0;
    for (size_t i = 0; i < count; staying >>= 1) {
        const size_t end = count - i < NEAR_STEP ? count : i + NEAR_STEP;
        if ((staying & 1) != 0) i = end;
        for (; i < end; ++i) {
            list[found] = first + i;
            found += (KEY_TYPE)((KEY(elements[i]) & mask) - low) > span;
        }
    }
    return found;
}

PSVI_CLONES static size_t NAME(collect)(const void *any, const psvi_near_bucket *bucket, uint64_t key_mask,
                                        void *target) {
    const ELEMENT *all = any, *own = all + bucket->begin, *end = all + bucket->end;
    ELEMENT *out = target;
    const KEY_TYPE mask = (KEY_TYPE)key_mask, low = (KEY_TYPE)bucket->low, span = (KEY_TYPE)bucket->high - low;
// Keys that equal a pivot are ordered by position: from earlier chunks keys equal to `high` belong here, from later
// chunks keys equal to `low`. Where the span is 0 no key does, and none is searched for.
#define BELONGS(element, least, most) ((KEY_TYPE)((KEY(element) & mask) - (least)) <= (most))
#define TAKE(element, least, most)                                                                                     \
    do {                                                                                                               \
        *out = (element);                                                                                              \
        out += BELONGS(element, least, most);                                                                          \
    } while (0)
    const ELEMENT *from = own;
    for (uint32_t left = bucket->from_before; left > 0; left -= BELONGS(*from, low + 1, span - 1))
        --from;
    for (; from < own; ++from)
        TAKE(*from, low + 1, span - 1);
    for (uint32_t staying = bucket->staying; from < end; staying >>= 1) {
        size_t steps = 0;
        while ((staying & 1) != 0) {
            steps += NEAR_STEP;
            staying >>= 1;
        }
        memcpy(out, from, steps * sizeof *out);
        out += steps;
        from += steps;
        const ELEMENT *step_end = (size_t)(end - from) < NEAR_STEP ? end : from + NEAR_STEP;
        for (; from < step_end; ++from)
            TAKE(*from, low, span);
    }
    for (uint32_t left = bucket->from_after; left > 0; ++from) {
        left -= BELONGS(*from, low, span - 1);
        TAKE(*from, low, span - 1);
    }
#undef BELONGS
#undef TAKE
    return (size_t)(out - (ELEMENT *)target);
}

PSVI_CLONES static size_t NAME(encode)(const void *any, size_t count, uint64_t key_mask, uint64_t low, uint64_t high,
                                       uint32_t *codes) {
    const ELEMENT *elements = any;
    const KEY_TYPE mask = (KEY_TYPE)key_mask, least = (KEY_TYPE)low;
    const uint32_t place_bits = psvi_near_place_bits(count),
                   bits = psvi_log2((uint64_t)((KEY_TYPE)high - least) | 1) + 1;
    const uint32_t shift = bits > 32 - place_bits ? bits + place_bits - 32 : 0;
    KEY_TYPE descents = 0;
    for (uint32_t i = 0; i + 1 < (uint32_t)count; ++i) {
        const KEY_TYPE key = KEY(elements[i]) & mask;
        descents += key > (KEY(elements[i + 1]) & mask);
        codes[i] = (uint32_t)((key - least) >> shift) << place_bits | i;
    }
    codes[count - 1] =
        (uint32_t)(((KEY(elements[count - 1]) & mask) - least) >> shift) << place_bits | (uint32_t)(count - 1);
    return (size_t)descents;
}

PSVI_INLINE void NAME(gather_places)(const ELEMENT *restrict elements, const uint32_t *rows, size_t count,
                                     uint32_t places, size_t columns, ELEMENT *restrict out) {
    size_t i = 0;
    for (; i + NEAR_ROWS <= count; i += NEAR_ROWS, ++rows)
        for (size_t r = 0; r < NEAR_ROWS; ++r)
            out[i + r] = elements[rows[r * columns] & places];
    for (; i < count; ++i, rows += columns)
        out[i] = elements[*rows & places];
}

static void NAME(gather)(const void *elements, const uint32_t *rows, size_t count, void *out) {
    if (count <= NEAR_GROUP)
        NAME(gather_places)(elements, rows, count, NEAR_GROUP - 1, 16, out);
    else
        NAME(gather_places)(elements, rows, count, 0xffffu, psvi_near_columns(count), out);
}

PSVI_CLONES static void NAME(extremes)(const void *any, size_t count, uint64_t key_mask, uint64_t *low,
                                       uint64_t *high) {
    const ELEMENT *elements = any;
    const KEY_TYPE mask = (KEY_TYPE)key_mask;
    KEY_TYPE least = KEY(elements[0]) & mask, most = least;
    for (size_t i = 1; i < count; ++i) {
        const KEY_TYPE key = KEY(elements[i]) & mask;
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    *low = least;
    *high = most;
}

// Merges sorted `few` into sorted `many`; of equal keys `few` comes first when `first`.
static void NAME(merge)(const void *many_any, size_t many_count, const void *few_any, size_t few_count,
                        uint64_t key_mask, bool first, void *target) {
    const ELEMENT *many = many_any, *few = few_any;
    ELEMENT *out = target;
    const KEY_TYPE mask = (KEY_TYPE)key_mask;
    size_t done = 0;
    for (size_t f = 0; f < few_count; ++f) {
        const KEY_TYPE key = KEY(few[f]) & mask;
        // How many come before it. No jumps: they cannot be predicted.
        size_t before = done, left = many_count - done;
        while (left > 0) {
            const size_t half = (left + 1) / 2;
            const KEY_TYPE here = KEY(many[before + half - 1]) & mask;
            const bool less = (here < key) | (!first & (here == key));
            before += less ? half : 0;
            left = less ? left - half : half - 1;
        }
        memcpy(out + done + f, many + done, (before - done) * sizeof *out);
        out[before + f] = few[f];
        done = before;
    }
    memcpy(out + done + few_count, many + done, (many_count - done) * sizeof *out);
}

static size_t NAME(turn)(const void *any, size_t count, size_t begin, size_t end, uint64_t key_mask, void *target,
                         size_t *first) {
    const ELEMENT *elements = any;
    ELEMENT *out = target;
    const KEY_TYPE mask = (KEY_TYPE)key_mask;
    size_t behind = count - begin; // of the elements that are still to be written
    while (behind > 0 && behind < count && (KEY(elements[behind - 1]) & mask) == (KEY(elements[behind]) & mask))
        --behind;
    const size_t start = count - behind, last = count - end;
    *first = start;
    size_t to = start;
    while (behind > last) {
        const KEY_TYPE key = KEY(elements[behind - 1]) & mask;
        size_t run = behind - 1;
        while (run > 0 && (KEY(elements[run - 1]) & mask) == key)
            --run;
        for (size_t i = run; i < behind; ++i)
            out[to++] = elements[i];
        behind = run;
    }
    return to - start;
}

#undef ELEMENT
#undef NAME
#undef KEY
#undef KEY_TYPE
