/* SPDX-License-Identifier: BSD-3-Clause */
/* An ordinary program of ADIOS2, for test_adios2.py: a case of staging, and the side of it to play.
 *   cases write|read CASE [key=value,...]    parameters of the engine
 * Rank and size come from `waitio run`. Every element that is read is compared. */
#include <adios2.h>

#include <chrono>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using adios2::Dims;
using adios2::Mode;
using adios2::StepStatus;

static int rank_here, size_here;
static const size_t N = 6; /* elements of a writer */

[[noreturn]] static void fail(const std::string &text)
{
    std::printf("failed: %s\n", text.c_str());
    std::fflush(stdout);
    std::_Exit(1);
}

static void expect(bool good, const std::string &text)
{
    if (!good)
        fail(text);
}

static double value(size_t step, size_t index)
{
    return static_cast<double>((step * 31 + index) % 100);
}

template <class T> static std::vector<T> block(size_t step, size_t first, size_t n)
{
    std::vector<T> v(n);

    for (size_t i = 0; i < n; i++)
        v[i] = static_cast<T>(value(step, first + i));
    return v;
}

template <class T>
static void compare(const std::string &what, const std::vector<T> &got, const std::vector<T> &want)
{
    expect(got.size() == want.size(), what + ": " + std::to_string(got.size()) + " elements, not " +
                                          std::to_string(want.size()));
    for (size_t i = 0; i < got.size(); i++)
        expect(got[i] == want[i], what + ": element " + std::to_string(i) + " is wrong");
}

static adios2::IO an_io(adios2::ADIOS &adios, const std::string &name, const std::string &more)
{
    adios2::IO io = adios.DeclareIO(name);

    io.SetEngine("Plugin");
    io.SetParameters("PluginName=" + name + ",PluginLibrary=waitio_adios2" +
                     (more.empty() ? "" : "," + more));
    return io;
}

static size_t my_first(size_t total)
{
    return total * static_cast<size_t>(rank_here) / static_cast<size_t>(size_here);
}

static size_t my_count(size_t total)
{
    return total * static_cast<size_t>(rank_here + 1) / static_cast<size_t>(size_here) -
           my_first(total);
}

/* Call step(number) for each step until the end of the stream. @return how many */
static size_t each_step(adios2::Engine &engine, const std::function<void(size_t)> &step)
{
    size_t n = 0;

    while (engine.BeginStep() == StepStatus::OK) {
        step(engine.CurrentStep());
        engine.EndStep();
        n++;
    }
    std::printf("steps %zu\n", n);
    return n;
}

/* ---- common: all types, cut by M and by N ---------------------------------------------------- */

template <class T> static void define_one(adios2::IO &io, const std::string &name)
{
    const size_t r = static_cast<size_t>(rank_here), m = static_cast<size_t>(size_here);

    io.DefineVariable<T>(name, {m * N, 2}, {r * N, 0}, {N, 2});
}

template <class T>
static void put_one(adios2::IO &io, adios2::Engine &engine, size_t step, const std::string &name,
                    Mode mode, std::vector<T> &kept)
{
    kept = block<T>(step, static_cast<size_t>(rank_here) * N * 2, N * 2);
    engine.Put(io.InquireVariable<T>(name), kept.data(), mode);
    if (mode == Mode::Sync)
        std::fill(kept.begin(), kept.end(), T());
}

template <class T>
static void get_one(adios2::IO &io, adios2::Engine &engine, size_t step, const std::string &name,
                    Mode mode)
{
    adios2::Variable<T> v = io.InquireVariable<T>(name);
    std::vector<T> got;

    expect(static_cast<bool>(v), name + " is missing");
    expect(v.ShapeID() == adios2::ShapeID::GlobalArray, name + " is no global array");
    const size_t rows = v.Shape()[0], first = my_first(rows), count = my_count(rows);
    v.SetSelection({{first, 0}, {count, 2}});
    expect(engine.BlocksInfo(v, step).size() == rows / N, name + ": blocks");
    engine.Get(v, got, mode);
    if (mode == Mode::Deferred)
        engine.PerformGets();
    compare(name, got, block<T>(step, first * 2, count * 2));
}

#define TYPES(MACRO)                                                                               \
    MACRO(char)                                                                                    \
    MACRO(int8_t)                                                                                  \
    MACRO(int16_t)                                                                                 \
    MACRO(int32_t)                                                                                 \
    MACRO(int64_t)                                                                                 \
    MACRO(uint8_t)                                                                                 \
    MACRO(uint16_t)                                                                                \
    MACRO(uint32_t)                                                                                \
    MACRO(uint64_t)                                                                                \
    MACRO(float)                                                                                   \
    MACRO(double)                                                                                  \
    MACRO(std::complex<float>)                                                                     \
    MACRO(std::complex<double>)

static void common_write(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "common", more);
    adios2::Variable<double> time = io.DefineVariable<double>("time");
    adios2::Variable<std::string> note = io.DefineVariable<std::string>("note");
#define DEFINE(T) define_one<T>(io, "v " #T);
    TYPES(DEFINE)
#undef DEFINE
    adios2::Engine engine = io.Open("common", Mode::Write);

    for (size_t step = 0; step < 5; step++) {
        const Mode mode = step % 2 == 0 ? Mode::Deferred : Mode::Sync;

        expect(engine.BeginStep() == StepStatus::OK, "BeginStep");
        engine.Put(time, 0.5 * static_cast<double>(step));
        engine.Put(note, "step " + std::to_string(step));
#define PUT(T)                                                                                     \
    {                                                                                              \
        static std::vector<T> kept;                                                                \
        put_one<T>(io, engine, step, "v " #T, mode, kept);                                         \
    }
        TYPES(PUT)
#undef PUT
        if (step == 3)
            engine.PerformPuts();
        engine.EndStep();
    }
    engine.Close();
}

static void common_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "common", more);
    adios2::Engine engine = io.Open("common", Mode::Read);
    size_t next = 0;

    each_step(engine, [&](size_t step) {
        const Mode mode = step % 2 == 0 ? Mode::Sync : Mode::Deferred;
        double time = -1;
        std::string note;

        expect(step == next++, "number of the step");
        engine.Get(io.InquireVariable<double>("time"), time);
        engine.Get(io.InquireVariable<std::string>("note"), note);
        engine.PerformGets();
        expect(time == 0.5 * static_cast<double>(step), "time");
        expect(note == "step " + std::to_string(step), "note is " + note);
#define GET(T) get_one<T>(io, engine, step, "v " #T, mode);
        TYPES(GET)
#undef GET
    });
    engine.Close();
    expect(!io.InquireVariable<double>("time"), "Close leaves variables behind");
}

/* ---- shape: it changes, and a variable comes and goes ---------------------------------------- */

static void shape_write(adios2::ADIOS &adios, const std::string &more)
{
    const size_t r = static_cast<size_t>(rank_here), m = static_cast<size_t>(size_here);
    adios2::IO io = an_io(adios, "shape", more);
    adios2::Variable<float> v = io.DefineVariable<float>("v", {1}, {0}, {1});
    adios2::Variable<int> odd = io.DefineVariable<int>("odd");
    adios2::Engine engine = io.Open("shape", Mode::Write);

    for (size_t step = 0; step < 5; step++) {
        const size_t n = 3 + 2 * (step / 2);
        const std::vector<float> data = block<float>(step, r * n, n);

        engine.BeginStep();
        v.SetShape({m * n});
        v.SetSelection({{r * n}, {n}});
        engine.Put(v, data.data());
        if (step % 2 == 1)
            engine.Put(odd, static_cast<int>(step));
        engine.EndStep();
    }
    engine.Close();
}

static void shape_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "shape", more);
    adios2::Engine engine = io.Open("shape", Mode::Read);

    each_step(engine, [&](size_t step) {
        adios2::Variable<float> v = io.InquireVariable<float>("v");
        std::vector<float> got;

        expect(v.Shape()[0] % (3 + 2 * (step / 2)) == 0, "shape");
        engine.Get(v, got, Mode::Sync); /* no selection: all of it */
        compare("v", got, block<float>(step, 0, v.Shape()[0]));
        expect(static_cast<bool>(io.InquireVariable<int>("odd")) == (step % 2 == 1), "odd");
    });
    engine.Close();
}

/* ---- local: local arrays, values of each writer, joined arrays ------------------------------- */

static void local_write(adios2::ADIOS &adios, const std::string &more)
{
    const size_t r = static_cast<size_t>(rank_here);
    adios2::IO io = an_io(adios, "local", more);
    adios2::Variable<double> own = io.DefineVariable<double>("own", {}, {}, {2, r + 1});
    adios2::Variable<int> mine = io.DefineVariable<int>("mine", {adios2::LocalValueDim});
    adios2::Variable<float> joined =
        io.DefineVariable<float>("joined", {adios2::JoinedDim, 2}, {}, {r + 1, 2});
    adios2::Engine engine = io.Open("local", Mode::Write);

    for (size_t step = 0; step < 3; step++) {
        const std::vector<double> a = block<double>(step, 100 * r, 2 * (r + 1));
        const std::vector<double> b = block<double>(step, 100 * r + 50, 2 * (r + 1));
        const std::vector<float> c = block<float>(step, r * (r + 1), 2 * (r + 1));

        engine.BeginStep();
        engine.Put(own, a.data());
        engine.Put(own, b.data()); /* two blocks */
        engine.Put(mine, static_cast<int>(10 * step + r));
        engine.Put(joined, c.data());
        engine.EndStep();
    }
    engine.Close();
}

static void local_blocks(adios2::IO &io, adios2::Engine &engine, size_t step)
{
    adios2::Variable<double> own = io.InquireVariable<double>("own");
    const auto blocks = engine.BlocksInfo(own, step);

    expect(own.ShapeID() == adios2::ShapeID::LocalArray, "own is no local array");
    for (size_t b = 0; b < blocks.size(); b++) {
        const size_t r = static_cast<size_t>(blocks[b].WriterID), n = r + 1;
        const size_t first = 100 * r + (b % 2) * 50;
        std::vector<double> got(2 * n), row(n);

        expect(blocks[b].Count == Dims({2, n}), "count of a block");
        own.SetBlockSelection(b);
        own.SetSelection({{0, 0}, {2, n}});
        engine.Get(own, got.data(), Mode::Sync);
        compare("own", got, block<double>(step, first, 2 * n));
        engine.Get(own, row.data(), adios2::Selection::Block(b).SetBoundingBox({1, 0}, {1, n}),
                   Mode::Sync);
        compare("its second row", row, block<double>(step, first + n, n));
    }
    own.SetSelection({{}, {2, 1}});
}

static void local_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "local", more);
    adios2::Engine engine = io.Open("local", Mode::Read);

    each_step(engine, [&](size_t step) {
        adios2::Variable<int> mine = io.InquireVariable<int>("mine");
        adios2::Variable<float> joined = io.InquireVariable<float>("joined");
        std::vector<int> values, want;
        std::vector<float> rows;

        local_blocks(io, engine, step);
        engine.Get(mine, values);
        const size_t n = joined.Shape()[0], first = my_first(n), count = my_count(n);
        joined.SetSelection({{first, 0}, {count, 2}});
        engine.Get(joined, rows);
        engine.PerformGets();
        for (size_t i = 0; i < mine.Shape()[0]; i++)
            want.push_back(static_cast<int>(10 * step + i));
        compare("mine", values, want);
        compare("joined", rows, block<float>(step, first * 2, count * 2));
    });
    engine.Close();
}

/* ---- memory: the block lies within a larger array, on both sides ------------------------------
 */

static void memory_write(adios2::ADIOS &adios, const std::string &more)
{
    const size_t r = static_cast<size_t>(rank_here), m = static_cast<size_t>(size_here);
    adios2::IO io = an_io(adios, "memory", more);
    adios2::Variable<int> v = io.DefineVariable<int>("v", {m * 3, 4}, {r * 3, 0}, {3, 4});
    adios2::Engine engine = io.Open("memory", Mode::Write);

    for (size_t step = 0; step < 3; step++) {
        std::vector<int> ghosts(5 * 6, -1);

        for (size_t i = 0; i < 12; i++)
            ghosts[(i / 4 + 1) * 6 + i % 4 + 1] = static_cast<int>(value(step, r * 12 + i));
        engine.BeginStep();
        v.SetMemorySelection({{1, 1}, {5, 6}});
        engine.Put(v, ghosts.data());
        engine.EndStep();
    }
    engine.Close();
}

static void memory_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "memory", more);
    adios2::Engine engine = io.Open("memory", Mode::Read);

    each_step(engine, [&](size_t step) {
        adios2::Variable<int> v = io.InquireVariable<int>("v");
        const size_t rows = v.Shape()[0];
        std::vector<int> ghosts((rows + 1) * 7, -1), plain;

        v.SetSelection({{0, 0}, {rows, 4}});
        v.SetMemorySelection({{1, 2}, {rows + 1, 7}});
        engine.Get(v, ghosts.data());
        engine.PerformGets();
        for (size_t i = 0; i < ghosts.size(); i++)
            if (i / 7 >= 1 && i % 7 >= 2 && i % 7 < 6)
                plain.push_back(ghosts[i]);
            else
                expect(ghosts[i] == -1, "written beside the selection");
        compare("v", plain, block<int>(step, 0, rows * 4));
        v.SetMemorySelection();
    });
    engine.Close();
}

/* ---- zero: a writer has nothing, another has twice as much ------------------------------------
 */

static void zero_write(adios2::ADIOS &adios, const std::string &more)
{
    const size_t m = static_cast<size_t>(size_here);
    const size_t n = rank_here == 0 ? 0 : rank_here == 1 ? 2 * N : N;
    const size_t first = rank_here <= 1 ? 0 : static_cast<size_t>(rank_here) * N;
    adios2::IO io = an_io(adios, "zero", more);
    adios2::Variable<double> v = io.DefineVariable<double>("v", {m * N}, {first}, {n});
    adios2::Engine engine = io.Open("zero", Mode::Write);

    for (size_t step = 0; step < 3; step++) {
        const std::vector<double> data = block<double>(step, first, n);

        engine.BeginStep();
        engine.Put(v, data.data());
        engine.EndStep();
    }
    engine.BeginStep(); /* a step with nothing */
    engine.EndStep();
    engine.Close();
}

static void zero_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "zero", more);
    adios2::Engine engine = io.Open("zero", Mode::Read);

    each_step(engine, [&](size_t step) {
        adios2::Variable<double> v = io.InquireVariable<double>("v");
        std::vector<double> got;

        expect(static_cast<bool>(v) == (step < 3), "v");
        if (!v)
            return;
        engine.Get(v, got, Mode::Sync);
        compare("v", got, block<double>(step, 0, v.Shape()[0]));
        const size_t all = v.Shape()[0];
        v.SetSelection({{1}, {0}});
        engine.Get(v, got, Mode::Sync);
        v.SetSelection({{0}, {all}});
    });
    engine.Close();
}

/* ---- attributes: before Open, later, changed --------------------------------------------------
 */

static void attributes_write(adios2::ADIOS &adios, const std::string &more)
{
    const std::vector<std::string> names = {"a", "", "long name"};
    const std::vector<double> numbers = {1.5, 2.5, 3.5};
    adios2::IO io = an_io(adios, "attributes", more);
    adios2::Variable<int> v = io.DefineVariable<int>("v");
    adios2::Engine engine;

    io.DefineAttribute<std::string>("units", "K");
    io.DefineAttribute<std::string>("names", names.data(), names.size());
    io.DefineAttribute<double>("numbers", numbers.data(), numbers.size());
    io.DefineAttribute<char>("letter", 'x');
    io.DefineAttribute<std::complex<float>>("c", {1, 2});
    io.DefineAttribute<int>("of", 7, "v");
    engine = io.Open("attributes", Mode::Write);
    for (int step = 0; step < 4; step++) {
        engine.BeginStep();
        io.DefineAttribute<int>("changes", step, "", "/", true);
        io.DefineAttribute<int>("new " + std::to_string(step), step);
        engine.Put(v, step);
        engine.EndStep();
    }
    engine.Close();
}

template <class T> static std::vector<T> attribute(adios2::IO &io, const std::string &name)
{
    adios2::Attribute<T> a = io.InquireAttribute<T>(name);

    expect(static_cast<bool>(a), "attribute " + name + " is missing");
    return a.Data();
}

static void attributes_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "attributes", more);
    adios2::Engine engine = io.Open("attributes", Mode::Read);

    each_step(engine, [&](size_t step) {
        const int n = static_cast<int>(step);

        compare<std::string>("units", attribute<std::string>(io, "units"), {"K"});
        compare<std::string>("names", attribute<std::string>(io, "names"), {"a", "", "long name"});
        compare<double>("numbers", attribute<double>(io, "numbers"), {1.5, 2.5, 3.5});
        compare<char>("letter", attribute<char>(io, "letter"), {'x'});
        compare<std::complex<float>>("c", attribute<std::complex<float>>(io, "c"), {{1, 2}});
        compare<int>("of", io.InquireAttribute<int>("of", "v").Data(), {7});
        compare<int>("changes", attribute<int>(io, "changes"), {n});
        compare<int>("new", attribute<int>(io, "new " + std::to_string(n)), {n});
        expect(io.AvailableAttributes().size() == 7 + step + 1, "number of attributes");
    });
    engine.Close();
}

/* ---- pace: fast or slow, for queues and time limits; also killed ------------------------------
 */

static long number_of(const char *name, long otherwise)
{
    const char *text = std::getenv(name);

    return text != nullptr ? std::strtol(text, nullptr, 10) : otherwise;
}

static void rest(const char *name)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(number_of(name, 0)));
}

static void die_at(long step)
{
    if (step == number_of("DIE_AT", -1) && rank_here == number_of("DIE_RANK", 0)) {
        std::fflush(stdout);
        std::abort();
    }
}

static void pace_write(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "pace", more);
    adios2::Variable<long> v = io.DefineVariable<long>("v");
    adios2::Engine engine = io.Open("pace", Mode::Write);

    for (long step = 0; step < number_of("STEPS", 10); step++) {
        rest("WRITER_MS");
        if (engine.BeginStep() != StepStatus::OK) {
            std::printf("OtherError\n");
            return;
        }
        engine.Put(v, step);
        engine.EndStep();
        die_at(step);
    }
    engine.Close();
    std::printf("written\n");
}

static void pace_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "pace", more);
    adios2::Engine engine = io.Open("pace", Mode::Read);
    const float limit = static_cast<float>(number_of("READER_LIMIT_MS", -1000)) / 1000;
    long seen = 0, waited = 0, leave = number_of("LEAVE_AFTER", -1), last = -1;

    while (seen != leave) {
        const StepStatus status = engine.BeginStep(adios2::StepMode::Read, limit);
        long got = -1;

        if (status == StepStatus::NotReady) {
            waited++;
            continue;
        }
        if (status != StepStatus::OK) {
            std::printf("%s\n", status == StepStatus::EndOfStream ? "end" : "OtherError");
            break;
        }
        engine.Get(io.InquireVariable<long>("v"), got);
        engine.EndStep();
        expect(got > last && got == static_cast<long>(engine.CurrentStep()), "v");
        last = got;
        seen++;
        rest("READER_MS");
    }
    engine.Close();
    std::printf("seen %ld last %ld\nwaited %ld\n", seen, last, waited);
}

/* ---- both: two streams between the same programs, one IO on the writers' side ------------------
 */

static void both_ways(adios2::ADIOS &adios, bool first)
{
    adios2::IO out = an_io(adios, first ? "there" : "back", "");
    adios2::IO in = an_io(adios, first ? "back" : "there", "");
    adios2::Variable<int> v = out.DefineVariable<int>("v");
    adios2::Engine sends, gets;

    if (first) {
        sends = out.Open("a", Mode::Write);
        gets = in.Open("b", Mode::Read);
    } else {
        gets = in.Open("a", Mode::Read);
        sends = out.Open("b", Mode::Write);
    }
    for (int step = 0; step < 5; step++)
        for (int turn = 0; turn < 2; turn++) {
            int got = -1;

            if ((turn == 0) == first) {
                sends.BeginStep();
                sends.Put(v, step);
                sends.EndStep();
            } else {
                expect(gets.BeginStep() == StepStatus::OK, "BeginStep");
                gets.Get("v", got);
                gets.EndStep();
                expect(got == step, "v");
            }
        }
    sends.Close();
    gets.Close();
    std::printf("steps 5\n");
}

static void both_write(adios2::ADIOS &adios, const std::string &)
{
    both_ways(adios, true);
}

static void both_read(adios2::ADIOS &adios, const std::string &)
{
    both_ways(adios, false);
}

/* ---- refused: by name -------------------------------------------------------------------------
 */

static void refused(const std::string &word, const std::function<void()> &call)
{
    try {
        call();
    } catch (const std::exception &e) {
        const std::string text = e.what();

        expect(text.find(word) != std::string::npos, "'" + word + "' is not in: " + text);
        std::printf("refused %s\n", word.c_str());
        return;
    }
    fail("not refused: " + word);
}

static void refused_at_open(adios2::ADIOS &adios)
{
    static const char *const parameters[] = {
        "NoSuchThing=1",         "QueueLimit=many",
        "QueueFullPolicy=Maybe", "FirstTimestepPrecious=1",
        "CompressionMethod=zfp", "StepDistributionMode=StepsAtRandom",
        "Writer=zero",           "Processes=1-2",
    };
    int n = 0;

    for (const char *p : parameters) {
        const std::string word = std::string(p).substr(0, std::string(p).find('='));
        adios2::IO io = an_io(adios, "refused" + std::to_string(n++), p);

        refused("parameter " + word, [&] { io.Open("x", Mode::Write); });
    }
    adios2::IO io = an_io(adios, "modes", "");
    refused("Mode::Write and Mode::Read", [&] { io.Open("x", Mode::Append); });
}

/* Blocks whose number of dimensions is not the variable's. */
static void refused_dimensions(adios2::IO &io, adios2::Engine &engine)
{
    static const std::vector<double> data(12, 1);
    const std::string text = "stream 'refused', step 0: variable '";
    adios2::Variable<double> own = io.DefineVariable<double>("own", {}, {}, {2, 3});
    adios2::Variable<double> joined =
        io.DefineVariable<double>("joined", {adios2::JoinedDim, 2}, {}, {3, 2});
    adios2::Variable<double> flat =
        io.DefineVariable<double>("flat", {adios2::JoinedDim, 2}, {}, {6});
    adios2::Variable<double> within = io.DefineVariable<double>("within", {4, 3}, {0, 0}, {2, 3});

    engine.Put(own, data.data(), Mode::Sync);
    own.SetSelection({{}, {6}});
    refused(text + "own' is not what it was in earlier puts",
            [&] { engine.Put(own, data.data(), Mode::Sync); });
    own.SetSelection({{}, {1, 2, 3}});
    refused("then 2 dimensions, now 3", [&] { engine.Put(own, data.data()); });
    own.SetSelection({{}, {3, 1}}); /* another size is none of these */
    engine.Put(own, data.data(), Mode::Sync);
    engine.Put(joined, data.data(), Mode::Sync);
    joined.SetSelection({{}, {6}});
    refused(text + "joined' has the shape", [&] { engine.Put(joined, data.data(), Mode::Sync); });
    refused(text + "flat' has the shape", [&] { engine.Put(flat, data.data(), Mode::Sync); });
    within.SetMemorySelection({{0, 0}, {2, 3}});
    within.SetSelection({{0, 0}, {3, 3}});
    refused(text + "within': the block of {3, 3} elements does not fit the memory selection at {0, "
                   "0} of {2, 3}",
            [&] { engine.Put(within, data.data(), Mode::Sync); });
}

static void refused_write(adios2::ADIOS &adios, const std::string &more)
{
    static const double data[4] = {1, 2, 3, 4};
    const long double wide = 1;
    refused_at_open(adios);
    adios2::IO io = an_io(adios, "refused", more);
    adios2::Variable<double> v = io.DefineVariable<double>("v", {4}, {0}, {4});
    adios2::Variable<long double> w = io.DefineVariable<long double>("wide");
    adios2::Variable<std::string> t =
        io.DefineVariable<std::string>("text", {adios2::LocalValueDim});
    adios2::Engine engine = io.Open("refused", Mode::Write);

    refused("open for writing already", [&] { io.Open("again", Mode::Write); });
    refused("BeginStep first", [&] { engine.Put(v, data); });
    refused("StepMode::Append", [&] { engine.BeginStep(adios2::StepMode::Update); });
    engine.BeginStep();
    refused("long double", [&] { engine.Put(w, wide); });
    refused("LocalValue", [&] { engine.Put(t, std::string("x")); });
    refused("span", [&] { engine.Put(v); });
    refused("zero byte",
            [&] { engine.Put(io.DefineVariable<std::string>("z"), std::string("a\0b", 3)); });
    refused("not open for reading", [&] { engine.PerformGets(); });
    v.SetSelection({{2}, {4}});
    refused("outside the shape", [&] { engine.Put(v, data, Mode::Sync); });
    v.SetSelection({{0}, {4}});
    engine.Put(v, data);
    refused_dimensions(io, engine);
    engine.EndStep();
    engine.Close();
}

static void refused_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "refused", more);
    adios2::Engine engine = io.Open("refused", Mode::Read);
    std::vector<double> got(8);

    expect(engine.BeginStep() == StepStatus::OK, "BeginStep");
    adios2::Variable<double> v = io.InquireVariable<double>("v");
    v.SetSelection({{3}, {2}});
    refused("outside the shape", [&] { engine.Get(v, got.data(), Mode::Sync); });
    v.SetSelection({{0}, {4}});
    v.SetBlockSelection(1);
    refused("number 1", [&] { engine.Get(v, got.data(), Mode::Sync); });
    v.SetStepSelection({0, 2});
    refused("several steps", [&] { engine.Get(v, got.data(), Mode::Sync); });
    refused("not in step", [&] {
        engine.Get(io.DefineVariable<double>("none", {1}, {0}, {1}), got.data(), Mode::Sync);
    });
    refused("not open for writing", [&] { engine.PerformPuts(); });
    engine.EndStep();
    engine.Close();
}

/* ---- overlap: what the writers put does not fit together --------------------------------------
 */

static void overlap_write(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "overlap", more);
    adios2::Variable<int> v = io.DefineVariable<int>("v", {4}, {0}, {4});
    adios2::Engine engine = io.Open("overlap", Mode::Write);
    const int data[4] = {0, 1, 2, 3};

    refused("both put", [&] {
        for (int step = 0; step < 100; step++) {
            engine.BeginStep();
            engine.Put(v, data);
            engine.EndStep();
        }
    });
}

static void overlap_read(adios2::ADIOS &adios, const std::string &more)
{
    adios2::IO io = an_io(adios, "overlap", more);
    adios2::Engine engine = io.Open("overlap", Mode::Read);

    try { /* what the writers say, or that they are gone */
        expect(engine.BeginStep() == StepStatus::OtherError, "BeginStep");
    } catch (const std::exception &e) {
        expect(std::string(e.what()).find("both put") != std::string::npos, e.what());
    }
}

/* ------------------------------------------------------------------------------------------------
 */

using Case = void (*)(adios2::ADIOS &, const std::string &);
static const std::map<std::string, std::pair<Case, Case>> cases = {
    {"common", {common_write, common_read}},    {"shape", {shape_write, shape_read}},
    {"local", {local_write, local_read}},       {"memory", {memory_write, memory_read}},
    {"zero", {zero_write, zero_read}},          {"attributes", {attributes_write, attributes_read}},
    {"pace", {pace_write, pace_read}},          {"both", {both_write, both_read}},
    {"refused", {refused_write, refused_read}}, {"overlap", {overlap_write, overlap_read}},
};

int main(int argc, char **argv)
{
    const std::string side = argc > 1 ? argv[1] : "", name = argc > 2 ? argv[2] : "";

    (void)std::setvbuf(stdout, nullptr, _IOLBF, 4096);
    rank_here = static_cast<int>(number_of("WAITIO_RANK", 0));
    size_here = static_cast<int>(number_of("WAITIO_NPROCS", 1));
    if (cases.count(name) == 0 || (side != "write" && side != "read"))
        fail("usage: cases write|read CASE [PARAMETERS]");
    try {
        adios2::ADIOS adios;
        const auto &both = cases.at(name);

        (side == "write" ? both.first : both.second)(adios, argc > 3 ? argv[3] : "");
    } catch (const std::exception &e) {
        fail(e.what());
    }
    return 0;
}
