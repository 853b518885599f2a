// Shared by the two files of the test of pairsieve.hpp.
#ifndef PAIRSIEVE_TEST_CPP_HPP
#define PAIRSIEVE_TEST_CPP_HPP

#include <cmath>
#include <cstdio>
#include <pairsieve/pairsieve.hpp>

inline int failures = 0;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                      \
            ++failures;                                                                                                \
        }                                                                                                              \
    } while (false)

void test_results(); // in test_cpp_results.cpp

#endif
