// See movers_peers.h. Bullet's broad phases keep all pairs; a callback of their pair cache reports begins and ends.
// Box3D's tree and Jolt's broad phase keep no pairs and have no events: each frame gives the pairs of boxes that moved.
#include "movers_peers.h"

#include <algorithm>

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

// Its pairs are of widened boxes. Each proxy knows the box that it was given.
std::uint64_t exact_pairs(void *data) {
    bullet *peer = static_cast<bullet *>(data);
    std::uint64_t count = 0;
    const btBroadphasePairArray &found = peer->broad_phase->getOverlappingPairCache()->getOverlappingPairArray();
    for (int i = 0; i < found.size(); ++i)
        count += TestAabbAgainstAabb2(found[i].m_pProxy0->m_aabbMin, found[i].m_pProxy0->m_aabbMax,
                                      found[i].m_pProxy1->m_aabbMin, found[i].m_pProxy1->m_aabbMax);
    return count;
}

std::uint64_t events(void *data) { return static_cast<bullet *>(data)->events.events; }

// A proxy that goes looks through all pairs: without pairs, so that a million do not take hours.
void destroy(void *data) {
    bullet *peer = static_cast<bullet *>(data);
    btOverlappingPairCache *cache = peer->broad_phase->getOverlappingPairCache();
    btBroadphasePairArray &found = cache->getOverlappingPairArray();
    while (found.size() > 0) {
        const btBroadphasePair last = found[found.size() - 1];
        cache->removeOverlappingPair(last.m_pProxy0, last.m_pProxy1, &peer->dispatcher);
    }
    for (btBroadphaseProxy *proxy : peer->proxies)
        peer->broad_phase->destroyProxy(proxy, &peer->dispatcher);
    delete peer->broad_phase;
    delete peer;
}
} // namespace
#endif

#if PSV_HAVE_BOX3D || PSV_HAVE_JOLT
namespace {
// Which boxes move: of a pair whose two boxes move, one is left out.
struct mover_marks {
    std::vector<std::uint32_t> list;
    std::vector<unsigned char> moves;

    bool same(const std::uint32_t *moved, std::uint64_t movers) const {
        return list.size() == movers && std::equal(list.begin(), list.end(), moved);
    }
    void set(const std::uint32_t *moved, std::uint64_t movers) {
        for (const std::uint32_t i : list)
            moves[i] = 0;
        list.assign(moved, moved + movers);
        for (const std::uint32_t i : list)
            moves[i] = 1;
    }
};

std::uint64_t no_events(void *) { return 0; }
} // namespace
#endif

#if PSV_HAVE_BOX3D
#include <box3d/collision.h>

namespace {
struct box3d_tree {
    b3DynamicTree tree;
    std::vector<int> proxies;
    mover_marks marks;
    std::uint64_t hits; // of the last frame
};

struct box3d_query {
    box3d_tree *peer;
    std::uint64_t box;
};

b3AABB box_of(const psv_aabb &box) {
    return {{box.min[0], box.min[1], box.min[2]}, {box.max[0], box.max[1], box.max[2]}};
}

void *create_tree(const psv_aabb *boxes, std::uint64_t count) {
    box3d_tree *peer = new box3d_tree{b3DynamicTree_Create(static_cast<int>(count)), {}, {}, 0};
    peer->marks.moves.resize(count);
    for (std::uint64_t i = 0; i < count; ++i)
        peer->proxies.push_back(b3DynamicTree_CreateProxy(&peer->tree, box_of(boxes[i]), 1, i));
    (void)b3DynamicTree_Rebuild(&peer->tree, true);
    return peer;
}

bool count_hit(int, std::uint64_t other, void *context) {
    const box3d_query *query = static_cast<box3d_query *>(context);
    query->peer->hits += other != query->box && (query->peer->marks.moves[other] == 0 || query->box < other);
    return true;
}

void search_tree(box3d_tree *peer, const psv_aabb *boxes, const std::uint32_t *moved, std::uint64_t movers) {
    if (!peer->marks.same(moved, movers)) peer->marks.set(moved, movers);
    peer->hits = 0;
    for (std::uint64_t m = 0; m < movers; ++m) {
        box3d_query query = {peer, moved[m]};
        (void)b3DynamicTree_Query(&peer->tree, box_of(boxes[moved[m]]), ~std::uint64_t{0}, false, count_hit, &query);
    }
}

// Each moved box is taken out and put in again.
void move_in_tree(void *data, const psv_aabb *boxes, const std::uint32_t *moved, std::uint64_t movers) {
    box3d_tree *peer = static_cast<box3d_tree *>(data);
    for (std::uint64_t m = 0; m < movers; ++m)
        b3DynamicTree_MoveProxy(&peer->tree, peer->proxies[moved[m]], box_of(boxes[moved[m]]));
    search_tree(peer, boxes, moved, movers);
}

// As a step of its world, but for the world's margin: what moved is enlarged where it is, and that part built anew.
void rebuild_in_tree(void *data, const psv_aabb *boxes, const std::uint32_t *moved, std::uint64_t movers) {
    box3d_tree *peer = static_cast<box3d_tree *>(data);
    for (std::uint64_t m = 0; m < movers; ++m)
        b3DynamicTree_EnlargeProxy(&peer->tree, peer->proxies[moved[m]], box_of(boxes[moved[m]]));
    if (movers > 0) (void)b3DynamicTree_Rebuild(&peer->tree, false);
    search_tree(peer, boxes, moved, movers);
}

std::uint64_t hits_of_tree(void *data) { return static_cast<box3d_tree *>(data)->hits; }

void destroy_tree(void *data) {
    box3d_tree *peer = static_cast<box3d_tree *>(data);
    b3DynamicTree_Destroy(&peer->tree);
    delete peer;
}
} // namespace
#endif

#if PSV_HAVE_JOLT
#include <Jolt/Jolt.h>

#include <Jolt/Physics/Body/BodyCreationSettings.h>
#include <Jolt/Physics/Body/BodyManager.h>
#include <Jolt/Physics/Body/BodyPair.h>
#include <Jolt/Physics/Collision/BroadPhase/BroadPhaseQuadTree.h>
#include <Jolt/Physics/Collision/Shape/BoxShape.h>

namespace {
// One layer: bodies that move and bodies that rest, and may wake up, share a tree.
class one_layer final : public JPH::BroadPhaseLayerInterface {
  public:
    JPH::uint GetNumBroadPhaseLayers() const override { return 1; }
    JPH::BroadPhaseLayer GetBroadPhaseLayer(JPH::ObjectLayer) const override { return JPH::BroadPhaseLayer(0); }
};

class pair_list final : public JPH::BodyPairCollector {
  public:
    std::vector<JPH::BodyPair> pairs;
    void AddHit(const JPH::BodyPair &pair) override { pairs.push_back(pair); }
};

struct jolt {
    one_layer layers;
    JPH::ObjectVsBroadPhaseLayerFilter all_layers;
    JPH::ObjectLayerPairFilter all_pairs;
    JPH::BodyManager bodies;
    JPH::BroadPhaseQuadTree broad_phase; // goes before the bodies
    std::vector<JPH::Body *> made;
    std::vector<JPH::BodyID> active;
    mover_marks marks;
    pair_list found;
};

// The box that a body's shape has in the world is set as it is given, so that the pairs are exact.
void set_bounds(JPH::Body *body, const psv_aabb &box) {
    const_cast<JPH::AABox &>(body->GetWorldSpaceBounds()) =
        JPH::AABox(JPH::Vec3(box.min[0], box.min[1], box.min[2]), JPH::Vec3(box.max[0], box.max[1], box.max[2]));
}

void *create_jolt(const psv_aabb *boxes, std::uint64_t count) {
    JPH::RegisterDefaultAllocator();
    jolt *peer = new jolt;
    peer->marks.moves.resize(count);
    peer->bodies.Init(static_cast<JPH::uint>(count), 0, peer->layers);
    peer->broad_phase.Init(&peer->bodies, peer->layers);
    JPH::BodyCreationSettings settings(new JPH::BoxShape(JPH::Vec3::sReplicate(0.5f)), JPH::RVec3::sZero(),
                                       JPH::Quat::sIdentity(), JPH::EMotionType::Dynamic, 0);
    std::vector<JPH::BodyID> ids;
    for (std::uint64_t i = 0; i < count; ++i) {
        peer->made.push_back(peer->bodies.AllocateBody(settings));
        (void)peer->bodies.AddBody(peer->made[i]);
        set_bounds(peer->made[i], boxes[i]);
        ids.push_back(peer->made[i]->GetID());
    }
    const JPH::BroadPhase::AddState state = peer->broad_phase.AddBodiesPrepare(ids.data(), static_cast<int>(count));
    peer->broad_phase.AddBodiesFinalize(ids.data(), static_cast<int>(count), state);
    peer->broad_phase.Optimize();
    return peer;
}

// Bodies that no longer move go to sleep, others wake up.
void choose_active(jolt *peer, const std::uint32_t *moved, std::uint64_t movers) {
    if (peer->marks.same(moved, movers)) return;
    peer->bodies.DeactivateBodies(peer->active.data(), static_cast<int>(peer->active.size()));
    peer->marks.set(moved, movers);
    peer->active.clear();
    for (std::uint64_t m = 0; m < movers; ++m)
        peer->active.push_back(peer->made[moved[m]]->GetID());
    peer->bodies.ActivateBodies(peer->active.data(), static_cast<int>(movers));
}

// As PhysicsSystem::Update, in its order and by its batches, without a speculative distance: the tree is told of moved
// bodies, the next tree is made, and the pairs of active bodies are found in the tree that there is.
void frame_of_jolt(void *data, const psv_aabb *boxes, const std::uint32_t *moved, std::uint64_t movers) {
    constexpr std::size_t told_at_once = 64, searched_at_once = 16;
    jolt *peer = static_cast<jolt *>(data);
    choose_active(peer, moved, movers);
    peer->found.pairs.clear();
    for (std::uint64_t m = 0; m < movers; ++m)
        set_bounds(peer->made[moved[m]], boxes[moved[m]]);
    JPH::BodyID batch[told_at_once]; // Jolt puts a batch in another order
    for (std::size_t at = 0; at < peer->active.size(); at += told_at_once) {
        const std::size_t count = std::min(told_at_once, peer->active.size() - at);
        std::copy_n(&peer->active[at], count, batch);
        peer->broad_phase.NotifyBodiesAABBChanged(batch, static_cast<int>(count), true);
    }
    peer->broad_phase.FrameSync();
    peer->broad_phase.LockModifications();
    const JPH::BroadPhase::UpdateState state = peer->broad_phase.UpdatePrepare();
    for (std::size_t at = 0; at < peer->active.size(); at += searched_at_once) {
        const std::size_t count = std::min(searched_at_once, peer->active.size() - at);
        std::copy_n(&peer->active[at], count, batch);
        peer->broad_phase.FindCollidingPairs(batch, static_cast<int>(count), 0, peer->all_layers, peer->all_pairs,
                                             peer->found);
    }
    peer->broad_phase.UpdateFinalize(state);
    peer->broad_phase.UnlockModifications();
}

std::uint64_t pairs_of_jolt(void *data) { return static_cast<jolt *>(data)->found.pairs.size(); }

void destroy_jolt(void *data) { delete static_cast<jolt *>(data); }
} // namespace
#endif

extern "C" const movers_peer movers_peers[] = {
#if PSV_HAVE_BULLET
    {"bullet_dbvt", "pairs and events", true, create_dbvt, frame, pairs, exact_pairs, events, destroy},
#endif
#if PSV_HAVE_BOX3D
    {"box3d_move", "pairs of moved", false, create_tree, move_in_tree, hits_of_tree, hits_of_tree, no_events,
     destroy_tree},
    {"box3d_step", "pairs of moved", false, create_tree, rebuild_in_tree, hits_of_tree, hits_of_tree, no_events,
     destroy_tree},
#endif
#if PSV_HAVE_JOLT
    {"jolt", "pairs of moved", false, create_jolt, frame_of_jolt, pairs_of_jolt, pairs_of_jolt, no_events,
     destroy_jolt},
#endif
    {nullptr, nullptr, false, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr},
};
