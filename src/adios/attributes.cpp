/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes. */
#include "adios/attributes.hpp"

#include <cstring>
#include <vector>

#include "adios/problem.hpp"
#include "adios/types.hpp"

namespace wio_adios2
{

static bool begins(const std::string &text, const char *with)
{
    return text.compare(0, std::strlen(with), with) == 0;
}

/* ---- writers -------------------------------------------------------------------------------- */

/* An attribute as the stream has it. */
struct Wire {
    std::string name, bytes;
    int type = 0;
    size_t n = 0;
};

static Wire wire_texts(const std::string &name, const std::vector<std::string> &texts)
{
    Wire w = {name, "", WAITIO_STAGE_STRING, 0};

    for (const std::string &t : texts)
        if (t.find('\0') != std::string::npos)
            refuse("attribute '" + name + "': a text with a zero byte is not supported");
    if (texts.size() == 1) {
        w.bytes = texts[0];
        return w;
    }
    w.name = MARK_TEXTS + name;
    w.type = WAITIO_STAGE_UINT8;
    for (const std::string &t : texts)
        w.bytes += t + '\0';
    w.n = w.bytes.size();
    return w;
}

template <class T> Wire wire_of(const std::string &name, const std::vector<T> &values)
{
    Wire w = {name, "", type_of<T>, values.size()};

    if (type_of<T> == 0)
        refuse("attribute '" + name + "': type long double is not supported");
    if (is_char<T>)
        w.name = MARK_CHARS + name;
    w.bytes.assign(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
    return w;
}

template <> Wire wire_of(const std::string &name, const std::vector<std::string> &values)
{
    return wire_texts(name, values);
}

static Wire look_up(adios2::IO &io, const std::string &name, const std::string &type)
{
#define WIO_LOOK_UP(T)                                                                             \
    if (type == adios2::GetType<T>())                                                              \
        return wire_of<T>(name, io.InquireAttribute<T>(name).Data());
    ADIOS2_FOREACH_ATTRIBUTE_STDTYPE_1ARG(WIO_LOOK_UP)
#undef WIO_LOOK_UP
    refuse("attribute '" + name + "': type " + type + " is not supported");
}

void Attributes::send(adios2::IO &io, waitio_stage_t stage)
{
    for (const auto &a : io.AvailableAttributes()) {
        const auto type = a.second.find("Type");

        if (begins(a.first, MARK))
            refuse("attribute '" + a.first + "': names that begin with " + MARK + " are taken");
        const Wire w =
            look_up(io, a.first, type != a.second.end() ? type->second : io.AttributeType(a.first));
        const std::string as = std::to_string(w.type) + ":" + w.bytes;
        if (m_last.count(w.name) != 0 && m_last[w.name] == as)
            continue;
        check(waitio_stage_attribute(stage, w.name.c_str(), w.type, w.n, w.bytes.c_str()));
        m_last[w.name] = as;
    }
}

/* ---- readers -------------------------------------------------------------------------------- */

template <class T>
void define(adios2::IO &io, const std::string &name, const std::vector<T> &values)
{
    const std::string type = io.AttributeType(name);

    if (!type.empty() && type != adios2::GetType<T>())
        (void)io.RemoveAttribute(name);
    if (values.size() == 1)
        (void)io.DefineAttribute<T>(name, values[0], "", "/", true);
    else if (!values.empty())
        (void)io.DefineAttribute<T>(name, values.data(), values.size(), "", "/", true);
}

static std::vector<std::string> split(const char *bytes, size_t n)
{
    std::vector<std::string> texts;

    for (size_t at = 0; at < n; at += texts.back().size() + 1)
        texts.push_back(std::string(bytes + at, strnlen(bytes + at, n - at)));
    return texts;
}

static void define_numbers(adios2::IO &io, const std::string &name, int type, bool chars, size_t n,
                           const void *bytes)
{
    with_type(type, chars, [&](auto like) {
        using T = decltype(like);
        if constexpr (!std::is_same<T, std::string>::value) {
            std::vector<T> values(n);
            if (n > 0)
                std::memcpy(static_cast<void *>(values.data()), bytes, n * sizeof(T));
            define<T>(io, name, values);
        }
    });
}

static void define_any(adios2::IO &io, const std::string &name, int type, size_t n,
                       const void *bytes)
{
    const char *text = static_cast<const char *>(bytes);

    if (type == WAITIO_STAGE_STRING)
        define<std::string>(io, name, {std::string(text, n)});
    else if (begins(name, MARK_TEXTS))
        define<std::string>(io, name.substr(std::strlen(MARK_TEXTS)), split(text, n));
    else if (begins(name, MARK_CHARS))
        define_numbers(io, name.substr(std::strlen(MARK_CHARS)), type, true, n, bytes);
    else
        define_numbers(io, name, type, false, n, bytes);
}

void Attributes::receive(adios2::IO &io, waitio_stage_t stage)
{
    const char *name;

    for (int i = 0; (name = waitio_stage_attribute_name(stage, i)) != nullptr; i++) {
        const void *bytes = nullptr;
        size_t n = 0;
        int type = 0;

        if (begins(name, MARK_VARIABLE))
            continue;
        check(waitio_stage_get_attribute(stage, name, &type, &n, &bytes));
        const size_t size = type == WAITIO_STAGE_STRING ? n : n * waitio_stage_size(type);
        const std::string as =
            std::to_string(type) + ":" + std::string(static_cast<const char *>(bytes), size);
        if (m_last.count(name) != 0 && m_last[name] == as)
            continue;
        define_any(io, name, type, n, bytes);
        m_last[name] = as;
    }
}

} // namespace wio_adios2
