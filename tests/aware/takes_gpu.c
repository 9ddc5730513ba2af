/* Loaded behind libgpubind-aware: an MPI that says that it takes GPU memory by itself. */
int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void)
{
    return 1;
}
