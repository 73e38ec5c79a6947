/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file put.hpp
 * The writers' side: what a program puts becomes blocks of WaitIO's variables.
 */
#ifndef WIO_ADIOS2_PUT_HPP
#define WIO_ADIOS2_PUT_HPP

#include <map>
#include <string>
#include <vector>

#include <adios2/common/ADIOSTypes.h>

#include "adios/box.hpp"
#include "adios/settings.hpp"

namespace wio_adios2
{

/** A block that the program puts, without its C++ type. */
struct Block {
    std::string name;
    int type;   /**< WAITIO_STAGE_*; not _STRING */
    bool chars; /**< ADIOS2's char */
    adios2::ShapeID kind;
    Dims shape, start, count;
    const void *data;
    bool in_memory; /**< the block lies within a larger array: */
    Place memory;
};

/** The stream of one engine, for writing. Not for several threads. All throw (problem.hpp). */
class Writer
{
  public:
    explicit Writer(const Settings &settings);
    ~Writer();
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;

    /** @return false: a peer has failed; the text went to stderr */
    bool begin_step();
    /** @param now copy it at once; else the array stays until perform() or end_step() */
    void put(const Block &block, bool now);
    void put_text(const std::string &name, const std::string &text);
    void perform();
    void end_step();
    void close();
    size_t step() const;
    waitio_stage_t stream() const
    {
        return m_stage;
    }

  private:
    void check_stream(int rc);
    struct Known {
        int number, type;
        adios2::ShapeID kind;
        size_t ndims; /* of each block */
        Dims shape;
    };
    struct Later {
        int variable;
        Dims start, count;
        const void *data;
    };
    const Known &define(const Block &block);
    void mark(const Block &block);
    void put_block(const Known &known, const Block &block, bool now);
    void need_step(const std::string &name) const;
    std::string where(const Block &block) const;
    void check_dimensions(const Block &block) const;
    void check_known(const Known &known, const Block &block) const;

    Settings m_settings;
    waitio_stage_t m_stage = nullptr;
    bool m_told = false; /* of the stream's failure: close says the same again */
    bool m_in_step = false;
    std::map<std::string, Known> m_known;
    std::vector<Later> m_later; /* deferred, not yet told to the stream */
};

} // namespace wio_adios2

#endif
