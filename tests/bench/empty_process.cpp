// A process without kiln: how much memory one takes that does nothing.

#include "resident.h"

int main() { std::printf("%ld\n", kiln::bench::resident_kilobytes()); }
