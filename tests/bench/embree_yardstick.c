#include "embree_yardstick.h"
#include "bench_numbers.h"

#if PSV_HAVE_EMBREE
#include <embree3/rtcore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPEATS 9

static double median(double ms[REPEATS]) {
    qsort(ms, REPEATS, sizeof *ms, bench_compare_times);
    return ms[REPEATS / 2];
}

static RTCScene build(RTCDevice device, const float *vertices, uint32_t vertex_count, const uint32_t *indices,
                      uint32_t count, enum RTCBuildQuality quality) {
    RTCScene scene = rtcNewScene(device);
    RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST);
    rtcSetSceneBuildQuality(scene, quality);
    rtcSetGeometryBuildQuality(geometry, quality);
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, vertices, 0, 12, vertex_count);
    rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, indices, 0, 12, count);
    rtcCommitGeometry(geometry);
    rtcAttachGeometry(scene, geometry);
    rtcReleaseGeometry(geometry);
    rtcCommitScene(scene);
    return scene;
}

static double trace(RTCScene scene, const psv_ray *rays, uint32_t count, bool any, int workers) {
    double ms[REPEATS];
    for (int r = 0; r < REPEATS; ++r) {
        const double begin = bench_wall_ms();
#pragma omp parallel for schedule(dynamic, 64) num_threads(workers)
        for (int64_t i = 0; i < (int64_t)count; ++i) {
            struct RTCIntersectContext context;
            struct RTCRayHit ray;
            rtcInitIntersectContext(&context);
            memset(&ray, 0, sizeof ray);
            ray.ray.org_x = rays[i].origin[0], ray.ray.org_y = rays[i].origin[1], ray.ray.org_z = rays[i].origin[2];
            ray.ray.dir_x = rays[i].direction[0], ray.ray.dir_y = rays[i].direction[1],
            ray.ray.dir_z = rays[i].direction[2];
            ray.ray.tnear = rays[i].t_min, ray.ray.tfar = rays[i].t_max, ray.ray.mask = ~0u;
            ray.hit.geomID = RTC_INVALID_GEOMETRY_ID;
            if (any)
                rtcOccluded1(scene, &context, &ray.ray);
            else
                rtcIntersect1(scene, &context, &ray);
        }
        ms[r] = bench_wall_ms() - begin;
    }
    (void)workers;
    return count / median(ms) / 1e3;
}

void embree_yardstick(const float *vertices, uint32_t vertex_count, const uint32_t *indices, uint32_t count,
                      const psv_ray *primary, uint32_t primary_count, const psv_ray *shadow, uint32_t shadow_count,
                      const psv_ray *scattered, uint32_t scattered_count, int workers) {
    char config[64];
    (void)snprintf(config, sizeof config, "threads=%d", workers);
    static const struct {
        const char *name;
        enum RTCBuildQuality quality;
    } kinds[2] = {{"low", RTC_BUILD_QUALITY_LOW}, {"medium", RTC_BUILD_QUALITY_MEDIUM}};
    RTCDevice device = rtcNewDevice(config);
    for (int k = 0; k < 2; ++k) {
        double ms[REPEATS];
        RTCScene scene = NULL;
        for (int r = 0; r < REPEATS; ++r) {
            if (scene != NULL) rtcReleaseScene(scene);
            const double begin = bench_wall_ms();
            scene = build(device, vertices, vertex_count, indices, count, kinds[k].quality);
            ms[r] = bench_wall_ms() - begin;
        }
        printf("  embree %s, robust: build %.3f ms; primary %.1f M/s, shadow %.1f, random %.1f\n", kinds[k].name,
               median(ms), trace(scene, primary, primary_count, false, workers),
               trace(scene, shadow, shadow_count, true, workers),
               trace(scene, scattered, scattered_count, false, workers));
        rtcReleaseScene(scene);
    }
    rtcReleaseDevice(device);
}

#else
void embree_yardstick(const float *vertices, uint32_t vertex_count, const uint32_t *indices, uint32_t count,
                      const psv_ray *primary, uint32_t primary_count, const psv_ray *shadow, uint32_t shadow_count,
                      const psv_ray *scattered, uint32_t scattered_count, int workers) {
    (void)vertices, (void)vertex_count, (void)indices, (void)count, (void)primary, (void)primary_count, (void)shadow;
    (void)shadow_count, (void)scattered, (void)scattered_count, (void)workers;
}
#endif
