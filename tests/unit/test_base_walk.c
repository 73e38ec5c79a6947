/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists read as base/list.h reads them are right with GCC 12 as well: compiled without the option
 * that helps it elsewhere. */
#define WALK_BEGIN(head) wio_list_begin(&(head))
#include "walk.h"
