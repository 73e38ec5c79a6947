/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file problem.hpp
 * How errors reach the program: as exceptions, like those of other engines. ADIOS2's Python package
 * makes ValueError of std::invalid_argument, and RuntimeError of std::runtime_error.
 */
#ifndef WIO_ADIOS2_PROBLEM_HPP
#define WIO_ADIOS2_PROBLEM_HPP

#include <stdexcept>
#include <string>

#include "waitio_stage.h"

namespace wio_adios2
{

/** What the program asks for is wrong, or this engine cannot do it. @param text names it */
[[noreturn]] inline void refuse(const std::string &text)
{
    throw std::invalid_argument("waitio_adios2: " + text);
}

/** A call of waitio_stage.h has returned @p rc: throw its text if that is an error. */
inline void check(int rc)
{
    if (rc == 0)
        return;
    const std::string text = std::string("waitio_adios2: ") + waitio_stage_last_error();
    if (rc == WAITIO_ERR_ARG || rc == WAITIO_ERR_STATE)
        throw std::invalid_argument(text);
    throw std::runtime_error(text);
}

/** The same for a call of waitio.h. */
inline void check_core(int rc)
{
    if (rc != 0)
        throw std::runtime_error(std::string("waitio_adios2: ") + waitio_last_error());
}

} // namespace wio_adios2

#endif
