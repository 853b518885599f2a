// The loops of the CPU radix sort for one kind of element; included once per kind with
//   ELEMENT  its type,  NAME(x)  the names,  KEY(e)  its key as an unsigned number,  KEY_TYPE  that number's type,
//   LINE_ELEMENTS  how many fit in a cache line.
// Elements carry the transformed key, so no loop knows key types. `shift` counts from bit 0 of KEY.

// Counts `digits` neighbouring digits of `bits` bits from `shift` up, the last of them of `last_bits`, in one read.
PSVI_INLINE void NAME(count_n)(const ELEMENT *elements, size_t count, uint32_t shift, uint32_t bits, uint32_t last_bits,
                               uint32_t digits, uint32_t *counts) {
    const uint32_t mask = (1u << bits) - 1, last_mask = (1u << last_bits) - 1;
    for (size_t i = 0; i < count; ++i) {
        const uint64_t key = (uint64_t)KEY(elements[i]) >> shift;
        for (uint32_t d = 0; d < digits; ++d)
            counts[(d << bits) + ((key >> (d * bits)) & (d + 1 < digits ? mask : last_mask))]++;
    }
}

PSVI_CLONES static void NAME(count_digits)(const ELEMENT *elements, size_t count, uint32_t shift, uint32_t bits,
                                           uint32_t last_bits, uint32_t digits, uint32_t *counts) {
    switch (digits) {
    case 1: NAME(count_n)(elements, count, shift, bits, last_bits, 1, counts); break;
    case 2: NAME(count_n)(elements, count, shift, bits, last_bits, 2, counts); break;
    case 3: NAME(count_n)(elements, count, shift, bits, last_bits, 3, counts); break;
    default: NAME(count_n)(elements, count, shift, bits, last_bits, 4, counts); break;
    }
}

// Moves every element to its digit's next place in `out`.
PSVI_CLONES static void NAME(scatter)(const ELEMENT *restrict elements, size_t count, uint32_t shift, uint32_t bits,
                                      uint32_t *restrict places, ELEMENT *restrict out) {
    const uint32_t mask = (1u << bits) - 1;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t k = 0; k < 4; ++k) {
            const ELEMENT element = elements[i + k];
            out[places[((uint64_t)KEY(element) >> shift) & mask]++] = element;
        }
    }
    for (; i < count; ++i)
        out[places[((uint64_t)KEY(elements[i]) >> shift) & mask]++] = elements[i];
}

// The same where the places are out of the cache: the line after a digit's place is asked for ahead.
PSVI_CLONES static void NAME(scatter_far)(const ELEMENT *restrict elements, size_t count, uint32_t shift, uint32_t bits,
                                          uint32_t *restrict places, ELEMENT *restrict out) {
    const uint32_t mask = (1u << bits) - 1;
    for (size_t i = 0; i < count; ++i) {
        const ELEMENT element = elements[i];
        ELEMENT *target = out + places[((uint64_t)KEY(element) >> shift) & mask]++;
        __builtin_prefetch(target + LINE_ELEMENTS, 1);
        *target = element;
    }
}

// Puts elements that are nearly in order in order; false, with the elements still a stable arrangement of the input,
// when they are not: after about one move an element.
PSVI_CLONES static bool NAME(insert_all)(ELEMENT *elements, size_t count, uint64_t key_mask) {
    const KEY_TYPE mask = (KEY_TYPE)key_mask;
    size_t budget = count + 64, i = 1;
    while (i < count) {
        if (count - i >= 32) {
            KEY_TYPE descents = 0;
            for (size_t k = 0; k < 32; ++k)
                descents |= -(KEY_TYPE)((KEY(elements[i + k - 1]) & mask) > (KEY(elements[i + k]) & mask));
            if (descents == 0) {
                i += 32;
                continue;
            }
        }
        // To the next descent. There is one among 32, or the end is near.
        while (i < count && (KEY(elements[i - 1]) & mask) <= (KEY(elements[i]) & mask))
            ++i;
        if (i == count) break;
        const ELEMENT element = elements[i];
        const KEY_TYPE key = KEY(element) & mask;
        size_t at = i;
        for (; at > 0 && (KEY(elements[at - 1]) & mask) > key; --at)
            elements[at] = elements[at - 1];
        elements[at] = element;
        if (i - at > budget) return false;
        budget -= i - at;
        ++i;
    }
    return true;
}

static void NAME(insertion_sort)(ELEMENT *elements, size_t count, uint64_t mask) {
    for (size_t i = 1; i < count; ++i) {
        const ELEMENT element = elements[i];
        size_t at = i;
        for (; at > 0 && (KEY(elements[at - 1]) & mask) > (KEY(element) & mask); --at)
            elements[at] = elements[at - 1];
        elements[at] = element;
    }
}

PSVI_CLONES static uint64_t NAME(varying)(const ELEMENT *elements, size_t count) {
    const uint64_t first = KEY(elements[0]);
    uint64_t bits = 0;
    for (size_t i = 1; i < count; ++i)
        bits |= KEY(elements[i]) ^ first;
    return bits;
}

// Bits of `mask` that may differ: all from the lowest on when the first few elements differ in the highest already.
static uint64_t NAME(varying_of)(const ELEMENT *elements, size_t count, uint64_t mask) {
    const uint64_t top = (uint64_t)1 << psvi_log2(mask);
    if (count > 64 && (NAME(varying)(elements, 64) & top) != 0) return mask;
    return NAME(varying)(elements, count) & mask;
}

// Stable passes over the bits [low, high); the result is in the array that is returned.
static ELEMENT *NAME(run_passes)(ELEMENT *in, ELEMENT *other, size_t count, uint32_t low, uint32_t high) {
    uint32_t counts[4 * RADIX_MAX_DIGITS];
    const psvi_digits plan = psvi_plan_digits(count, high - low);
    for (uint32_t pass = 0; pass < plan.passes;) {
        const uint32_t group = plan.passes - pass < 4 ? plan.passes - pass : 4;
        const uint32_t left = high - low - (group - 1) * plan.bits, last_bits = left < plan.bits ? left : plan.bits;
        memset(counts, 0, sizeof *counts * ((size_t)group << plan.bits));
        NAME(count_digits)(in, count, low, plan.bits, last_bits, group, counts);
        for (uint32_t d = 0; d < group; ++d, ++pass, low += plan.bits) {
            uint32_t *places = counts + ((size_t)d << plan.bits);
            const uint32_t bits = d + 1 < group ? plan.bits : last_bits;
            psvi_scan_counts(places, 1u << bits);
            NAME(scatter)(in, count, low, bits, places, other);
            ELEMENT *swap = in;
            in = other;
            other = swap;
        }
    }
    return in;
}

// Whether most of a sample of keys are equal to another of it.
static bool NAME(has_few_values)(const ELEMENT *elements, size_t count, uint64_t mask) {
    uint32_t seen[RADIX_SAMPLES] = {0}, equal = 0;
    for (uint32_t s = 0; s < RADIX_SAMPLES; ++s) {
        const uint32_t at = (uint32_t)(s * count / RADIX_SAMPLES);
        const uint64_t key = KEY(elements[at]) & mask;
        uint32_t *slot = &seen[(key * 0x9e3779b97f4a7c15u >> 56) % RADIX_SAMPLES];
        equal += s > 0 && (KEY(elements[*slot]) & mask) == key;
        *slot = at;
    }
    return equal > RADIX_SAMPLES / 2;
}

// Whether so many keys agree from bit `shift` on, but are not equal, that insertion would take longer than another
// pass: where pairs of all that agree are as many as keys, by the pairs of a sample.
static bool NAME(is_crowded)(const ELEMENT *elements, size_t count, uint64_t mask, uint32_t shift) {
    uint32_t seen[2 * RADIX_SAMPLES] = {0}, pairs = 0;
    for (uint32_t s = 0; s < RADIX_SAMPLES; ++s) {
        const uint32_t at = (uint32_t)(s * count / RADIX_SAMPLES);
        const uint64_t key = KEY(elements[at]) & mask, high = key >> shift;
        uint32_t *slot = &seen[(high * 0x9e3779b97f4a7c15u >> 32) % (2 * RADIX_SAMPLES)];
        const uint64_t other = KEY(elements[*slot]) & mask;
        pairs += other >> shift == high && other != key;
        *slot = at;
    }
    return pairs > 1 && pairs * count > RADIX_SAMPLES * RADIX_SAMPLES / 2;
}

// Sorts a bucket by the bits of `mask` (spare_bits: beyond log2(count)); returns the array with the result. First by as
// many of the highest bits as separate nearly all elements of a uniform distribution, then by insertion. By all bits
// where insertion would have, or had, too many elements to move (clustered keys).
static ELEMENT *NAME(sort_bucket)(ELEMENT *in, ELEMENT *other, size_t count, uint64_t mask, uint32_t spare_bits) {
    if (count <= RADIX_INSERTION_MAX) {
        NAME(insertion_sort)(in, count, mask);
        return in;
    }
    const uint64_t bits = mask == 0 ? 0 : NAME(varying_of)(in, count, mask);
    if (bits == 0) return in;
    uint32_t low = (uint32_t)__builtin_ctzll(bits);
    const uint32_t high = 64 - (uint32_t)__builtin_clzll(bits);
    psvi_digits plan = psvi_plan_digits(count, psvi_log2(count) + spare_bits);
    if (plan.passes > 2 && NAME(has_few_values)(in, count, mask)) // fewer bits separate them
        plan = psvi_plan_digits(count, psvi_log2(count) + RADIX_SPARE_BITS);
    const uint32_t enough = plan.passes * plan.bits;
    if (high - low > enough) {
        if (!NAME(is_crowded)(in, count, mask, high - enough)) {
            ELEMENT *sorted = NAME(run_passes)(in, other, count, high - enough, high);
            if (sorted != in) {
                other = in;
                in = sorted;
            }
            if (NAME(insert_all)(in, count, mask)) return in;
        }
        low = (uint32_t)__builtin_ctzll(NAME(varying)(in, count) & mask);
    }
    return NAME(run_passes)(in, other, count, low, high);
}

// Sorts a bucket in which most elements have one key, `crowd`: these are in order as they come, so only the others,
// which `other` has to have room for, are sorted. The result is in `in`.
static ELEMENT *NAME(sort_around)(ELEMENT *in, ELEMENT *other, size_t count, uint64_t mask, uint64_t crowd,
                                  uint32_t spare_bits) {
    const KEY_TYPE bits = (KEY_TYPE)mask, key = (KEY_TYPE)(crowd & mask);
    size_t less = 0, equal = 0;
    for (size_t i = 0; i < count; ++i)
        less += (KEY(in[i]) & bits) < key;
    size_t lesser = 0, greater = less;
    for (size_t i = 0; i < count; ++i) {
        const ELEMENT element = in[i];
        const KEY_TYPE own = KEY(element) & bits;
        if (own == key)
            in[equal++] = element;
        else if (own < key)
            other[lesser++] = element;
        else
            other[greater++] = element;
    }
    ELEMENT *parts[2] = {other, other + less}, *free_part = in + equal; // as many as are not equal
    const size_t counts[2] = {less, greater - less};
    for (int p = 0; p < 2; ++p) {
        const ELEMENT *sorted = NAME(sort_bucket)(parts[p], free_part, counts[p], mask, spare_bits);
        if (sorted != parts[p]) memcpy(parts[p], sorted, counts[p] * sizeof *sorted);
    }
    memmove(in + less, in, equal * sizeof *in);
    memcpy(in, parts[0], counts[0] * sizeof *in);
    memcpy(in + less + equal, parts[1], counts[1] * sizeof *in);
    return in;
}

#undef ELEMENT
#undef NAME
#undef KEY
#undef LINE_ELEMENTS
#undef KEY_TYPE
