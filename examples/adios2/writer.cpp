/* SPDX-License-Identifier: BSD-3-Clause */
/* A simulation that hands its steps to others by ADIOS2, as writer.py does: an ordinary program of
 * ADIOS2. Which engine it uses stands in adios2.xml.
 *   c++ -std=c++17 writer.cpp -o writer $(adios2-config --cxx-flags --cxx-libs)
 *   waitio run -n 2 ./writer adios2.xml : ./reader adios2.xml */
#include <adios2.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static size_t number(const char *name, size_t otherwise)
{
    const char *text = std::getenv(name);

    return text != nullptr ? std::strtoul(text, nullptr, 10) : otherwise;
}

int main(int argc, char **argv)
{
    /* Without MPI the process's place in its job comes from the launcher. */
    const size_t rank = number("WAITIO_RANK", 0), size = number("WAITIO_NPROCS", 1);
    const size_t rows = 4, columns = 6;
    adios2::ADIOS adios(argc > 1 ? argv[1] : "adios2.xml");
    adios2::IO io = adios.DeclareIO("flow");
    adios2::Variable<double> field =
        io.DefineVariable<double>("T", {size * rows, columns}, {rank * rows, 0}, {rows, columns});
    adios2::Variable<double> time = io.DefineVariable<double>("time");
    io.DefineAttribute<std::string>("units", "K");
    adios2::Engine engine = io.Open("flow", adios2::Mode::Write);
    std::vector<double> values(rows * columns);

    for (size_t step = 0; step < 4; step++) {
        for (size_t i = 0; i < values.size(); i++)
            values[i] = static_cast<double>(step + rank) + static_cast<double>(i) / 100;
        engine.BeginStep();
        engine.Put(field, values.data());
        engine.Put(time, 0.1 * static_cast<double>(step));
        engine.EndStep();
    }
    engine.Close();
    std::printf("writer %zu of %zu: 4 steps\n", rank, size);
    return 0;
}
