// The forms of `radix` in compute shaders, and the choice between them.
#ifndef PAIRSIEVE_SORT_RADIX_GPU_H
#define PAIRSIEVE_SORT_RADIX_GPU_H

#include "gpu_methods.h"

typedef struct psvi_gpu_radix_form radix_form;

// By number from 0 on; NULL behind the last. The first needs no extension.
const radix_form *psvi_gpu_radix_form_at(uint32_t index);
const char *psvi_gpu_radix_form_name(const radix_form *form);
bool psvi_gpu_radix_offers(const psvi_gpu *gpu, const radix_form *form);

psv_status psvi_gpu_radix_run(psv_sorter *sorter, const psvi_sort_request *request, const radix_form *form);

// Measures the forms that the driver offers and sets the context's radix_choice: the number of the fastest one that
// sorted rightly, plus 1. With one form only nothing is measured.
psv_status psvi_gpu_choose_radix(psv_context *context);

#endif
