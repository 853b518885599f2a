// See movers_peers.h. Bullet's broad phases keep all pairs; a callback of their pair cache reports begins and ends.
// Box3D's tree has neither: each moved box is moved in it and searched, which is a part of what its broad phase does.
#include "movers_peers.h"

#include <cstddef>
#include <vector>

#if PSV_HAVE_BULLET
#include <btBulletCollisionCommon.h>

namespace {
class event_counter final : public btOverlappingPairCallback {
  public:
    std::uint64_t events = 0;
    btBroadphasePair *addOverlappingPair(btBroadphaseProxy *, btBroadphaseProxy *) override {
        ++events;
        return nullptr;
    }
    void *removeOverlappingPair(btBroadphaseProxy *, btBroadphaseProxy *, btDispatcher *) override {
        ++events;
        return nullptr;
    }
    void removeOverlappingPairsContainingProxy(btBroadphaseProxy *, btDispatcher *) override {}
};

struct bullet {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btBroadphaseInterface *broad_phase;
    event_counter events;
    std::vector<btBroadphaseProxy *> proxies;
};

btVector3 vector_of(const float v[3]) { return {v[0], v[1], v[2]}; }

void *create(btBroadphaseInterface *broad_phase, const psv_aabb *boxes, std::uint64_t count) {
    bullet *peer = new bullet;
    peer->broad_phase = broad_phase;
    for (std::uint64_t i = 0; i < count; ++i)
        peer->proxies.push_back(broad_phase->createProxy(vector_of(boxes[i].min), vector_of(boxes[i].max), 0, nullptr,
                                                         1, -1, &peer->dispatcher));
    broad_phase->getOverlappingPairCache()->setInternalGhostPairCallback(&peer->events);
    broad_phase->calculateOverlappingPairs(&peer->dispatcher);
    peer->events.events = 0;
    return peer;
}

void *create_dbvt(const psv_aabb *boxes, std::uint64_t count) { return create(new btDbvtBroadphase, boxes, count); }

void frame(void *data, const psv_aabb *boxes, const std::uint32_t *moved, std::uint64_t movers) {
    bullet *peer = static_cast<bullet *>(data);
    for (std::uint64_t m = 0; m < movers; ++m)
        peer->broad_phase->setAabb(peer->proxies[moved[m]], vector_of(boxes[moved[m]].min),
                                   vector_of(boxes[moved[m]].max), &peer->dispatcher);
    peer->broad_phase->calculateOverlappingPairs(&peer->dispatcher);
}

std::uint64_t pairs(void *data) {
    return static_cast<std::uint64_t>(
        static_cast<bullet *>(data)->broad_phase->getOverlappingPairCache()->getNumOverlappingPairs());
}

std::uint64_t events(void *data) { return static_cast<bullet *>(data)->events.events; }

void destroy(void *data) {
    bullet *peer = static_cast<bullet *>(data);
    for (btBroadphaseProxy *proxy : peer->proxies)
        peer->broad_phase->destroyProxy(proxy, &peer->dispatcher);
    delete peer->broad_phase;
    delete peer;
}
} // namespace
#endif

#if PSV_HAVE_BOX3D
#include <box3d/collision.h>

namespace {
struct box3d_tree {
    b3DynamicTree tree;
    std::vector<int> proxies;
    std::uint64_t hits; // of the last frame
};

b3AABB box_of(const psv_aabb &box) {
    return {{box.min[0], box.min[1], box.min[2]}, {box.max[0], box.max[1], box.max[2]}};
}

void *create_tree(const psv_aabb *boxes, std::uint64_t count) {
    box3d_tree *peer = new box3d_tree{b3DynamicTree_Create(static_cast<int>(count)), {}, 0};
    for (std::uint64_t i = 0; i < count; ++i)
        peer->proxies.push_back(b3DynamicTree_CreateProxy(&peer->tree, box_of(boxes[i]), 1, i));
    (void)b3DynamicTree_Rebuild(&peer->tree, true);
    return peer;
}

bool count_hit(int, std::uint64_t, void *context) {
    ++*static_cast<std::uint64_t *>(context);
    return true;
}

void frame_of_tree(void *data, const psv_aabb *boxes, const std::uint32_t *moved, std::uint64_t movers) {
    box3d_tree *peer = static_cast<box3d_tree *>(data);
    for (std::uint64_t m = 0; m < movers; ++m)
        b3DynamicTree_MoveProxy(&peer->tree, peer->proxies[moved[m]], box_of(boxes[moved[m]]));
    peer->hits = 0;
    for (std::uint64_t m = 0; m < movers; ++m)
        (void)b3DynamicTree_Query(&peer->tree, box_of(boxes[moved[m]]), ~std::uint64_t{0}, false, count_hit,
                                  &peer->hits);
}

std::uint64_t hits_of_tree(void *data) { return static_cast<box3d_tree *>(data)->hits; }
std::uint64_t no_events(void *) { return 0; }

void destroy_tree(void *data) {
    box3d_tree *peer = static_cast<box3d_tree *>(data);
    b3DynamicTree_Destroy(&peer->tree);
    delete peer;
}
} // namespace
#endif

extern "C" const movers_peer movers_peers[] = {
#if PSV_HAVE_BULLET
    {"bullet_dbvt", "pairs and events", create_dbvt, frame, pairs, events, destroy},
#endif
#if PSV_HAVE_BOX3D
    {"box3d_tree", "moves and searches", create_tree, frame_of_tree, hits_of_tree, no_events, destroy_tree},
#endif
    {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr},
};
