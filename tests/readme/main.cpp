#include <kiln/launch.h>

void rms_norm(CUstream stream, const void* x, const void* weight, void* y, unsigned rows);

int main() {
  rms_norm(nullptr, nullptr, nullptr, nullptr, 4);
  rms_norm(nullptr, nullptr, nullptr, nullptr, 8);
}
