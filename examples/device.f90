! GPU memory for the Fortran examples: a few calls of the CUDA driver, opened at run time,
! so that no toolkit is needed to build them. Where a code has cudaMalloc, cudaFree and
! cudaMemcpy, the examples have device_alloc, device_free, device_write and device_read.
module device
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: device_start, device_alloc, device_free, device_write, device_read, device_at
    public :: device_stream, device_wait

    integer(c_int), parameter :: RTLD_NOW = 2

    interface
        function dlopen(name, mode) bind(C, name="dlopen") result(library)
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int), value :: mode
            type(c_ptr) :: library
        end function dlopen

        function dlsym(library, name) bind(C, name="dlsym") result(call)
            import :: c_char, c_funptr, c_ptr
            type(c_ptr), value :: library
            character(kind=c_char), intent(in) :: name(*)
            type(c_funptr) :: call
        end function dlsym
    end interface

    abstract interface
        function cu_init(flags) bind(C) result(error)
            import :: c_int
            integer(c_int), value :: flags
            integer(c_int) :: error
        end function cu_init

        function cu_retain(context, gpu) bind(C) result(error)
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: context
            integer(c_int), value :: gpu
            integer(c_int) :: error
        end function cu_retain

        function cu_take(what) bind(C) result(error)
            import :: c_int, c_ptr
            type(c_ptr), value :: what
            integer(c_int) :: error
        end function cu_take

        function cu_wait() bind(C) result(error)
            import :: c_int
            integer(c_int) :: error
        end function cu_wait

        function cu_create(stream, flags) bind(C) result(error)
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: stream
            integer(c_int), value :: flags
            integer(c_int) :: error
        end function cu_create

        function cu_alloc(memory, nbytes) bind(C) result(error)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), intent(out) :: memory
            integer(c_size_t), value :: nbytes
            integer(c_int) :: error
        end function cu_alloc

        function cu_copy(to, from, nbytes) bind(C) result(error)
            import :: c_int, c_ptr, c_size_t
            type(c_ptr), value :: to, from
            integer(c_size_t), value :: nbytes
            integer(c_int) :: error
        end function cu_copy
    end interface

contains

    function driver_call(name) result(call)
        character(len=*), intent(in) :: name
        type(c_funptr) :: call
        type(c_ptr) :: library

        library = dlopen('libcuda.so.1' // c_null_char, RTLD_NOW)
        if (.not. c_associated(library)) error stop 'there is no libcuda.so.1'
        call = dlsym(library, name // c_null_char)
        if (.not. c_associated(call)) error stop 'the driver is too old'
    end function driver_call

    subroutine check(error)
        integer(c_int), intent(in) :: error

        if (error /= 0) error stop 'a call of CUDA failed'
    end subroutine check

    ! Takes the first GPU that the rank sees. Before all others.
    subroutine device_start()
        procedure(cu_init), pointer :: init
        procedure(cu_retain), pointer :: retain
        procedure(cu_take), pointer :: set_current
        type(c_ptr) :: context

        call c_f_procpointer(driver_call('cuInit'), init)
        call c_f_procpointer(driver_call('cuDevicePrimaryCtxRetain'), retain)
        call c_f_procpointer(driver_call('cuCtxSetCurrent'), set_current)
        call check(init(0))
        call check(retain(context, 0))
        call check(set_current(context))
    end subroutine device_start

    function device_alloc(nbytes) result(memory)
        integer, intent(in) :: nbytes
        type(c_ptr) :: memory
        procedure(cu_alloc), pointer :: alloc

        call c_f_procpointer(driver_call('cuMemAlloc_v2'), alloc)
        call check(alloc(memory, int(nbytes, c_size_t)))
    end function device_alloc

    subroutine device_free(memory)
        type(c_ptr), intent(in) :: memory
        procedure(cu_take), pointer :: free

        call c_f_procpointer(driver_call('cuMemFree_v2'), free)
        call check(free(memory))
    end subroutine device_free

    ! Host to device. From pageable memory the copy may return before the data are there,
    ! which nonblocking messages and other streams would not wait for.
    subroutine device_write(to, from, nbytes)
        type(c_ptr), intent(in) :: to, from
        integer, intent(in) :: nbytes
        procedure(cu_copy), pointer :: copy
        procedure(cu_wait), pointer :: wait

        call c_f_procpointer(driver_call('cuMemcpyHtoD_v2'), copy)
        call c_f_procpointer(driver_call('cuCtxSynchronize'), wait)
        call check(copy(to, from, int(nbytes, c_size_t)))
        call check(wait())
    end subroutine device_write

    ! Device to host.
    subroutine device_read(to, from, nbytes)
        type(c_ptr), intent(in) :: to, from
        integer, intent(in) :: nbytes
        procedure(cu_copy), pointer :: copy

        call c_f_procpointer(driver_call('cuMemcpyDtoH_v2'), copy)
        call check(copy(to, from, int(nbytes, c_size_t)))
    end subroutine device_read

    ! A stream that does not block.
    function device_stream() result(stream)
        type(c_ptr) :: stream
        procedure(cu_create), pointer :: create

        call c_f_procpointer(driver_call('cuStreamCreate'), create)
        call check(create(stream, 1))
    end function device_stream

    subroutine device_wait(stream)
        type(c_ptr), intent(in) :: stream
        procedure(cu_take), pointer :: wait

        call c_f_procpointer(driver_call('cuStreamSynchronize'), wait)
        call check(wait(stream))
    end subroutine device_wait

    ! The place nbytes behind memory.
    function device_at(memory, nbytes) result(place)
        type(c_ptr), intent(in) :: memory
        integer, intent(in) :: nbytes
        type(c_ptr) :: place

        place = transfer(transfer(memory, 0_c_intptr_t) + nbytes, place)
    end function device_at
end module device
