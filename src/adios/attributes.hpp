/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file attributes.hpp
 * Attributes of an IO become attributes of the stream, and of the readers' IO. ADIOS2 does not tell
 * plugins that an attribute was defined: at the end of each step all are looked through.
 */
#ifndef WIO_ADIOS2_ATTRIBUTES_HPP
#define WIO_ADIOS2_ATTRIBUTES_HPP

#include <map>
#include <string>

#include <adios2/cxx/IO.h>

#include "waitio_stage.h"

namespace wio_adios2
{

/** One side's attributes. */
class Attributes
{
  public:
    /** Tell the stream what is new or has changed in the IO. Before the end of a step. */
    void send(adios2::IO &io, waitio_stage_t stage);
    /** Define in the IO what is new or has changed in the step that is open. */
    void receive(adios2::IO &io, waitio_stage_t stage);

  private:
    std::map<std::string, std::string> m_last; /* type and bytes, by name */
};

} // namespace wio_adios2

#endif
