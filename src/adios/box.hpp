/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file box.hpp
 * Boxes within arrays, in C order. Pure functions.
 */
#ifndef WIO_ADIOS2_BOX_HPP
#define WIO_ADIOS2_BOX_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace wio_adios2
{

using Dims = std::vector<size_t>;

/** A box in an array, e.g. one in the program's memory. */
struct Place {
    Dims shape; /**< of the array */
    Dims start; /**< where the box begins in it */
};

/** Elements of a box of these counts; 1 for none. */
size_t volume(const Dims &count);
/** "{2, 3}" for messages. */
std::string text_of(const Dims &dims);
/** Lies the box in an array of that shape? */
bool inside(const Dims &start, const Dims &count, const Dims &shape);
/** Does the box fill the whole array? */
bool whole(const Dims &start, const Dims &count, const Dims &shape);
/** Copy a box of @p count elements of @p size bytes from one array to another. Both hold it. */
void copy_box(size_t size, const Place &from, const void *source, const Place &to, void *target,
              const Dims &count);

} // namespace wio_adios2

#endif
