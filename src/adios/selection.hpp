/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file selection.hpp
 * What a variable has selected. ADIOS2's public class has no getter for the memory selection, nor
 * for "a block or a box", and an engine that did not know them would deliver wrong numbers
 * silently. ADIOS2 installs the function that tells (core::InferSelection), but not how to reach
 * the argument: the only member of adios2::Variable<T>. A template's explicit instantiation may
 * name it.
 */
#ifndef WIO_ADIOS2_SELECTION_HPP
#define WIO_ADIOS2_SELECTION_HPP

#include <adios2/common/Selection.h>
#include <adios2/cxx/IO.h>
#include <adios2/cxx/Variable.h>

namespace wio_adios2
{

template <class T> struct Inner {
    using Core = adios2::core::Variable<T>;
    using Member = Core *adios2::Variable<T>::*;
};

template <class T, typename Inner<T>::Member M> struct Show {
    friend typename Inner<T>::Member member_of(Inner<T>)
    {
        return M;
    }
};

#define WIO_SHOW(T)                                                                                \
    Inner<T>::Member member_of(Inner<T>);                                                          \
    template struct Show<T, &adios2::Variable<T>::m_Variable>;
ADIOS2_FOREACH_STDTYPE_1ARG(WIO_SHOW)
#undef WIO_SHOW

/** Box or block, memory and steps that a program has selected by calls of the variable. */
template <class T> adios2::core::Selection selection_of(const adios2::Variable<T> &variable)
{
    const void *core = variable.*member_of(Inner<T>());

    /* core::Variable<T> has core::VariableBase as its only and first base. */
    return adios2::core::InferSelection(*static_cast<const adios2::core::VariableBase *>(core));
}

} // namespace wio_adios2

#endif
