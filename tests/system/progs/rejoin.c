/* SPDX-License-Identifier: BSD-3-Clause */
/* rejoin STEPS [DIE]: see rejoin.h; a block without MPI. */
#include "rejoin.h"

static int sum_in_block(int number, int *sum)
{
    *sum = number;
    return 1;
}

int main(int argc, char **argv)
{
    return rejoin_main(argc, argv);
}
