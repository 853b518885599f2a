// What a snapshot file holds, as records on the host: snapshot.c writes and reads them, snapshot_check.c says which of
// them can be a world.
#ifndef PAIRSIEVE_SNAPSHOT_PARTS_H
#define PAIRSIEVE_SNAPSHOT_PARTS_H

#include "../world/world.h"

// Layout of a file, without padding: magic, version, byte-order mark, psvi_world_part, shapes, body arrays. Then
// generations, marks of the living, free slots, contacts. Then angular impulses of rolling friction, where a shape has
// it, and points that stay where they were found, where a shape has corners. The checksum is last.
#define PSVI_SNAPSHOT_MAGIC "PSVWORLD"
#define PSVI_SNAPSHOT_VERSION 8u
#define PSVI_SNAPSHOT_BYTE_ORDER 0x01020304u
#define PSVI_SNAPSHOT_FORCES 1u // bodies have dampings and scales of gravity
#define PSVI_SNAPSHOT_USER 2u   // bodies have user data
#define PSVI_SNAPSHOT_SLEEP 4u  // bodies sleep

// Fixed-size numbers of a world.
typedef struct psvi_world_part {
    float gravity[3], self_gravity, softening, bounds_min[3], bounds_max[3];
    uint32_t substeps, max_shapes, sub_world_count, shape_count, slots;
    uint32_t parts; // PSVI_SNAPSHOT_: arrays that not every world has
    float restitution_threshold, push_speed, most_gravity, hit_speed;
    uint32_t contact_events, sleeping; // 0 or 1 each
    float sleep_speed;                 // no padding before 8-byte numbers
    uint64_t max_bodies, max_pairs, max_contacts, free_count, living, steps, idle_steps, lost, contacts;
    char broad_phase[32], sort_method[32];
} psvi_world_part;

// A shape; its lists follow it: children, heights, vertices, indices.
typedef struct psvi_shape_part {
    uint32_t type, child_count, columns, rows, vertex_count, triangle_count;
    float size[3], density, friction, restitution, rolling_friction, spinning_friction;
    float weld_angle;
    uint32_t one_sided; // 0 or 1
    uint32_t colour;
} psvi_shape_part;

// All of a file. A contact is its key and count_colour in the file, then its points; `first` is its place in `points`.
typedef struct psvi_snapshot {
    psv_context *context;
    const char *path;
    psvi_world_part world;
    psv_shape_def *shapes; // world.shape_count, with lists of their own
    // by slot, world.slots each
    psvi_f4 *position, *rotation, *velocity, *angular_velocity;
    uint32_t *shape;
    uint8_t *flags;
    psv_box_filter *filter;
    uint32_t *sub_world;
    psv_aabb *box;
    psvi_f4 *forces; // these are NULL unless world.parts says that they are there
    uint64_t *user;
    uint32_t *island; // these three only in worlds that sleep
    float *still;
    uint8_t *wake;
    uint32_t *generation;
    uint8_t *alive;
    uint32_t *free_slots; // world.free_count
    psvi_kept_contact *contacts;
    psvi_kept_point *points;
    uint64_t point_count;
    psvi_anchor_frame *frames; // by contact; NULL unless a shape has corners
    psvi_f4 *anchors;          // by point; of contacts whose frame keeps none unused
    psvi_f4 *rolls;            // by contact; NULL unless a shape has rolling or spinning friction
} psvi_snapshot;

// Every field against every other, before there is a world: PSV_ERROR_FORMAT with the rule that is broken.
psv_status psvi_check_snapshot(const psvi_snapshot *snapshot);

// The bodies against what the world has computed from their shapes, before they are put into it.
psv_status psvi_check_snapshot_masses(const psvi_snapshot *snapshot, const psv_world *world);

// Of `count` bytes. Finds accidents, not intent: whoever changes a file can change this too.
static inline uint64_t psvi_snapshot_checksum(const unsigned char *data, uint64_t count) {
    uint64_t sum = psvi_mix64(count), word = 0;
    for (uint64_t i = 0; i < count; ++i) {
        word = word << 8 | data[i];
        if (i % 8 == 7 || i + 1 == count) {
            sum = psvi_mix64(sum ^ word);
            word = 0;
        }
    }
    return sum;
}

#endif
