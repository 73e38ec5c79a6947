/* SPDX-License-Identifier: BSD-3-Clause */
/* Does the library's compiler, with the library's options, get legal C right? If this fails, the
 * compiler needs the option that cmake/WaitioOptions.cmake gives to GCC 12. */
#define WALK_BEGIN(head) ((head).next)
#include "walk.h"
