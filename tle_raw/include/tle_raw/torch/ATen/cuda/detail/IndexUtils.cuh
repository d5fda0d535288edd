#pragma once
#include <tle_raw/torch/light.h>
#include <ATen/cuda/detail/TensorInfo.cuh>
