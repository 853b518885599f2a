message(STATUS "pairsieve ${PROJECT_VERSION}: CUDA ${PSV_CUDA} (architectures: ${CMAKE_CUDA_ARCHITECTURES}), "
               "sim ${PSV_SIM}, OpenGL ${PSV_GL}, Vulkan ${PSV_VULKAN}, viewer ${PSV_VIZ}, MPI ${PSV_MPI}, NCCL ${PSV_NCCL}, build type ${CMAKE_BUILD_TYPE}")
