#pragma once
#include <tle_raw/torch/light.h>
