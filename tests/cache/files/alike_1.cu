// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
// Licensed to nobody in particular, and this line is only here to make the file long enough. 
#if 1
extern "C" __global__ void f(float* x) { x[threadIdx.x] *= 2.0f; }
#endif
// end of file; some more text that fills the last stripe of the file, and then some
