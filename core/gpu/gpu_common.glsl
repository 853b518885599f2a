#ifdef LANES // subgroup votes
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// What every kernel begins with. The blocks' data begin base(block) words into the bound range.
layout(location = 0) uniform uint psv_words[52];
#define base(block) psv_words[block]
#define param(i) psv_words[12 + (i)]

// Groups are numbered in one row; there may be a few more than were asked for.
uint group_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
