// Seeded cases of items and queries of all kinds for a tree, and whether an answer to them is right by the oracle. A
// wrong one fails the test with the case, the query and the item.
#ifndef PAIRSIEVE_TESTS_TREE_CASES_H
#define PAIRSIEVE_TESTS_TREE_CASES_H

#include "../cases/tree_oracle.h"

#define MOST_ITEMS 1500
#define MOST_QUERIES 96
#define WORLDS 5
#define NEAREST 7

enum { SPREAD, GRID, SAME, COINCIDENT, LINE, PLANE, SPIKE, FAR, THIN, SHAPES };

typedef struct tree_case {
    uint32_t seed, shape;
    bool triangles, exact, worlds, filters, flags, indexed, wide, counted;
    uint32_t count, query_count;
    double slack;
    oracle_item items[MOST_ITEMS];
    bool off[MOST_ITEMS];
    uint32_t item_world[MOST_ITEMS], query_world[MOST_QUERIES];
    psv_box_filter item_filter[MOST_ITEMS], query_filter[MOST_QUERIES];
    uint8_t flag[MOST_ITEMS];
    psv_ray rays[MOST_QUERIES];
    psv_aabb boxes[MOST_QUERIES];
    psv_sphere spheres[MOST_QUERIES];
} tree_case;

typedef enum query_kind { RAYS, BOXES, SPHERES } query_kind;

extern tree_case now; // the case at hand

// Random numbers of the case: in [0, 1), and whole ones below `below`.
double draw(uint64_t i, uint32_t channel);
uint32_t pick(uint64_t i, uint32_t channel, uint32_t below);

void make_case(uint32_t seed);
void make_item(uint32_t i);
void make_query(uint32_t q);

bool is_bad(uint32_t i);
bool is_disabled(uint32_t i);

void complain(const char *what, uint32_t q, uint32_t item, double value, double expected);
double t_slack(uint32_t q, double t); // what t of a hit may be off
void check_closest(const psv_ray_hit *hits);
void check_any(const uint32_t *hits);
void check_list(query_kind kind, uint32_t q, const uint32_t *items, uint64_t count, const char *what);
void check_nearest(const psv_near_item *near, uint32_t k);
void check_closest_points(const psv_closest_point *points, const psv_near_item *nearest);

#endif
