// What queries of trees are compared with: every item against every query, in double precision, by other formulas than
// the library's. Where rounding may decide, the answer is «maybe».
#ifndef PAIRSIEVE_TESTS_TREE_ORACLE_H
#define PAIRSIEVE_TESTS_TREE_ORACLE_H

#include <pairsieve/tree.h>

typedef enum oracle_answer { ORACLE_NO = 0, ORACLE_MAYBE = 1, ORACLE_YES = 2 } oracle_answer;

// An item: a box, or a triangle with its corners.
typedef struct oracle_item {
    bool triangle;
    psv_aabb box;
    float corner[3][3];
} oracle_item;

// `slack`: what rounding may change, as a share of the scene's size; 0 where all numbers are small integers, and
// everything is decided. *t: where the ray enters, at least t_min; NaN where a triangle is seen from the edge.
oracle_answer oracle_ray(const oracle_item *item, const psv_ray *ray, double slack, double *t);
oracle_answer oracle_box(const oracle_item *item, const psv_aabb *box, double slack);
double oracle_distance(const oracle_item *item, const float point[3]);

#endif
