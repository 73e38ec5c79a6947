/* SPDX-License-Identifier: BSD-3-Clause */
/* The writers' side. */
#include "adios/put.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "adios/problem.hpp"
#include "adios/types.hpp"

namespace wio_adios2
{

/* Streams that this process writes: two engines of one name are a slip, for ADIOS2 does not tell a
 * plugin the name that Open was given. */
static std::set<std::string> &open_here()
{
    static std::set<std::string> names;

    return names;
}

Writer::Writer(const Settings &settings) : m_settings(settings)
{
    if (!open_here().insert(settings.stream).second)
        refuse(
            "stream '" + settings.stream +
            "' is open for writing already. ADIOS2 does not tell plugins the name given to Open: "
            "give each engine its own parameter StreamName (or PluginName)");
    try {
        waitio_group_t group = find_members(settings);
        const int rc = waitio_stage_open(settings.stream.c_str(), WAITIO_STAGE_WRITE, group,
                                         &settings.stage, &m_stage);
        if (group != nullptr)
            (void)waitio_group_free(&group);
        check(rc);
    } catch (...) {
        open_here().erase(settings.stream);
        throw;
    }
}

Writer::~Writer()
{
    if (m_stage == nullptr)
        return;
    if (waitio_stage_close(&m_stage, m_settings.limit) != 0 && !m_told)
        std::fprintf(stderr, "waitio_adios2: %s\n", waitio_stage_last_error());
    open_here().erase(m_settings.stream);
}

void Writer::close()
{
    if (m_stage == nullptr)
        return;
    open_here().erase(m_settings.stream);
    check(waitio_stage_close(&m_stage, m_settings.limit));
}

/* ---- steps ---------------------------------------------------------------------------------- */

void Writer::check_stream(int rc)
{
    m_told = m_told || rc != 0;
    check(rc);
}

bool Writer::begin_step()
{
    const int rc = waitio_stage_begin_step(m_stage, WAITIO_STAGE_NEXT, 0, nullptr);

    if (rc == WAITIO_ERR_PEER) {
        m_told = true;
        std::fprintf(stderr, "waitio_adios2: %s\n", waitio_stage_last_error());
        return false;
    }
    check_stream(rc);
    m_in_step = true;
    return true;
}

void Writer::end_step()
{
    for (const Later &l : m_later)
        check(waitio_stage_put(m_stage, l.variable, l.start.data(), l.count.data(), l.data,
                               WAITIO_STAGE_DEFERRED));
    m_later.clear();
    check_stream(waitio_stage_end_step(m_stage, m_settings.limit));
    m_in_step = false;
}

void Writer::perform()
{
    for (const Later &l : m_later)
        check(waitio_stage_put(m_stage, l.variable, l.start.data(), l.count.data(), l.data,
                               WAITIO_STAGE_NOW));
    m_later.clear();
}

size_t Writer::step() const
{
    int64_t step = -1;

    (void)waitio_stage_step(m_stage, &step);
    return step < 0 ? 0 : static_cast<size_t>(step);
}

void Writer::need_step(const std::string &name) const
{
    if (!m_in_step)
        refuse("variable '" + name + "' of stream '" + m_settings.stream +
               "': Put needs an open step: call BeginStep first");
}

/* ---- puts ----------------------------------------------------------------------------------- */

/* What WaitIO's variable does not say of ADIOS2's. */
void Writer::mark(const Block &block)
{
    std::string words;

    if (block.chars)
        words += "char;";
    if (block.kind == adios2::ShapeID::LocalValue)
        words += "local value;";
    if (block.kind == adios2::ShapeID::JoinedArray) {
        const auto joined = std::find(block.shape.begin(), block.shape.end(), adios2::JoinedDim);

        words += "joined " + std::to_string(joined - block.shape.begin()) + ";";
    }
    if (!words.empty())
        check(waitio_stage_attribute(m_stage, (MARK_VARIABLE + block.name).c_str(),
                                     WAITIO_STAGE_STRING, 0, words.c_str()));
}

static std::vector<uint64_t> numbers(const Dims &dims)
{
    return std::vector<uint64_t>(dims.begin(), dims.end());
}

std::string Writer::where(const Block &block) const
{
    return "stream '" + m_settings.stream + "', step " + std::to_string(step()) + ": variable '" +
           block.name + "'";
}

/* Shape, start and count are read together, as many elements of each as the block has dimensions.
 * ADIOS2 does not compare them for each kind of variable. */
void Writer::check_dimensions(const Block &block) const
{
    const bool global = block.kind == adios2::ShapeID::GlobalArray;
    const bool shaped = global || block.kind == adios2::ShapeID::JoinedArray;

    if ((shaped && block.count.size() != block.shape.size()) ||
        (global && block.start.size() != block.shape.size()))
        refuse(where(block) + " has the shape " + text_of(block.shape) + ", the block at " +
               text_of(block.start) + " of " + text_of(block.count) +
               " elements has another number of dimensions");
    if (block.in_memory && !inside(block.memory.start, block.count, block.memory.shape))
        refuse(where(block) + ": the block of " + text_of(block.count) +
               " elements does not fit the memory selection at " + text_of(block.memory.start) +
               " of " + text_of(block.memory.shape));
}

void Writer::check_known(const Known &known, const Block &block) const
{
    const bool value = block.kind == adios2::ShapeID::GlobalValue;

    if (known.type == block.type && known.kind == block.kind &&
        (value || known.ndims == block.count.size()))
        return;
    refuse(where(block) +
           " is not what it was in earlier puts: type, kind and number of "
           "dimensions of a variable stay (then " +
           std::to_string(known.ndims) + " dimensions, now " + std::to_string(block.count.size()) +
           ")");
}

const Writer::Known &Writer::define(const Block &block)
{
    const bool global = block.kind == adios2::ShapeID::GlobalArray;
    const auto at = m_known.find(block.name);

    if (block.kind != adios2::ShapeID::GlobalValue)
        check_dimensions(block);
    if (at != m_known.end()) {
        Known &k = at->second;

        check_known(k, block);
        if (global && k.shape != block.shape) {
            check(waitio_stage_reshape(m_stage, k.number, numbers(block.shape).data()));
            k.shape = block.shape;
        }
        return k;
    }
    Known k = {-1, block.type, block.kind, block.count.size(), block.shape};
    mark(block);
    if (block.kind != adios2::ShapeID::GlobalValue)
        check(waitio_stage_define(m_stage, block.name.c_str(), block.type,
                                  static_cast<int>(block.count.size()),
                                  global ? numbers(block.shape).data() : nullptr, &k.number));
    return m_known.emplace(block.name, k).first->second;
}

void Writer::put_block(const Known &known, const Block &block, bool now)
{
    const size_t size = waitio_stage_size(block.type);
    const Dims start =
        known.kind == adios2::ShapeID::GlobalArray ? block.start : Dims(block.count.size(), 0);

    if (block.in_memory) {
        std::vector<char> packed(size * volume(block.count));

        copy_box(size, block.memory, block.data, {block.count, Dims(block.count.size(), 0)},
                 packed.data(), block.count);
        check(waitio_stage_put(m_stage, known.number, numbers(start).data(),
                               numbers(block.count).data(), packed.data(), WAITIO_STAGE_NOW));
    } else if (now || size * volume(block.count) < m_settings.deferred_least) {
        check(waitio_stage_put(m_stage, known.number, numbers(start).data(),
                               numbers(block.count).data(), block.data, WAITIO_STAGE_NOW));
    } else {
        m_later.push_back({known.number, start, block.count, block.data});
    }
}

void Writer::put(const Block &block, bool now)
{
    need_step(block.name);
    const Known &known = define(block);

    if (known.kind == adios2::ShapeID::GlobalValue)
        check(waitio_stage_put_scalar(m_stage, block.name.c_str(), block.type, block.data));
    else
        put_block(known, block, now);
}

void Writer::put_text(const std::string &name, const std::string &text)
{
    need_step(name);
    if (text.find('\0') != std::string::npos)
        refuse("variable '" + name + "': a text with a zero byte is not supported");
    check(waitio_stage_put_text(m_stage, name.c_str(), text.c_str()));
}

} // namespace wio_adios2
