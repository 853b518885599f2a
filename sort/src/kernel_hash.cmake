# cmake -DFOLDER=sort -DBUILD=text -DOUT=kernel_hash.h -P kernel_hash.cmake: a header with one hash of the sorters' sources
# and of the text that says how they are built. The header is written anew only when the hash changes.
file(GLOB sources ${FOLDER}/cpu/* ${FOLDER}/cuda/*.* ${FOLDER}/cuda/radix/* ${FOLDER}/gpu/*
     ${FOLDER}/../papers/sort/cuda/* ${FOLDER}/../papers/sort/gpu/*)
list(SORT sources)
set(all "${BUILD}")
foreach(source IN LISTS sources)
    file(SHA256 ${source} one)
    string(APPEND all " ${one}")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 12 hash)
file(CONFIGURE OUTPUT ${OUT} CONTENT "// Made by sort/src/kernel_hash.cmake.
#ifndef PAIRSIEVE_KERNEL_HASH_H
#define PAIRSIEVE_KERNEL_HASH_H

#define PSVI_KERNEL_HASH \"${hash}\"

#endif
")
