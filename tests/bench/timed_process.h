#pragma once

#include <string>
#include <vector>

namespace kiln::bench {

/// Seconds that a process took from its start to its end, in the environment of this one. The first word is
/// the program's path. Ends this process where that one fails, since nothing can be measured.
double time_process(std::vector<std::string> command);

}  // namespace kiln::bench
