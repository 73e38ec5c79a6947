/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file types.hpp
 * ADIOS2's types of elements and those of WaitIO. What a stream has no word for (char, values of
 * each writer, joined arrays) travels in a *mark*: an attribute of the stream whose name begins
 * with MARK and ends with the variable's name. Readers that know nothing of ADIOS2 see int8
 * elements and local arrays.
 */
#ifndef WIO_ADIOS2_TYPES_HPP
#define WIO_ADIOS2_TYPES_HPP

#include <complex>
#include <cstdint>
#include <string>

#include "waitio_stage.h"

namespace wio_adios2
{

/** How names of attributes begin that are not the program's. */
constexpr const char *MARK = "adios2:";
/** For a variable: words as "char", "local value", "joined 0". */
constexpr const char *MARK_VARIABLE = "adios2:variable:";
/** An attribute of several texts: their bytes, each text ended by 0. */
constexpr const char *MARK_TEXTS = "adios2:texts:";
/** An attribute of type char: its bytes. */
constexpr const char *MARK_CHARS = "adios2:chars:";

/** WaitIO's type for T; 0: it has none. Inline, for clang defines the others in each file. */
template <class T> constexpr int type_of = 0;
template <> inline constexpr int type_of<char> = WAITIO_STAGE_INT8;
template <> inline constexpr int type_of<int8_t> = WAITIO_STAGE_INT8;
template <> inline constexpr int type_of<int16_t> = WAITIO_STAGE_INT16;
template <> inline constexpr int type_of<int32_t> = WAITIO_STAGE_INT32;
template <> inline constexpr int type_of<int64_t> = WAITIO_STAGE_INT64;
template <> inline constexpr int type_of<uint8_t> = WAITIO_STAGE_UINT8;
template <> inline constexpr int type_of<uint16_t> = WAITIO_STAGE_UINT16;
template <> inline constexpr int type_of<uint32_t> = WAITIO_STAGE_UINT32;
template <> inline constexpr int type_of<uint64_t> = WAITIO_STAGE_UINT64;
template <> inline constexpr int type_of<float> = WAITIO_STAGE_FLOAT;
template <> inline constexpr int type_of<double> = WAITIO_STAGE_DOUBLE;
template <> inline constexpr int type_of<std::complex<float>> = WAITIO_STAGE_FLOAT_COMPLEX;
template <> inline constexpr int type_of<std::complex<double>> = WAITIO_STAGE_DOUBLE_COMPLEX;
template <> inline constexpr int type_of<std::string> = WAITIO_STAGE_STRING;

template <class T> constexpr bool is_char = false;
template <> inline constexpr bool is_char<char> = true;

/** Call use(T()) with the C++ type of a WaitIO type. @param chars int8 is char
 * @return false: no such type */
template <class Use> bool with_type(int type, bool chars, Use &&use)
{
    switch (type) {
    case WAITIO_STAGE_INT8:
        chars ? use(char()) : use(int8_t());
        return true;
    case WAITIO_STAGE_INT16:
        use(int16_t());
        return true;
    case WAITIO_STAGE_INT32:
        use(int32_t());
        return true;
    case WAITIO_STAGE_INT64:
        use(int64_t());
        return true;
    case WAITIO_STAGE_UINT8:
        use(uint8_t());
        return true;
    case WAITIO_STAGE_UINT16:
        use(uint16_t());
        return true;
    case WAITIO_STAGE_UINT32:
        use(uint32_t());
        return true;
    case WAITIO_STAGE_UINT64:
        use(uint64_t());
        return true;
    case WAITIO_STAGE_FLOAT:
        use(float());
        return true;
    case WAITIO_STAGE_DOUBLE:
        use(double());
        return true;
    case WAITIO_STAGE_FLOAT_COMPLEX:
        use(std::complex<float>());
        return true;
    case WAITIO_STAGE_DOUBLE_COMPLEX:
        use(std::complex<double>());
        return true;
    case WAITIO_STAGE_STRING:
        use(std::string());
        return true;
    default:
        return false;
    }
}

} // namespace wio_adios2

#endif
