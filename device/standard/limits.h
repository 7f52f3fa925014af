#pragma once

#include <climits>
