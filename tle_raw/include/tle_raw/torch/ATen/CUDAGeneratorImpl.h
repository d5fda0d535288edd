#pragma once
#include <tle_raw/torch/light.h>
#include <cstdint>
#include <ATen/cuda/PhiloxCudaState.h>
