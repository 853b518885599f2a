# A port for `vcpkg install pairsieve --overlay-ports=CLONE/packaging/vcpkg`: it builds the clone that it lies in.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS psv_features FEATURES
    sim PAIRSIEVE_SIM
    cuda PAIRSIEVE_CUDA
    gl PAIRSIEVE_GL)
vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS ${psv_features} "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
    -DPAIRSIEVE_VULKAN=OFF -DPAIRSIEVE_MPI=OFF -DPAIRSIEVE_NCCL=OFF -DPAIRSIEVE_VIZ=OFF -DPAIRSIEVE_TOOL=OFF
    -DPAIRSIEVE_TESTS=OFF -DPAIRSIEVE_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/pairsieve)
vcpkg_fixup_pkgconfig()
vcpkg_copy_pdbs()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
