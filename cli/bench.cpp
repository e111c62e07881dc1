// `facet bench`: how long training steps take on this machine, how much of a joint step is the
// prior, and how near the step comes to what the machine can do, measured in the same run:
// docs/speed.md explains the numbers.
#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/train/step_bench.h"

namespace facet {

namespace {

struct BenchArguments {
  BenchOptions options;
  std::string json;
};

void print_record(const Json& record) {
  const auto number = [&](const char* group, const char* name) {
    return record[group][name].get<double>();
  };
  const Json &machine = record["machine"], &what = record["case"];
  fmt::print("{}, {} thread{}{}; LibTorch {}\n", machine["processor"].get<std::string>(),
             machine["threads"].get<int>(), machine["threads"] == 1 ? "" : "s",
             machine["gpu"].is_null() ? "" : ", " + machine["gpu"].get<std::string>(),
             record["versions"]["libtorch"].get<std::string>());
  fmt::print("{} on {} in {}, batch {}, K = {}, D = {}: median of {} steps\n",
             what["network"].get<std::string>(), what["device"].get<std::string>(),
             what["precision"].get<std::string>(), what["batch"].get<int64_t>(),
             what["components"].get<int64_t>(), what["dimensions"].get<int64_t>(),
             what["steps"].get<int64_t>());
  for (const char* phase : {"pretrain", "initialise", "joint"})
    fmt::print("  {:<12}{:10.3f} ms\n", phase, number("step_ms", phase));
  fmt::print("  prior alone {:10.3f} ms, {:.1f} % of a joint step\n", number("prior", "ms"),
             100 * number("prior", "share_of_joint"));
  fmt::print("joint step: {:.2f} GFLOP and at least {:.1f} MB\n",
             number("work_of_joint", "network_gflop") + number("work_of_joint", "prior_gflop"),
             number("work_of_joint", "least_megabytes"));
  fmt::print("  operations  {:10.1f} GFLOP/s, {:.1f} % of {}'s {:.1f}\n",
             number("achieved", "gflop_per_second"), 100 * number("share_of_ceiling", "operations"),
             machine["gpu"].is_null() ? "the processor" : "a large matrix product",
             number("ceilings", "gflop_per_second"));
  fmt::print("  memory      {:10.1f} GB/s, {:.1f} % of a large copy's {:.1f}\n",
             number("achieved", "gigabytes_per_second"), 100 * number("share_of_ceiling", "memory"),
             number("ceilings", "gigabytes_per_second"));
  fmt::print("peak memory   {:10.0f} MB\n", record["peak_memory_mb"].get<double>());
}

void run_bench(const BenchArguments& arguments) {
  const Json record = measure_steps(arguments.options);
  if (arguments.json != "-") print_record(record);
  if (arguments.json == "-") fmt::print("{}\n", record.dump());
  if (!arguments.json.empty() && arguments.json != "-")
    write_text(arguments.json, record.dump(2) + "\n", "saving measurements");
}

}  // namespace

void add_bench_command(const Command& program) {
  auto arguments = std::make_shared<BenchArguments>();
  const Command command =
      program.command("bench", "Measure training steps against what the machine can do");
  command.option("--network", arguments->options.network, "The paper's network to measure")
      .one_of({"paper28", "paper64"})
      .show_default();
  command.option("--components", arguments->options.components, "Components of the one factor")
      .range(1, 1 << 20)
      .show_default();
  command.option("--batch", arguments->options.batch, "Images in a step")
      .range(1, 1 << 16)
      .show_default();
  command.option("--precision", arguments->options.precision, "What networks multiply on a GPU")
      .one_of({"fp32", "tf32", "bf16"})
      .show_default();
  command
      .option("--steps", arguments->options.steps,
              "Steps of each phase to time; else 30 on the CPU and 1000 on a GPU")
      .range(1, 1000000);
  command.flag("--exchange", arguments->options.exchange,
               "Exchange what several ranks would in every step, though there is one: its cost");
  command.option("--json", arguments->json, "Write the numbers to a file; - prints them alone");
  command.device_option(arguments->options.device);
  command.run([arguments] { run_bench(*arguments); });
}

}  // namespace facet
