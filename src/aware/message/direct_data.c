#include "aware/message/direct_data.h"

#include "aware/memory/gpu_buffer.h"
#include "aware/message/direct_memory.h"

/* The last element of its descriptor, which is not as long as the data, may be a part; an MPI that refuses
 * such. */
static bool may_end_in_a_part(const struct direct_data *data)
{
    return data->nbytes >= DIRECT_LARGE && typed_needs_whole_elements(&data->typed);
}

bool direct_data_find(struct direct_data *data, const void *buf, MPI_Count count, MPI_Datatype type)
{
    char *start;

    *data = (struct direct_data){.typed = typed_at(buf, 0, count, type)};
    if (!gpu_is_in_use() || count <= 0 || type == MPI_DATATYPE_NULL)
        return false;
    data->nbytes = typed_bytes(&data->typed);
    if (data->nbytes < DIRECT_LEAST)
        return false;
    data->gaps = !typed_is_contiguous(&data->typed, &start);
    if (data->gaps)
        start = data->nbytes >= DIRECT_LARGE ? typed_low(&data->typed) : NULL;
    if (may_end_in_a_part(data)) /* the receiver's type may have gaps where this one has none */
        start = NULL;
    data->gpu = start;
    return start && buffer_allocation(start, &data->allocation);
}

static bool pack(struct direct_data *data)
{
    struct entered entered;

    if (!buffer_enter(data->gpu, &entered))
        return false;
    data->packed = gpu_pool_take(entered.context, (size_t)data->nbytes);
    buffer_leave(&entered);
    if (!data->packed)
        return false;
    data->gpu = gpu_pool_at(data->packed);
    if (typed_pack_gpu(&data->typed, gpu_pool_at(data->packed)) == MPI_SUCCESS &&
        buffer_allocation(data->gpu, &data->allocation))
        return true;
    gpu_pool_give(data->packed);
    return false;
}

static bool export(struct direct_data *data)
{
    return direct_export(data->gpu, (size_t)data->nbytes, &data->allocation, &data->memory);
}

bool direct_data_prepare(struct direct_data *data)
{
    if (!data->gaps)
        return export(data) && direct_settle_allocation(&data->allocation, data->gpu) == 0;
    if (!pack(data))
        return false;
    if (export(data))
        return true;
    gpu_pool_give(data->packed);
    return false;
}
