#pragma once

#include <cassert>
