#include "../a/info.h"
no end of line