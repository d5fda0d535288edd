#pragma once
#include <ATen/cuda/Atomic.cuh>  // the name that it has had since 1.11
