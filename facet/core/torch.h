// Operations on tensors, for .cpp files: ATen without LibTorch's modules, optimizers and data
// loaders, which we do not use. Part of the precompiled header.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "facet/core/tensor.h"
