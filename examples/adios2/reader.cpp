/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the steps that writer.cpp or writer.py hands out; an ordinary program of ADIOS2. */
#include <adios2.h>

#include <cstdio>
#include <numeric>
#include <vector>

int main(int argc, char **argv)
{
    adios2::ADIOS adios(argc > 1 ? argv[1] : "adios2.xml");
    adios2::IO io = adios.DeclareIO("flow");
    adios2::Engine engine = io.Open("flow", adios2::Mode::Read);

    while (engine.BeginStep() == adios2::StepStatus::OK) {
        adios2::Variable<double> field = io.InquireVariable<double>("T");
        const std::string units = io.InquireAttribute<std::string>("units").Data()[0];
        std::vector<double> values;
        double time = 0;

        engine.Get(field, values);
        engine.Get("time", time);
        engine.EndStep();
        const double sum = std::accumulate(values.begin(), values.end(), 0.0);
        std::printf("step %zu, time %.1f: (%zu, %zu), %.3f %s\n", engine.CurrentStep(), time,
                    field.Shape()[0], field.Shape()[1], sum / static_cast<double>(values.size()),
                    units.c_str());
    }
    engine.Close();
    return 0;
}
