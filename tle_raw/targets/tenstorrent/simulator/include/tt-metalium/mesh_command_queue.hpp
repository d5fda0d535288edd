#pragma once
#include <tt-metalium/distributed.hpp>
