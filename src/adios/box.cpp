/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes within arrays. */
#include "adios/box.hpp"

#include <cstring>

namespace wio_adios2
{

size_t volume(const Dims &count)
{
    size_t n = 1;

    for (size_t c : count)
        n *= c;
    return n;
}

std::string text_of(const Dims &dims)
{
    std::string text = "{";

    for (size_t d = 0; d < dims.size(); d++)
        text += (d > 0 ? ", " : "") + std::to_string(dims[d]);
    return text + "}";
}

bool inside(const Dims &start, const Dims &count, const Dims &shape)
{
    if (start.size() != shape.size() || count.size() != shape.size())
        return false;
    for (size_t d = 0; d < shape.size(); d++)
        if (start[d] > shape[d] || count[d] > shape[d] - start[d])
            return false;
    return true;
}

bool whole(const Dims &start, const Dims &count, const Dims &shape)
{
    for (size_t s : start)
        if (s != 0)
            return false;
    return count == shape;
}

/* Elements from one row to the next in dimension d. */
static size_t stride(const Dims &shape, size_t d)
{
    size_t n = 1;

    while (++d < shape.size())
        n *= shape[d];
    return n;
}

static void copy_from(size_t d, size_t size, const Place &from, const char *source, const Place &to,
                      char *target, const Dims &count)
{
    if (d + 1 >= count.size()) {
        std::memcpy(target, source, size * (count.empty() ? 1 : count[d]));
        return;
    }
    const size_t step_from = size * stride(from.shape, d), step_to = size * stride(to.shape, d);
    for (size_t i = 0; i < count[d]; i++)
        copy_from(d + 1, size, from, source + i * step_from, to, target + i * step_to, count);
}

static size_t first(const Place &place)
{
    size_t at = 0;

    for (size_t d = 0; d < place.shape.size(); d++)
        at = at * place.shape[d] + place.start[d];
    return at;
}

void copy_box(size_t size, const Place &from, const void *source, const Place &to, void *target,
              const Dims &count)
{
    if (volume(count) == 0)
        return;
    copy_from(0, size, from, static_cast<const char *>(source) + size * first(from), to,
              static_cast<char *>(target) + size * first(to), count);
}

} // namespace wio_adios2
