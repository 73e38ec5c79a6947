/* SPDX-License-Identifier: BSD-3-Clause */
/* inside.h without MPI. */
#include "inside.h"

static void nothing(void)
{
}

int main(int argc, char **argv)
{
    return run(argc, argv, nothing);
}
