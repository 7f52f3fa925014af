// Asks for the parent process in each way in which a compiler calls a function of another library.

#include <unistd.h>

pid_t kiln_importing_call(void) { return getppid(); }

// By an address that the loader fills in where it is taken.
typedef pid_t (*Function)(void);
Function kiln_importing_address(void) { return &getppid; }

// By one that stands in a table of its own.
Function const kiln_importing_table[] = {&getppid};

pid_t kiln_importing_process(void) { return getpid(); }
