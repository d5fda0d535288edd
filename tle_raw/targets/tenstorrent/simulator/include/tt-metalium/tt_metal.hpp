#pragma once
#include <tt-metalium/host_api.hpp>
