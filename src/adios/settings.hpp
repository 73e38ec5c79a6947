/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file settings.hpp
 * The parameters of an engine. Names and meanings are those of SST where SST has them.
 */
#ifndef WIO_ADIOS2_SETTINGS_HPP
#define WIO_ADIOS2_SETTINGS_HPP

#include <map>
#include <string>

#include "waitio_stage.h"

namespace wio_adios2
{

struct Settings {
    std::string stream;              /**< its name */
    std::string processes = "block"; /**< who opens it: block, self, or ranks of the block */
    double limit = 600;              /**< seconds that calls wait which are told no other limit */
    double open_limit = 60;          /**< that readers wait for the writers */
    size_t deferred_least =
        4 << 20;         /**< smaller blocks are copied by Put: programs of SST count on it */
    bool latest = false; /**< readers: take the newest step each time */
    waitio_stage_settings stage = {}; /**< for waitio_stage_open() */
};

/**
 * @param parameters of the IO; names are not case sensitive @param plugin_name the stream's name
 * where no parameter gives one @param writer who opens
 * @throw std::invalid_argument: an unknown parameter, a value that does not fit, or something that
 * SST has and this engine has not
 */
Settings read_settings(const std::map<std::string, std::string> &parameters,
                       const std::string &plugin_name, bool writer);
/** The processes that open the stream together. Joins the universe. @return NULL: the whole block;
 * else free it with waitio_group_free() */
waitio_group_t find_members(const Settings &settings);

} // namespace wio_adios2

#endif
