// Rough callers: with the environment variable PAIRSIEVE_TEST_ROUGH the calls of a test come as from a program that has
// set the floating-point environment to its taste, and that runs the tasks on threads of its own. Included before all
// else (-include) by property tests, whose oracles stay in the usual environment.
//   PAIRSIEVE_TEST_ROUGH=all          each call in the next of eight modes, each context with the next of 1, 2, 4
//                                     workers and of threads of the context, a pool, and one thread that runs tasks
//                                     from last to first
//   PAIRSIEVE_TEST_ROUGH=ftz+up:4     one of nearest, up, down, zero, also behind ftz+; so many workers, the context's
#ifndef PAIRSIEVE_ROUGH_CALLS_H
#define PAIRSIEVE_ROUGH_CALLS_H

#include <pairsieve/sort.h>
#if __has_include(<pairsieve/collision.h>) // what the test is linked with
#include <pairsieve/collision.h>
#endif
#if __has_include(<pairsieve/sim.h>)
#include <pairsieve/sim.h>
#endif

uint32_t rough_enter(void); // sets a rough mode; returns what was there
// Puts it back. Ends the program with a message when the call did not leave the mode as it was.
void rough_leave(uint32_t before, const char *call);
psv_context_def rough_def(const psv_context_def *def);

// In between: the call's arguments, then the call.
#define ROUGH(call, ...)                                                                                               \
    __extension__({                                                                                                    \
        const uint32_t rough_before = rough_enter();                                                                   \
        __auto_type rough_result = call(__VA_ARGS__);                                                                  \
        rough_leave(rough_before, #call);                                                                              \
        rough_result;                                                                                                  \
    })

// Creation of contexts: the def that `def` becomes.
#define psv_create_context(def, context)                                                                               \
    __extension__({                                                                                                    \
        psv_context_def rough_context_def = rough_def(def);                                                            \
        ROUGH(psv_create_context, &rough_context_def, context);                                                        \
    })

#define psv_sort_pairs(...) ROUGH(psv_sort_pairs, __VA_ARGS__)
#define psv_sort_keys(...) ROUGH(psv_sort_keys, __VA_ARGS__)
#define psv_sort_index(...) ROUGH(psv_sort_index, __VA_ARGS__)
#define psv_sort_pairs_indirect(...) ROUGH(psv_sort_pairs_indirect, __VA_ARGS__)
#define psv_sort_keys_indirect(...) ROUGH(psv_sort_keys_indirect, __VA_ARGS__)
#define psv_sort_index_indirect(...) ROUGH(psv_sort_index_indirect, __VA_ARGS__)
#define psv_check_order(...) ROUGH(psv_check_order, __VA_ARGS__)
#define psv_gather_records(...) ROUGH(psv_gather_records, __VA_ARGS__)
#define psv_create_pair_finder(...) ROUGH(psv_create_pair_finder, __VA_ARGS__)
#define psv_find_pairs(...) ROUGH(psv_find_pairs, __VA_ARGS__)
#define psv_find_pairs_between(...) ROUGH(psv_find_pairs_between, __VA_ARGS__)
#define psv_finish_pairs(...) ROUGH(psv_finish_pairs, __VA_ARGS__)
#define psv_pair_events(...) ROUGH(psv_pair_events, __VA_ARGS__)
#define psv_read_pair_events(...) ROUGH(psv_read_pair_events, __VA_ARGS__)
#define psv_compute_bounds(...) ROUGH(psv_compute_bounds, __VA_ARGS__)

#define psv_create_world(...) ROUGH(psv_create_world, __VA_ARGS__)
#define psv_create_shape(...) ROUGH(psv_create_shape, __VA_ARGS__)
#define psv_create_bodies(...) ROUGH(psv_create_bodies, __VA_ARGS__)
#define psv_set_body_state(...) ROUGH(psv_set_body_state, __VA_ARGS__)
#define psv_get_body_state(...) ROUGH(psv_get_body_state, __VA_ARGS__)
#define psv_apply_impulse(...) ROUGH(psv_apply_impulse, __VA_ARGS__)
#define psv_cast_ray(...) ROUGH(psv_cast_ray, __VA_ARGS__)
#define psv_world_step(...) ROUGH(psv_world_step, __VA_ARGS__)
#define psv_world_energy(...) ROUGH(psv_world_energy, __VA_ARGS__)
#define psv_world_hash(...) ROUGH(psv_world_hash, __VA_ARGS__)
#define psv_load_scene(...) ROUGH(psv_load_scene, __VA_ARGS__)
#define psv_scene_step(...) ROUGH(psv_scene_step, __VA_ARGS__)

#endif
