/* SPDX-License-Identifier: BSD-3-Clause */
/* Can the compiler report plain accesses? */
int probe(int *p);
int probe(int *p)
{
    return ++*p;
}
