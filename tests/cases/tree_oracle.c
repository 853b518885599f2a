#include "tree_oracle.h"

#include <math.h>

typedef struct vec {
    double x, y, z;
} vec;

static vec of(const float v[3]) { return (vec){v[0], v[1], v[2]}; }
static vec sub(vec a, vec b) { return (vec){a.x - b.x, a.y - b.y, a.z - b.z}; }
static vec along(vec a, vec b, double t) { return (vec){a.x + t * b.x, a.y + t * b.y, a.z + t * b.z}; }
static double dot(vec a, vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static vec cross(vec a, vec b) { return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

// --- rays ------------------------------------------------------------------------------------------------------------

// Where the ray is within a box that is grown by `grown`; false: nowhere.
static bool clip_ray(const psv_aabb *box, const psv_ray *ray, double grown, double *near, double *far) {
    *near = ray->t_min > 0 ? (double)ray->t_min : 0;
    *far = (double)ray->t_max;
    for (int k = 0; k < 3; ++k) {
        const double o = ray->origin[k], d = ray->direction[k];
        const double low = (double)box->min[k] - grown - o, high = (double)box->max[k] + grown - o;
        if (d == 0) {
            if (low > 0 || high < 0) return false;
            continue;
        }
        *near = fmax(*near, d > 0 ? low / d : high / d);
        *far = fmin(*far, d > 0 ? high / d : low / d);
    }
    return *near <= *far;
}

static oracle_answer ray_box(const psv_aabb *box, const psv_ray *ray, double slack, double *t) {
    double near, far;
    const bool hit = clip_ray(box, ray, 0, &near, &far);
    *t = near;
    if (slack == 0) return hit ? ORACLE_YES : ORACLE_NO;
    double low, high;
    // A box without room inside stays «maybe»: it is a matter of touching.
    if (clip_ray(box, ray, -slack, &low, &high)) return ORACLE_YES;
    if (!clip_ray(box, ray, slack, &low, &high)) return ORACLE_NO;
    if (!hit) *t = low;
    return ORACLE_MAYBE;
}

// Volumes of the tetrahedra of the direction and two corners (Pluecker coordinates).
static oracle_answer ray_triangle(const oracle_item *item, const psv_ray *ray, double slack, double *t) {
    const vec o = of(ray->origin), d = of(ray->direction);
    vec c[3];
    for (int i = 0; i < 3; ++i)
        c[i] = sub(of(item->corner[i]), o);
    const vec side_ab = sub(c[1], c[0]), side_ac = sub(c[2], c[0]), normal = cross(side_ab, side_ac);
    const double rate = dot(normal, d);
    const double length = sqrt(dot(d, d)), area = sqrt(dot(normal, normal));
    *t = NAN;
    // Seen from the edge, or too thin to have a plane.
    if (rate == 0 || (slack > 0 && fabs(rate) <= 1e-3 * area * length) ||
        (slack > 0 && area <= 1e-4 * fmax(dot(side_ab, side_ab), dot(side_ac, side_ac))))
        return slack > 0 ? ORACLE_MAYBE : ORACLE_NO;
    *t = dot(normal, c[0]) / rate;
    const double t_min = ray->t_min > 0 ? (double)ray->t_min : 0, t_slack = slack * 1e3 / length;
    double least = INFINITY;
    for (int i = 0; i < 3; ++i) {
        const vec a = c[i], b = c[(i + 1) % 3], edge = sub(b, a);
        const double side = dot(cross(a, b), d) * (rate > 0 ? 1 : -1);
        const double scale = sqrt(dot(edge, edge)) * length;
        least = fmin(least, scale > 0 ? side / scale : 0); // the ray's distance from the edge, positive inside
    }
    if (slack == 0) return least >= 0 && *t >= t_min && *t <= (double)ray->t_max ? ORACLE_YES : ORACLE_NO;
    if (least < -slack * 10 || *t < t_min - t_slack || *t > (double)ray->t_max + t_slack) return ORACLE_NO;
    return least > slack * 10 && *t > t_min + t_slack && *t < (double)ray->t_max - t_slack ? ORACLE_YES : ORACLE_MAYBE;
}

oracle_answer oracle_ray(const oracle_item *item, const psv_ray *ray, double slack, double *t) {
    return item->triangle ? ray_triangle(item, ray, slack, t) : ray_box(&item->box, ray, slack, t);
}

// --- boxes -----------------------------------------------------------------------------------------------------------

// Whether anything of the triangle is left when the six planes of the grown box have cut it.
static bool clip_triangle(const oracle_item *item, const psv_aabb *box, double grown) {
    double points[16][3], kept[16][3];
    int count = 3;
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k)
            points[i][k] = item->corner[i][k];
    for (int plane = 0; plane < 6 && count > 0; ++plane) {
        const int k = plane / 2;
        const double sign = plane % 2 ? -1 : 1;
        const double limit = plane % 2 ? -((double)box->max[k] + grown) : (double)box->min[k] - grown;
        int left = 0;
        for (int i = 0; i < count; ++i) {
            const double *a = points[i], *b = points[(i + 1) % count];
            const double da = sign * a[k] - limit, db = sign * b[k] - limit;
            if (da >= 0) {
                for (int j = 0; j < 3; ++j)
                    kept[left][j] = a[j];
                ++left;
            }
            if ((da < 0) != (db < 0)) {
                for (int j = 0; j < 3; ++j)
                    kept[left][j] = j == k ? sign * limit : a[j] + (b[j] - a[j]) * (da / (da - db));
                ++left;
            }
        }
        count = left;
        for (int i = 0; i < count; ++i)
            for (int j = 0; j < 3; ++j)
                points[i][j] = kept[i][j];
    }
    return count > 0;
}

oracle_answer oracle_box(const oracle_item *item, const psv_aabb *box, double slack) {
    if (!item->triangle) {
        for (int k = 0; k < 3; ++k)
            if (item->box.min[k] > box->max[k] || item->box.max[k] < box->min[k]) return ORACLE_NO;
        return ORACLE_YES;
    }
    const double some = slack > 0 ? slack : 1e-9; // cutting rounds, whatever the numbers are
    if (clip_triangle(item, box, -some)) return ORACLE_YES;
    return clip_triangle(item, box, some) ? ORACLE_MAYBE : ORACLE_NO;
}

// --- distances -------------------------------------------------------------------------------------------------------

static double segment_distance(vec p, vec a, vec b) {
    const vec edge = sub(b, a);
    const double length2 = dot(edge, edge);
    const double t = length2 > 0 ? fmin(1, fmax(0, dot(sub(p, a), edge) / length2)) : 0;
    const vec away = sub(p, along(a, edge, t));
    return sqrt(dot(away, away));
}

static double triangle_distance(const oracle_item *item, vec p) {
    const vec a = of(item->corner[0]), b = of(item->corner[1]), c = of(item->corner[2]);
    double least = fmin(segment_distance(p, a, b), fmin(segment_distance(p, b, c), segment_distance(p, c, a)));
    const vec normal = cross(sub(b, a), sub(c, a));
    const double area2 = dot(normal, normal);
    if (!(area2 > 0)) return least;
    const double height = dot(sub(p, a), normal);
    const vec foot = along(p, normal, -height / area2);
    const bool inside = dot(cross(sub(b, a), sub(foot, a)), normal) >= 0 &&
                        dot(cross(sub(c, b), sub(foot, b)), normal) >= 0 &&
                        dot(cross(sub(a, c), sub(foot, c)), normal) >= 0;
    return inside ? fmin(least, fabs(height) / sqrt(area2)) : least;
}

double oracle_distance(const oracle_item *item, const float point[3]) {
    if (item->triangle) return triangle_distance(item, of(point));
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
        const double low = (double)item->box.min[k] - point[k], high = (double)point[k] - item->box.max[k];
        const double away = fmax(0, fmax(low, high));
        sum += away * away;
    }
    return sqrt(sum);
}
