/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of an engine. */
#include "adios/settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "adios/problem.hpp"

namespace wio_adios2
{

using Use = void (*)(Settings &, const std::string &name, const std::string &value);

static std::string lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    return text;
}

[[noreturn]] static void misfit(const std::string &name, const std::string &value,
                                const std::string &what)
{
    refuse("parameter " + name + "=" + value + ": " + what);
}

static double number(const std::string &name, const std::string &value, double least, double most)
{
    char *end = nullptr;
    const double x = std::strtod(value.c_str(), &end);

    if (value.empty() || *end != '\0' || !(x >= least && x <= most))
        misfit(name, value,
               "a number from " + std::to_string(static_cast<long long>(least)) + " to " +
                   std::to_string(static_cast<long long>(most)) + " is needed");
    return x;
}

static bool yes(const std::string &name, const std::string &value)
{
    const std::string word = lower(value);

    if (word == "true" || word == "on" || word == "yes" || word == "1")
        return true;
    if (word == "false" || word == "off" || word == "no" || word == "0")
        return false;
    misfit(name, value, "true or false");
}

/* ---- one function for each parameter -------------------------------------------------------- */

static void pass_over(Settings &, const std::string &, const std::string &)
{
}

static void stream(Settings &s, const std::string &, const std::string &value)
{
    s.stream = value;
}

static void processes(Settings &s, const std::string &, const std::string &value)
{
    s.processes = lower(value);
}

static void limit(Settings &s, const std::string &name, const std::string &value)
{
    s.limit = number(name, value, 0.001, 1e9);
}

static void open_limit(Settings &s, const std::string &name, const std::string &value)
{
    s.open_limit = number(name, value, 0, 1e9);
}

static void queue_limit(Settings &s, const std::string &name, const std::string &value)
{
    const int n = static_cast<int>(number(name, value, 0, 1 << 30));

    s.stage.queue = n == 0 ? 1 << 30 : n; /* SST: 0 means no limit */
}

static void queue_full(Settings &s, const std::string &name, const std::string &value)
{
    const std::string word = lower(value);

    if (word == "block")
        s.stage.full = WAITIO_STAGE_BLOCK;
    else if (word == "discard" || word == "discardnewest")
        s.stage.full = WAITIO_STAGE_DISCARD_NEWEST;
    else if (word == "discardoldest")
        s.stage.full = WAITIO_STAGE_DISCARD_OLDEST;
    else
        misfit(name, value, "Block, Discard (the newest step) or DiscardOldest");
}

static void synchronous(Settings &s, const std::string &name, const std::string &value)
{
    if (yes(name, value))
        s.stage.queue = WAITIO_STAGE_SYNCHRONOUS;
}

static void readers(Settings &s, const std::string &name, const std::string &value)
{
    s.stage.readers = static_cast<int>(number(name, value, 0, 1 << 20));
}

static void memory(Settings &s, const std::string &name, const std::string &value)
{
    s.stage.memory_max = static_cast<size_t>(number(name, value, 0, 1e18));
}

static void deferred(Settings &s, const std::string &name, const std::string &value)
{
    s.deferred_least = static_cast<size_t>(number(name, value, 0, 1e18));
}

static void latest(Settings &s, const std::string &name, const std::string &value)
{
    s.latest = yes(name, value);
}

static void writer(Settings &s, const std::string &name, const std::string &value)
{
    const size_t colon = value.find(':');

    if (colon == std::string::npos)
        misfit(name, value, "BLOCK:RANK of the first writer is needed");
    s.stage.writer_known = 1;
    s.stage.writer_pb = static_cast<int>(number(name, value.substr(0, colon), 0, 1 << 30));
    s.stage.writer_rank = static_cast<int>(number(name, value.substr(colon + 1), 0, 1 << 30));
}

static void share(Settings &s, const std::string &name, const std::string &value)
{
    const std::string word = lower(value);

    if (word == "stepsalltoall" || word == "alltoall")
        s.stage.share = WAITIO_STAGE_TO_ALL;
    else if (word == "stepsroundrobin" || word == "roundrobin")
        s.stage.share = WAITIO_STAGE_ROUND_ROBIN;
    else if (word == "stepsondemand" || word == "ondemand")
        s.stage.share = WAITIO_STAGE_ON_DEMAND;
    else
        misfit(name, value, "StepsAllToAll, StepsRoundRobin or StepsOnDemand");
}

static void only_no(Settings &, const std::string &name, const std::string &value)
{
    if (lower(value) != "none" &&
        (lower(value) == "true" || !(lower(value) == "false" || lower(value) == "0")))
        misfit(name, value, "not supported");
}

struct Parameter {
    const char *name;
    Use use;
};

/* Those after "what SST says of its own network" have no meaning here and do no harm. */
static const Parameter parameters_known[] = {
    {"PluginName", pass_over},
    {"PluginLibrary", pass_over},
    {"verbose", pass_over},
    {"StreamName", stream},
    {"Processes", processes},
    {"Limit", limit},
    {"OpenTimeoutSecs", open_limit},
    {"RendezvousReaderCount", readers},
    {"QueueLimit", queue_limit},
    {"QueueFullPolicy", queue_full},
    {"Synchronous", synchronous},
    {"MemoryMax", memory},
    {"MinDeferredSize", deferred},
    {"AlwaysProvideLatestTimestep", latest},
    {"Writer", writer},
    {"StepDistributionMode", share},
    {"FirstTimestepPrecious", only_no},
    {"CompressionMethod", only_no},
    /* what SST says of its own network */
    {"RegistrationMethod", pass_over},
    {"MarshalMethod", pass_over},
    {"DataTransport", pass_over},
    {"WANDataTransport", pass_over},
    {"ControlTransport", pass_over},
    {"ControlModule", pass_over},
    {"NetworkInterface", pass_over},
    {"ControlInterface", pass_over},
    {"DataInterface", pass_over},
    {"CPCommPattern", pass_over},
    {"PreloadMode", pass_over},
    {"SpeculativePreloadMode", pass_over},
    {"SpecAutoNodeThreshold", pass_over},
    {"ReserveQueueLimit", only_no},
    {"StatsLevel", pass_over},
    {"ChunkSize", pass_over},
    {"BufferChunkSize", pass_over},
};

static Use find(const std::string &name)
{
    std::string known;

    for (const Parameter &p : parameters_known) {
        if (lower(p.name) == lower(name))
            return p.use;
        if (p.use != pass_over && p.use != only_no)
            known += std::string(known.empty() ? "" : ", ") + p.name;
    }
    refuse("parameter " + name + " is not known; known are " + known);
}

Settings read_settings(const std::map<std::string, std::string> &parameters,
                       const std::string &plugin_name, bool writer)
{
    Settings s;

    s.stream = plugin_name;
    s.stage.readers = 1; /* as SST: a writer waits for its first reader */
    for (const auto &p : parameters)
        find(p.first)(s, p.first, p.second);
    s.stage.limit = writer ? s.limit : std::max(s.open_limit, 0.001);
    return s;
}

/* ---- who opens ------------------------------------------------------------------------------ */

/* "0-3,7" */
static std::vector<int> ranks_of(const std::string &text, int n)
{
    std::vector<int> ranks;
    size_t at = 0;

    while (at <= text.size()) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string part = text.substr(at, end - at);
        const size_t dash = std::min(part.find('-'), part.size());
        const int a = static_cast<int>(number("Processes", part.substr(0, dash), 0, n - 1));
        const int b = dash == part.size()
                          ? a
                          : static_cast<int>(number("Processes", part.substr(dash + 1), a, n - 1));

        for (int r = a; r <= b; r++)
            ranks.push_back(r);
        at = end + 1;
    }
    return ranks;
}

/* A program of ADIOS2 does not join the universe itself. */
static void join(const Settings &settings)
{
    int joined = 0;

    check_core(waitio_initialized(&joined));
    if (joined == 0 && waitio_init(static_cast<int>(std::ceil(settings.stage.limit))) != 0)
        throw std::runtime_error("waitio_adios2: stream '" + settings.stream +
                                 "': " + waitio_last_error());
}

waitio_group_t find_members(const Settings &settings)
{
    int pb = 0, blocks = 0, n = 0, me = 0;
    waitio_group_t block = nullptr;

    join(settings);
    if (settings.processes == "block")
        return nullptr;
    check_core(waitio_pb_rank(&pb));
    check_core(waitio_pb_size(&blocks));
    check_core(waitio_group_pb(0, pb, &block));
    check_core(waitio_group_size(block, &n));
    check_core(waitio_group_rank(block, &me));
    check_core(waitio_group_free(&block));

    std::vector<int> ranks =
        settings.processes == "self" ? std::vector<int>{me} : ranks_of(settings.processes, n);
    if (std::find(ranks.begin(), ranks.end(), me) == ranks.end())
        refuse("parameter Processes=" + settings.processes + ": this process, rank " +
               std::to_string(me) + " of its block, is not among them");
    ranks.push_back(-1);

    std::vector<int *> lists(static_cast<size_t>(blocks), nullptr);
    std::vector<int> order(static_cast<size_t>(blocks), 0);
    lists[static_cast<size_t>(pb)] = ranks.data();
    order[static_cast<size_t>(pb)] = 1;
    waitio_group_t group = waitio_create_group_wranks(0, lists.data(), order.data());
    if (group == nullptr)
        throw std::runtime_error(std::string("waitio_adios2: ") + waitio_last_error());
    return group;
}

} // namespace wio_adios2
