#define INFO 2
