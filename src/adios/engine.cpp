/* SPDX-License-Identifier: BSD-3-Clause */
/* ADIOS2's side: an engine of its plugin interface, version 2. What a program calls arrives here,
 * loses its C++ type, and goes to Writer or Reader. */
#include <memory>

#include <adios2/plugin/PluginEngineInterface.h>

#include "adios/attributes.hpp"
#include "adios/get.hpp"
#include "adios/problem.hpp"
#include "adios/put.hpp"
#include "adios/selection.hpp"
#include "adios/types.hpp"

#if ADIOS2_PLUGIN_ENGINE_INTERFACE != 2
#error "this engine is for version 2 of ADIOS2's plugin interface (ADIOS2 2.12)"
#endif

namespace wio_adios2
{

using adios2::Mode;
using adios2::ShapeID;
using adios2::StepMode;
using adios2::StepStatus;
using adios2::Variable;
using adios2::core::Selection;

class Engine : public adios2::plugin::PluginEngineInterface
{
  public:
    Engine(adios2::IO io, const std::string &name, Mode mode);

    StepStatus BeginStep(StepMode mode, const float seconds) override;
    void EndStep() override;
    size_t CurrentStep() const override;
    size_t Steps() const override;
    void PerformPuts() override;
    void PerformGets() override;
    void DoClose(const int transport) override;
    adios2::MinVarInfo *MinBlocksInfo(const std::string &name, const size_t step) const override;

#define WIO_TYPED(T)                                                                               \
    void DoPutSync(Variable<T> v, const T *values) override                                        \
    {                                                                                              \
        put<T>(v, values, true);                                                                   \
    }                                                                                              \
    void DoPutDeferred(Variable<T> v, const T *values) override                                    \
    {                                                                                              \
        put<T>(v, values, false);                                                                  \
    }                                                                                              \
    void DoGetSync(Variable<T> v, T *values) override                                              \
    {                                                                                              \
        get<T>(v, values, selection_of(v), room_of(v), true);                                      \
    }                                                                                              \
    void DoGetDeferred(Variable<T> v, T *values) override                                          \
    {                                                                                              \
        get<T>(v, values, selection_of(v), room_of(v), false);                                     \
    }                                                                                              \
    void DoGetSync(Variable<T> v, T *values, const Selection &s) override                          \
    {                                                                                              \
        get<T>(v, values, s, 0, true);                                                             \
    }                                                                                              \
    void DoGetDeferred(Variable<T> v, T *values, const Selection &s) override                      \
    {                                                                                              \
        get<T>(v, values, s, 0, false);                                                            \
    }
    ADIOS2_FOREACH_STDTYPE_1ARG(WIO_TYPED)
#undef WIO_TYPED
#define WIO_SPAN(T)                                                                                \
    void DoPut(Variable<T> v, Variable<T>::Span &, const bool, const T &) override                 \
    {                                                                                              \
        refuse("variable '" + v.Name() +                                                           \
               "': Put of a span is not supported: ADIOS2's plugin "                               \
               "interface gives a span no memory");                                                \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(WIO_SPAN)
#undef WIO_SPAN

  private:
    template <class T> static size_t room_of(const Variable<T> &v);
    template <class T> void put(Variable<T> v, const T *values, bool now);
    template <class T>
    void get(Variable<T> v, T *values, const Selection &selection, size_t room, bool now);
    template <class T> void define(const std::string &name, const Seen &seen);
    void define_all();
    Writer &writer(const char *call) const;
    Reader &reader(const char *call) const;

    std::unique_ptr<Writer> m_writer;
    std::unique_ptr<Reader> m_reader;
    Attributes m_attributes;
    std::map<std::string, bool>
        m_defined; /* variables of ours in the IO; false: not in this step */
};

/* ---- open and close ------------------------------------------------------------------------- */

Engine::Engine(adios2::IO io, const std::string &name, Mode mode)
    : PluginEngineInterface(io, name, mode)
{
    const Settings settings = read_settings(io.Parameters(), name, mode == Mode::Write);

    if (mode == Mode::Write)
        m_writer.reset(new Writer(settings));
    else if (mode == Mode::Read)
        m_reader.reset(new Reader(settings));
    else
        refuse("stream '" + settings.stream + "': only Mode::Write and Mode::Read are supported: " +
               "a stream is neither appended to nor read at random");
}

void Engine::DoClose(const int transport)
{
    (void)transport;
    if (m_writer)
        m_writer->close();
    if (!m_reader)
        return;
    for (const auto &d : m_defined) /* as other engines: what the stream brought goes with it */
        (void)m_IO.RemoveVariable(d.first);
    m_defined.clear();
    m_reader->close();
}

Writer &Engine::writer(const char *call) const
{
    if (!m_writer)
        refuse(std::string(call) + ": the stream is not open for writing");
    return *m_writer;
}

Reader &Engine::reader(const char *call) const
{
    if (!m_reader)
        refuse(std::string(call) + ": the stream is not open for reading");
    return *m_reader;
}

/* ---- steps ---------------------------------------------------------------------------------- */

StepStatus Engine::BeginStep(StepMode mode, const float seconds)
{
    if (m_writer) {
        if (mode != StepMode::Append)
            refuse("BeginStep: a writer's mode is StepMode::Append; others are not supported");
        return m_writer->begin_step() ? StepStatus::OK : StepStatus::OtherError;
    }
    const StepStatus status = reader("BeginStep").begin_step(seconds);
    if (status == StepStatus::OK) {
        define_all();
        m_attributes.receive(m_IO, m_reader->stream());
    }
    return status;
}

void Engine::EndStep()
{
    if (m_reader)
        return m_reader->end_step();
    m_attributes.send(m_IO, writer("EndStep").stream());
    m_writer->end_step();
}

size_t Engine::CurrentStep() const
{
    return m_writer ? m_writer->step() : m_reader->step();
}

size_t Engine::Steps() const
{
    return CurrentStep() + 1;
}

void Engine::PerformPuts()
{
    writer("PerformPuts").perform();
}

void Engine::PerformGets()
{
    reader("PerformGets").perform();
}

/* ---- puts ----------------------------------------------------------------------------------- */

template <class T> static void refuse_what_is_missing(Variable<T> &v)
{
    if (v.GetMemorySpace() != adios2::MemorySpace::Host &&
        v.GetMemorySpace() != adios2::MemorySpace::Detect)
        refuse("variable '" + v.Name() + "': memory of a GPU is not supported");
    for (const adios2::Operator &o : v.Operations())
        refuse("variable '" + v.Name() + "': operator " + o.Type() + " is not supported");
}

template <class T> void Engine::put(Variable<T> v, const T *values, bool now)
{
    if (type_of<T> == 0)
        refuse("variable '" + v.Name() + "': type " + v.Type() + " is not supported");
    refuse_what_is_missing(v);
    if constexpr (std::is_same<T, std::string>::value) {
        if (v.ShapeID() != ShapeID::GlobalValue)
            refuse("variable '" + v.Name() +
                   "': texts that differ between writers (LocalValue) "
                   "are not supported");
        writer("Put").put_text(v.Name(), *values);
    } else {
        const Selection s = selection_of(v);

        writer("Put").put({v.Name(),
                           type_of<T>,
                           is_char<T>,
                           v.ShapeID(),
                           v.Shape(),
                           v.Start(),
                           v.Count(),
                           values,
                           s.HasMemorySelection(),
                           {s.GetMemoryCount(), s.GetMemoryStart()}},
                          now);
    }
}

/* ---- gets ----------------------------------------------------------------------------------- */

/* How many elements the program has counted on if it asked the variable. */
template <class T> size_t Engine::room_of(const Variable<T> &v)
{
    return volume(v.Count());
}

template <class T>
void Engine::get(Variable<T> v, T *values, const Selection &selection, size_t room, bool now)
{
    Reader &r = reader("Get");

    refuse_what_is_missing(v);
    if constexpr (std::is_same<T, std::string>::value)
        *values = r.get_text(v.Name());
    else
        r.get(v.Name(), type_of<T>, values, selection, room);
    if (now)
        r.perform();
}

/* ---- a reader's variables ------------------------------------------------------------------- */

/* The IO's variable of that name, if it is of this type; one of another type goes. */
template <class T> static Variable<T> io_variable(adios2::IO &io, const std::string &name)
{
    const std::string type = io.VariableType(name);

    if (!type.empty() && type != adios2::GetType<T>())
        (void)io.RemoveVariable(name);
    return io.InquireVariable<T>(name);
}

/* Define it in the IO, or bring it up to date. It stays the same object where possible, for
 * programs hold on to it. */
template <class T> void Engine::define(const std::string &name, const Seen &seen)
{
    const bool value = seen.kind == ShapeID::GlobalValue;
    const bool local = seen.kind == ShapeID::LocalArray;
    const Dims shape = local ? Dims() : seen.shape;
    const Dims count = local ? seen.parts[0].count : shape;
    const Dims start = local || value ? Dims() : Dims(shape.size(), 0);
    Variable<T> v = io_variable<T>(m_IO, name);

    if (v && (v.Shape().size() != shape.size() || v.Count().size() != count.size())) {
        (void)m_IO.RemoveVariable(name);
        v = Variable<T>();
    }
    m_defined[name] = true;
    if (!v) {
        (void)m_IO.DefineVariable<T>(name, shape, start, count);
        return;
    }
    if (value || (local ? v.Count() : v.Shape()) == count)
        return;
    const bool all = local || whole(v.Start(), v.Count(), v.Shape());
    if (!local)
        v.SetShape(shape);
    if (all)
        v.SetSelection({start, count});
}

void Engine::define_all()
{
    for (auto &d : m_defined)
        d.second = false;
    for (const auto &s : m_reader->seen())
        if (s.second.kind == ShapeID::GlobalValue || !s.second.parts.empty())
            with_type(s.second.type, s.second.chars,
                      [&](auto like) { define<decltype(like)>(s.first, s.second); });
    for (auto d = m_defined.begin(); d != m_defined.end();) {
        if (!d->second)
            (void)m_IO.RemoveVariable(d->first);
        d = d->second ? std::next(d) : m_defined.erase(d);
    }
}

adios2::MinVarInfo *Engine::MinBlocksInfo(const std::string &name, const size_t step) const
{
    (void)step; /* there is but the one that is open */
    return m_reader ? m_reader->blocks(name) : nullptr;
}

} // namespace wio_adios2

/* ---- what ADIOS2 looks for ------------------------------------------------------------------ */

extern "C" {
__attribute__((visibility("default"))) adios2::plugin::PluginEngineInterface *EngineCreate(
    adios2::IO io, const std::string &name, const adios2::Mode mode);
__attribute__((visibility("default"))) void EngineDestroy(adios2::plugin::PluginEngineInterface *e);

adios2::plugin::PluginEngineInterface *EngineCreate(adios2::IO io, const std::string &name,
                                                    const adios2::Mode mode)
{
    return new wio_adios2::Engine(io, name, mode);
}

void EngineDestroy(adios2::plugin::PluginEngineInterface *e)
{
    delete e;
}
}
