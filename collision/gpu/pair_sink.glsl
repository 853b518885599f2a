// The output of pairs. A group collects pairs in shared memory and writes them out together; pairs that do not fit
// there are written one by one. The count is exact, in two words; places are assigned only while there is room, so they
// never wrap.
layout(std430, binding = 0) readonly buffer slot_block { uint slots[]; };
layout(std430, binding = 1) buffer result_block { uint result[]; };
layout(std430, binding = 2) buffer plan_block { uint plan[]; };
layout(std430, binding = 3) writeonly buffer pair_block { uint pairs[]; };
layout(std430, binding = 4) readonly buffer trait_block { uint traits[]; };
#include "pair_rules.glsl"
#define STAGE 512u // a driver may run fewer groups at a time where each has more shared memory
shared uint stage[2 * STAGE];
shared uint staged, stage_place, group_tests;

void count_to(uint word, uint add) {
    uint before = atomicAdd(result[base(1) + word], add);
    if (before + add < before) atomicAdd(result[base(1) + word + 1u], 1u);
}
uint take_places(uint count) {
    count_to(RESULT_PAIRS, count);
    if (atomicOr(plan[base(2) + PLAN_PLACE], 0u) >= CAPACITY) return 0xffffffffu;
    return atomicAdd(plan[base(2) + PLAN_PLACE], count);
}
void write_pair(uint place, uint a, uint b) {
    if (place >= CAPACITY) return;
    pairs[base(3) + 2u * place] = a;
    pairs[base(3) + 2u * place + 1u] = b;
}
void begin_pairs() {
    if (gl_LocalInvocationIndex == 0u) staged = 0u, group_tests = 0u;
    barrier();
}
// All threads of the group together.
void end_pairs(uint tests) {
    if (tests != 0u) atomicAdd(group_tests, tests);
    barrier();
    uint found = min(staged, STAGE);
    if (gl_LocalInvocationIndex == 0u) {
        if (found > 0u) stage_place = take_places(found);
        if (group_tests > 0u) count_to(RESULT_CANDIDATES, group_tests);
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < found; i += gl_WorkGroupSize.x)
        if (stage_place != 0xffffffffu) write_pair(stage_place + i, stage[2u * i], stage[2u * i + 1u]);
}
void emit(uint s, uint t) {
#if RULES
    if (COUNTS_WORLDS && !has_world_room(slots[base(0) + 8u * min(s, t) + 7u])) {
        count_to(RESULT_REFUSED, 1u);
        return;
    }
#endif
    uint a = min(s, t), b = max(s, t) - (BETWEEN ? SET_B : 0u);
    uint i = atomicAdd(staged, 1u);
    if (i < STAGE) {
        stage[2u * i] = a;
        stage[2u * i + 1u] = b;
    } else {
        write_pair(take_places(1u), a, b);
    }
}
// Of two slots whose boxes overlap and take part: sets, flags, worlds, filters and rules.
bool may_pair(uint s, uint s_tag, uint t, uint t_tag) {
    if ((s_tag & t_tag & TAG_STATIC) != 0u || (BETWEEN && ((s_tag ^ t_tag) & TAG_SET_B) == 0u)) return false;
    if (WORLDS && slots[base(0) + 8u * s + 7u] != slots[base(0) + 8u * t + 7u]) return false;
    uint fs = base(4) + TRAIT_WORDS * s, ft = base(4) + TRAIT_WORDS * t;
    if (FILTERS && ((traits[fs] & traits[ft + 1u]) == 0u || (traits[ft] & traits[fs + 1u]) == 0u)) return false;
#if RULES
    return rules_pair(fs, ft, s < t);
#else
    return true;
#endif
}
