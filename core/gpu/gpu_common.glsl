#ifdef VOTES // of a subgroup
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// What every kernel begins with. The blocks' data begin base(block) words into the bound range. VULKAN: the compiler's
// own define where it makes SPIR-V.
#ifdef VULKAN
layout(std140, binding = 12) uniform word_block_of_call { uvec4 psv_fours[13]; };
#define psv_word(i) psv_fours[(i) >> 2][(i) & 3]
#else
layout(location = 0) uniform uint psv_words[52];
#define psv_word(i) psv_words[i]
#endif
#define base(block) psv_word(block)
#define param(i) psv_word(12 + (i))

// Groups are numbered in one row; there may be a few more than were asked for.
uint group_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
