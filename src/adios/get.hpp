/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file get.hpp
 * The readers' side: steps, and boxes and blocks of their variables.
 */
#ifndef WIO_ADIOS2_GET_HPP
#define WIO_ADIOS2_GET_HPP

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <adios2/common/ADIOSTypes.h>
#include <adios2/common/Selection.h>

#include "adios/box.hpp"
#include "adios/settings.hpp"

namespace wio_adios2
{

/** A variable of the step that is open, as ADIOS2's program sees it. */
struct Seen {
    int type;             /**< WAITIO_STAGE_* */
    bool chars;           /**< ADIOS2's char */
    adios2::ShapeID kind; /**< JoinedArray, LocalValue: as they were written. Read as GlobalArray */
    size_t joined;        /**< JoinedArray: the dimension; LocalValue: 0 */
    Dims shape;           /**< of what is read as a global array */
    struct Part {
        int writer;
        Dims start, count;
    };
    std::vector<Part> parts;          /**< the blocks of an array */
    std::vector<unsigned char> value; /**< of a scalar */
    std::string text;                 /**< of a text */
    const char *text_at = nullptr;    /**< its bytes, for MinVarInfo */
};

/** The stream of one engine, for reading. Not for several threads. All throw (problem.hpp). */
class Reader
{
  public:
    explicit Reader(const Settings &settings);
    ~Reader();
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    /** @param seconds < 0: the limit of the settings. OtherError: a peer has failed; the text went
     * to stderr */
    adios2::StepStatus begin_step(double seconds);
    void end_step();
    void close();
    size_t step() const;
    /** Variables of the step that is open, by name. */
    const std::map<std::string, Seen> &seen() const
    {
        return m_seen;
    }
    /** Get what is selected; the data has come after perform() or end_step().
     * @param room elements that the program has counted on, or ADIOS2 for it; 0: not known */
    void get(const std::string &name, int type, void *data,
             const adios2::core::Selection &selection, size_t room);
    const std::string &get_text(const std::string &name);
    void perform();
    /** @return for the caller to delete, or NULL */
    adios2::MinVarInfo *blocks(const std::string &name) const;
    waitio_stage_t stream() const
    {
        return m_stage;
    }

  private:
    void check_stream(int rc);
    /* Where data of a get goes in the program's memory. */
    struct Target {
        void *data;
        size_t size;
        Place place;
    };
    /* A block or box that came into memory of ours, and goes on from there. */
    struct Onward {
        std::unique_ptr<unsigned char[]> came;
        Place from;
        Target to;
        Dims count;
    };
    static Target target(const std::string &name, void *data, size_t size,
                         const adios2::core::Selection &selection, const Dims &count);
    const Seen &find(const std::string &name) const;
    Seen look_at(const waitio_stage_variable &v);
    void look_at_blocks(const waitio_stage_variable &v, Seen &seen);
    void get_box(const std::string &name, const Seen &seen, const Target &to, const Dims &start,
                 const Dims &count, bool packed);
    void get_block(const std::string &name, const Seen &seen, const Target &to, size_t block,
                   const adios2::core::Selection &selection, size_t room);
    void get_parts(const std::string &name, const Seen &seen, const Target &to, const Dims &start,
                   const Dims &count);
    void *keep(const Dims &room, const Place &from, const Target &to, const Dims &count);

    Settings m_settings;
    waitio_stage_t m_stage = nullptr;
    bool m_told = false; /* of the stream's failure: close says the same again */
    std::map<std::string, Seen> m_seen;
    std::vector<Onward> m_onward;
    bool m_wanted = false;
};

} // namespace wio_adios2

#endif
