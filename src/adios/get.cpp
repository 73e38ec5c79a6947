/* SPDX-License-Identifier: BSD-3-Clause */
/* The readers' side. */
#include "adios/get.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "adios/problem.hpp"
#include "adios/types.hpp"

namespace wio_adios2
{

using adios2::ShapeID;
using adios2::StepStatus;

Reader::Reader(const Settings &settings) : m_settings(settings)
{
    waitio_group_t group = find_members(settings);
    const int rc = waitio_stage_open(settings.stream.c_str(), WAITIO_STAGE_READ, group,
                                     &settings.stage, &m_stage);

    if (group != nullptr)
        (void)waitio_group_free(&group);
    check(rc);
}

Reader::~Reader()
{
    if (m_stage != nullptr && waitio_stage_close(&m_stage, m_settings.limit) != 0 && !m_told)
        std::fprintf(stderr, "waitio_adios2: %s\n", waitio_stage_last_error());
}

void Reader::close()
{
    m_seen.clear();
    if (m_stage != nullptr)
        check(waitio_stage_close(&m_stage, m_settings.limit));
}

/* ---- steps ---------------------------------------------------------------------------------- */

void Reader::check_stream(int rc)
{
    m_told = m_told || rc != 0;
    check(rc);
}

StepStatus Reader::begin_step(double seconds)
{
    const int which = m_settings.latest ? WAITIO_STAGE_LATEST : WAITIO_STAGE_NEXT;
    int status = WAITIO_STAGE_NOT_READY;
    const int rc =
        waitio_stage_begin_step(m_stage, which, seconds < 0 ? m_settings.limit : seconds, &status);

    if (rc == WAITIO_ERR_PEER) {
        m_told = true;
        std::fprintf(stderr, "waitio_adios2: %s\n", waitio_stage_last_error());
        return StepStatus::OtherError;
    }
    check_stream(rc);
    if (status != WAITIO_STAGE_OK)
        return status == WAITIO_STAGE_END ? StepStatus::EndOfStream : StepStatus::NotReady;

    int n = 0;
    m_seen.clear();
    check(waitio_stage_variables(m_stage, &n));
    for (int i = 0; i < n; i++) {
        waitio_stage_variable v;

        check(waitio_stage_variable_at(m_stage, i, &v));
        Seen &seen = m_seen[v.name] = look_at(v);
        seen.text_at = seen.text.c_str();
    }
    return StepStatus::OK;
}

void Reader::end_step()
{
    perform();
    check_stream(waitio_stage_end_step(m_stage, m_settings.limit));
}

void Reader::perform()
{
    if (m_wanted)
        check_stream(waitio_stage_perform(m_stage, m_settings.limit));
    m_wanted = false;
    for (const Onward &o : m_onward)
        copy_box(o.to.size, o.from, o.came.get(), o.to.place, o.to.data, o.count);
    m_onward.clear();
}

size_t Reader::step() const
{
    int64_t step = -1;

    (void)waitio_stage_step(m_stage, &step);
    return step < 0 ? 0 : static_cast<size_t>(step);
}

/* ---- what a step has ------------------------------------------------------------------------ */

static std::string mark_of(waitio_stage_t stage, const char *name)
{
    const void *text = nullptr;
    int type = 0;

    if (waitio_stage_get_attribute(stage, (MARK_VARIABLE + std::string(name)).c_str(), &type,
                                   nullptr, &text) != 0 ||
        type != WAITIO_STAGE_STRING)
        return "";
    return static_cast<const char *>(text);
}

Seen Reader::look_at(const waitio_stage_variable &v)
{
    const std::string mark = mark_of(m_stage, v.name);
    const size_t joined = mark.find("joined ");
    Seen seen = {};

    seen.type = v.type;
    seen.chars = mark.find("char;") != std::string::npos;
    seen.kind = v.kind == WAITIO_STAGE_SCALAR   ? ShapeID::GlobalValue
                : v.kind == WAITIO_STAGE_GLOBAL ? ShapeID::GlobalArray
                                                : ShapeID::LocalArray;
    seen.shape.assign(v.shape, v.shape + (v.kind == WAITIO_STAGE_GLOBAL ? v.ndims : 0));
    if (seen.kind == ShapeID::LocalArray && mark.find("local value;") != std::string::npos)
        seen.kind = ShapeID::LocalValue;
    if (seen.kind == ShapeID::LocalArray && joined != std::string::npos) {
        seen.kind = ShapeID::JoinedArray;
        seen.joined = std::strtoul(mark.c_str() + joined + 7, nullptr, 10);
    }
    if (seen.kind != ShapeID::GlobalValue) {
        look_at_blocks(v, seen);
    } else if (v.type == WAITIO_STAGE_STRING) {
        const char *text = nullptr;

        check(waitio_stage_get_text(m_stage, v.name, &text));
        seen.text = text;
    } else {
        seen.value.resize(waitio_stage_size(v.type));
        check(waitio_stage_get_scalar(m_stage, v.name, v.type, seen.value.data()));
    }
    return seen;
}

/* Blocks of a local array, one behind the other along a dimension. */
static void join(const char *name, Seen &seen)
{
    size_t end = 0;

    if (seen.parts.empty() || seen.joined >= seen.parts[0].count.size())
        refuse(std::string("variable '") + name + "': its mark names a dimension that it has not");
    for (Seen::Part &p : seen.parts) {
        p.start.assign(p.count.size(), 0);
        p.start[seen.joined] = end;
        end += p.count[seen.joined];
    }
    seen.shape = seen.parts[0].count;
    seen.shape[seen.joined] = end;
    for (const Seen::Part &p : seen.parts)
        if (!inside(p.start, p.count, seen.shape))
            refuse(std::string("variable '") + name + "': its blocks " + text_of(p.count) +
                   " and " + text_of(seen.parts[0].count) +
                   " differ in more than the joined dimension");
}

void Reader::look_at_blocks(const waitio_stage_variable &v, Seen &seen)
{
    uint64_t start[WAITIO_STAGE_DIMS_MAX], count[WAITIO_STAGE_DIMS_MAX];

    seen.parts.resize(v.blocks);
    for (size_t b = 0; b < v.blocks; b++) {
        check(waitio_stage_block(m_stage, v.name, b, &seen.parts[b].writer, start, count));
        seen.parts[b].count.assign(count, count + v.ndims);
        if (seen.kind == ShapeID::GlobalArray)
            seen.parts[b].start.assign(start, start + v.ndims);
    }
    if (seen.kind == ShapeID::JoinedArray || seen.kind == ShapeID::LocalValue)
        join(v.name, seen);
}

const Seen &Reader::find(const std::string &name) const
{
    const auto at = m_seen.find(name);

    if (at == m_seen.end())
        refuse("variable '" + name + "' is not in step " + std::to_string(step()) + " of stream '" +
               m_settings.stream + "'");
    return at->second;
}

/* ADIOS2 takes statistics that are not known from these too; numbers that look right would be
 * worse than none. */
static void no_statistics(int type, adios2::MinMaxStruct &m)
{
    std::memset(static_cast<void *>(&m), 0, sizeof m);
    if (type == WAITIO_STAGE_FLOAT)
        m.MinUnion.field_float = m.MaxUnion.field_float = std::numeric_limits<float>::quiet_NaN();
    if (type == WAITIO_STAGE_DOUBLE)
        m.MinUnion.field_double = m.MaxUnion.field_double =
            std::numeric_limits<double>::quiet_NaN();
}

adios2::MinVarInfo *Reader::blocks(const std::string &name) const
{
    const auto at = m_seen.find(name);

    if (at == m_seen.end())
        return nullptr;
    const Seen &s = at->second;
    const bool local = s.kind == ShapeID::LocalArray, value = s.kind == ShapeID::GlobalValue;
    const size_t dims = s.parts.empty() ? s.shape.size() : s.parts[0].count.size();
    auto *info =
        new adios2::MinVarInfo(static_cast<int>(dims), local || value ? nullptr : s.shape.data());

    info->Step = step();
    info->WasLocalValue = false; /* start and count are given as for other arrays */
    info->IsValue = value;
    for (size_t b = 0; b < (value ? 1 : s.parts.size()); b++) {
        adios2::MinBlockInfo block;

        block.BlockID = b;
        block.WriterID = value ? 0 : s.parts[b].writer;
        block.Start = value || local ? nullptr : s.parts[b].start.data();
        block.Count = value ? nullptr : s.parts[b].count.data();
        no_statistics(s.type, block.MinMax);
        if (value && s.type == WAITIO_STAGE_STRING)
            block.BufferP = const_cast<const char **>(&s.text_at);
        else if (value)
            block.BufferP = const_cast<unsigned char *>(s.value.data());
        info->BlocksInfo.push_back(block);
    }
    return info;
}

/* ---- gets ----------------------------------------------------------------------------------- */

const std::string &Reader::get_text(const std::string &name)
{
    const Seen &seen = find(name);

    if (seen.type != WAITIO_STAGE_STRING)
        refuse("variable '" + name + "' is no text");
    return seen.text;
}

/* Memory of ours for a box that does not fit the program's as it is. */
void *Reader::keep(const Dims &room, const Place &from, const Target &to, const Dims &count)
{
    const size_t bytes = to.size * volume(room);

    m_onward.push_back(
        {std::unique_ptr<unsigned char[]>(new unsigned char[bytes]), from, to, count});
    return m_onward.back().came.get();
}

static std::vector<uint64_t> numbers(const Dims &dims)
{
    return std::vector<uint64_t>(dims.begin(), dims.end());
}

static Dims zeros(const Dims &like)
{
    return Dims(like.size(), 0);
}

void Reader::get_box(const std::string &name, const Seen &seen, const Target &to, const Dims &start,
                     const Dims &count, bool packed)
{
    void *data = packed ? to.data : keep(count, {count, zeros(count)}, to, count);

    check(waitio_stage_get(m_stage, name.c_str(), seen.type, numbers(start).data(),
                           numbers(count).data(), data));
    m_wanted = true;
}

/* A box of an array that came as local blocks which lie one behind the other. */
void Reader::get_parts(const std::string &name, const Seen &seen, const Target &to,
                       const Dims &start, const Dims &count)
{
    for (size_t b = 0; b < seen.parts.size(); b++) {
        const Seen::Part &p = seen.parts[b];
        Dims first(start), end(start), from(start), at(start), n(start);

        for (size_t d = 0; d < start.size(); d++) {
            first[d] = std::max(start[d], p.start[d]);
            end[d] = std::min(start[d] + count[d], p.start[d] + p.count[d]);
            if (end[d] <= first[d])
                n.clear();
            if (n.empty())
                break;
            n[d] = end[d] - first[d];
            from[d] = first[d] - p.start[d];
            at[d] = first[d] - start[d] + to.place.start[d];
        }
        if (n.empty())
            continue;
        void *data = keep(p.count, {p.count, from}, {to.data, to.size, {to.place.shape, at}}, n);

        check(waitio_stage_get_block(m_stage, name.c_str(), seen.type, b, data));
        m_wanted = true;
    }
}

void Reader::get_block(const std::string &name, const Seen &seen, const Target &to, size_t block,
                       const adios2::core::Selection &selection, size_t room)
{
    if (block >= seen.parts.size())
        refuse("variable '" + name + "' has " + std::to_string(seen.parts.size()) +
               " blocks in this step, asked for is number " + std::to_string(block));
    const Dims &all = seen.parts[block].count;
    const bool box = selection.GetSelectionType() == adios2::SelectionType::BoundingBox;
    const Dims count = box ? selection.GetCount() : all;
    const Dims start = box && !selection.GetStart().empty() ? selection.GetStart() : zeros(all);

    if (!inside(start, count, all))
        refuse("variable '" + name + "': the box at " + text_of(start) + " of " + text_of(count) +
               " elements is not within block " + std::to_string(block) + ", which has " +
               text_of(all));
    if (room != 0 && room != volume(count))
        refuse("variable '" + name + "': block " + std::to_string(block) + " has " + text_of(all) +
               " elements, the variable says " + std::to_string(room) +
               ". ADIOS2 does not ask plugins how large a block is: where blocks differ, read the "
               "size from BlocksInfo and say SetSelection({{}, count}) after SetBlockSelection");
    const bool packed = whole(to.place.start, count, to.place.shape) && count == all;
    void *data = packed ? to.data : keep(all, {all, start}, to, count);

    check(waitio_stage_get_block(m_stage, name.c_str(), seen.type, block, data));
    m_wanted = true;
}

Reader::Target Reader::target(const std::string &name, void *data, size_t size,
                              const adios2::core::Selection &selection, const Dims &count)
{
    Target to = {data, size, {count, zeros(count)}};

    if (selection.HasMemorySelection())
        to.place = {selection.GetMemoryCount(), selection.GetMemoryStart()};
    if (!inside(to.place.start, count, to.place.shape))
        refuse("variable '" + name + "': the selection of " + text_of(count) +
               " elements does not fit the memory selection");
    return to;
}

void Reader::get(const std::string &name, int type, void *data,
                 const adios2::core::Selection &selection, size_t room)
{
    const Seen &seen = find(name);
    const bool box = selection.GetSelectionType() == adios2::SelectionType::BoundingBox;

    if (seen.type != type)
        refuse("variable '" + name + "' is not of the type that is asked for");
    if (selection.GetStepCount() != 1)
        refuse("variable '" + name +
               "': a selection of several steps is not supported: streams go "
               "on step by step");
    if (seen.kind == ShapeID::GlobalValue) {
        std::memcpy(data, seen.value.data(), seen.value.size());
        return;
    }
    const bool block = selection.HasBlockSelection() || seen.kind == ShapeID::LocalArray;
    const Dims start = box ? selection.GetStart() : zeros(seen.shape);
    Dims count = box ? selection.GetCount() : seen.shape;

    if (block && !box && selection.GetBlockID() < seen.parts.size())
        count = seen.parts[selection.GetBlockID()].count;
    const Target to = target(name, data, waitio_stage_size(type), selection, count);
    if (block) {
        get_block(name, seen, to, selection.GetBlockID(), selection, room);
        return;
    }
    if (!inside(start, count, seen.shape))
        refuse("variable '" + name + "': the box at " + text_of(start) + " of " + text_of(count) +
               " elements is outside the shape " + text_of(seen.shape));
    if (volume(count) == 0)
        return;
    if (seen.kind == ShapeID::GlobalArray)
        get_box(name, seen, to, start, count, !selection.HasMemorySelection());
    else
        get_parts(name, seen, to, start, count);
}

} // namespace wio_adios2
