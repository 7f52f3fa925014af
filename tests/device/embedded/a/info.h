#define INFO 1
