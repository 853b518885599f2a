// Fields (the sorted bits of keys) with the elements' numbers: no two are equal, so that each order of them is stable.
layout(std430, binding = 1) buffer field_block { uint fields[]; };
layout(std430, binding = 2) buffer index_block { uint indices[]; };

bool element_after(KEY a, uint a_index, KEY b, uint b_index) {
    return comes_after(a, b) || (a == b && a_index > b_index);
}
