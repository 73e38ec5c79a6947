/* SPDX-License-Identifier: BSD-3-Clause */
/* Round trips of arrays over two streams: by WaitIO's own calls, by ADIOS2 with our engine, by
 * ADIOS2 with SST; started by bench/adios2.py. bench_adios2 own|plugin|sst first|second BYTES
 * ROUNDS    prints the median of a round, in us */
#include <adios2.h>
#include <waitio_stage.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

static size_t rank_here, size_here;

static size_t number(const char *text)
{
    return text != nullptr ? std::strtoul(text, nullptr, 10) : 0;
}

/* One stream, from one end. */
class End
{
  public:
    virtual ~End() = default;
    virtual void put(const std::vector<double> &data) = 0;
    virtual void get(std::vector<double> &data) = 0;
    virtual void close() = 0;
};

static void check(int rc)
{
    if (rc != 0)
        throw std::runtime_error(waitio_stage_last_error());
}

class Own : public End
{
  public:
    Own(const std::string &name, bool writes, size_t n)
    {
        const uint64_t shape[1] = {n * size_here};
        waitio_stage_settings set = {};

        set.readers = 1;
        check(waitio_stage_open(name.c_str(), writes ? WAITIO_STAGE_WRITE : WAITIO_STAGE_READ,
                                nullptr, &set, &m_stage));
        if (writes)
            check(waitio_stage_define(m_stage, "v", WAITIO_STAGE_DOUBLE, 1, shape, &m_variable));
    }
    void put(const std::vector<double> &data) override
    {
        const uint64_t start[1] = {rank_here * data.size()}, count[1] = {data.size()};

        check(waitio_stage_begin_step(m_stage, WAITIO_STAGE_NEXT, 0, nullptr));
        check(waitio_stage_put(m_stage, m_variable, start, count, data.data(),
                               WAITIO_STAGE_DEFERRED));
        check(waitio_stage_end_step(m_stage, WAITIO_STAGE_DEFAULT));
    }
    void get(std::vector<double> &data) override
    {
        const uint64_t start[1] = {rank_here * data.size()}, count[1] = {data.size()};
        int status;

        check(waitio_stage_begin_step(m_stage, WAITIO_STAGE_NEXT, WAITIO_STAGE_DEFAULT, &status));
        check(waitio_stage_get(m_stage, "v", WAITIO_STAGE_DOUBLE, start, count, data.data()));
        check(waitio_stage_end_step(m_stage, WAITIO_STAGE_DEFAULT));
    }
    void close() override
    {
        check(waitio_stage_close(&m_stage, WAITIO_STAGE_DEFAULT));
    }

  private:
    waitio_stage_t m_stage = nullptr;
    int m_variable = -1;
};

class Adios : public End
{
  public:
    Adios(adios2::ADIOS &adios, const std::string &way, const std::string &name, bool writes,
          size_t n)
        : m_io(adios.DeclareIO(name))
    {
        m_io.SetEngine(way == "sst" ? "SST" : "Plugin");
        if (way != "sst")
            m_io.SetParameters("PluginName=" + name + ",PluginLibrary=waitio_adios2");
        if (writes)
            m_variable = m_io.DefineVariable<double>("v", {n * size_here}, {rank_here * n}, {n});
        m_engine = m_io.Open(name, writes ? adios2::Mode::Write : adios2::Mode::Read);
    }
    void put(const std::vector<double> &data) override
    {
        m_engine.BeginStep();
        m_engine.Put(m_variable, data.data());
        m_engine.EndStep();
    }
    void get(std::vector<double> &data) override
    {
        if (m_engine.BeginStep() != adios2::StepStatus::OK)
            throw std::runtime_error("no step");
        adios2::Variable<double> v = m_io.InquireVariable<double>("v");
        v.SetSelection({{rank_here * data.size()}, {data.size()}});
        m_engine.Get(v, data.data());
        m_engine.EndStep();
    }
    void close() override
    {
        m_engine.Close();
    }

  private:
    adios2::IO m_io;
    adios2::Variable<double> m_variable;
    adios2::Engine m_engine;
};

static std::unique_ptr<End> open(adios2::ADIOS &adios, const std::string &way,
                                 const std::string &name, bool writes, size_t n)
{
    if (way == "own")
        return std::unique_ptr<End>(new Own(name, writes, n));
    return std::unique_ptr<End>(new Adios(adios, way, name, writes, n));
}

static void rounds(End &out, End &in, bool first, size_t n, size_t count)
{
    std::vector<double> data(n, 1.0), times;

    for (size_t i = 0; i < count; i++) {
        const Clock::time_point begin = Clock::now();

        if (first)
            out.put(data);
        in.get(data);
        if (!first)
            out.put(data);
        times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    if (first && rank_here == 0)
        std::printf("median %.1f\n", times[times.size() / 2]);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    const std::string way = argv[1];
    const bool first = std::string(argv[2]) == "first";
    const size_t n = std::max<size_t>(1, number(argv[3]) / sizeof(double));

    rank_here = number(std::getenv("WAITIO_RANK"));
    size_here = number(std::getenv("WAITIO_NPROCS"));
    try {
        adios2::ADIOS adios;
        std::unique_ptr<End> out, in;

        if (first)
            out = open(adios, way, "there", true, n);
        in = open(adios, way, first ? "back" : "there", false, n);
        if (!first)
            out = open(adios, way, "back", true, n);
        rounds(*out, *in, first, n, number(argv[4]));
        out->close();
        in->close();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "bench_adios2: %s\n", e.what());
        return 1;
    }
    return 0;
}
