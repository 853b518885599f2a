// The line of the toy backend in the list of backends (core/backend_list.h).
#define PSVI_FURTHER_BACKENDS(X) X(toy, TOY_BACKEND, PSVI_HAS, PSVI_HAS, PSVI_HAS, PSVI_LACKS)
#define TOY_BACKEND ((psv_backend)(PSV_BACKEND_VULKAN + 1))
