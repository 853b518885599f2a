// psv_tree_head and, 64 words later, psvi_query_result; and the layout of a linear tree. Block 0 in all kernels of
// trees, declared by the kernel with its access: HEAD_ACCESS.
layout(std430, binding = 0) HEAD_ACCESS buffer head_block { uint head[]; };
#define HEAD(i) head[base(0) + (i)]
#define HEAD_ITEMS 0u
#define HEAD_NODES 1u
#define HEAD_LEVELS 2u
#define HEAD_LINEAR 3u
#define HEAD_STARTS 4u // 12: the first node of each level
#define HEAD_LOW 16u   // 3
#define HEAD_SCALE 19u
#define HEAD_KEY_BITS 20u
#define HEAD_SHORT 21u
#define HEAD_BAD 22u // 2
#define RESULT_COUNT 64u
#define RESULT_SHORT_COUNT 66u
#define RESULT_RESULTS 68u
#define MAX_LEVELS 12u

#define TREE_LIMIT 8.507059173023462e37 // 2^126: coordinates beyond count as this
float tree_clamp(float a) { return clamp(a, -TREE_LIMIT, TREE_LIMIT); }
vec3 tree_clamp(vec3 a) { return clamp(a, vec3(-TREE_LIMIT), vec3(TREE_LIMIT)); }
float grid_step(uint exponent) { return uintBitsToFloat(exponent << 23); }
