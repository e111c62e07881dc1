// `facet bench`: how long training steps take on this machine, how much of a joint step is the
// prior, and how near the step comes to what the machine can do, measured in the same run:
// docs/speed.md explains the numbers.
#include <cstdio>

#include <fmt/format.h>

#include "cli/command.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/train/inference_bench.h"
#include "facet/train/step_bench.h"

namespace facet {

namespace {

struct BenchArguments {
  BenchOptions options;
  bool all = false, inference = false;
  std::string json;
};

std::string machine_line(const Json& record) {
  const Json& machine = record["machine"];
  return fmt::format("{}, {} thread{}{}; LibTorch {}", machine["processor"].get<std::string>(),
                     machine["threads"].get<int>(), machine["threads"] == 1 ? "" : "s",
                     machine["gpu"].is_null() ? "" : ", " + machine["gpu"].get<std::string>(),
                     record["versions"]["libtorch"].get<std::string>());
}

void print_record(const Json& record) {
  const auto number = [&](const char* group, const char* name) {
    return record[group][name].get<double>();
  };
  const Json &machine = record["machine"], &what = record["case"];
  fmt::print("{}\n", machine_line(record));
  fmt::print("{} on {} in {}, batch {}, K = {}, D = {}: median of {} steps\n",
             what["network"].get<std::string>(), what["device"].get<std::string>(),
             what["precision"].get<std::string>(), what["batch"].get<int64_t>(),
             what["components"].get<int64_t>(), what["dimensions"].get<int64_t>(),
             what["steps"].get<int64_t>());
  for (const char* phase : {"pretrain", "initialise", "joint"})
    fmt::print("  {:<12}{:10.3f} ms\n", phase, number("step_ms", phase));
  fmt::print("  prior alone {:10.3f} ms, {:.1f} % of a joint step\n", number("prior", "ms"),
             100 * number("prior", "share_of_joint"));
  fmt::print("peak memory   {:10.0f} MB\n", record["peak_memory_mb"].get<double>());
  if (!record.contains("work_of_joint")) return;
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
}

/// The last case as a line of the table, which begins with the machine and a heading.
void print_last_case(const Json& all) {
  const Json& record = all["cases"].back();
  const Json &what = record["case"], &times = record["step_ms"];
  if (all["cases"].size() == 1)
    fmt::print(
        "{}\nbatch {}; milliseconds per step, medians; the last two columns are of a joint step\n"
        "{:<9}{:<11}{:>6}  {:<8}{:>10}{:>12}{:>10}{:>9}{:>13}\n",
        machine_line(all), what["batch"].get<int64_t>(), "network", "precision", "K", "labels",
        "pretrain", "initialise", "joint", "prior", "of ceiling");
  fmt::print(
      "{:<9}{:<11}{:>6}  {:<8}{:>10.3f}{:>12.3f}{:>10.3f}{:>7.1f} %{:>13}\n",
      what["network"].get<std::string>(), what["precision"].get<std::string>(),
      what["components"].get<int64_t>(), what["labels"].get<bool>() ? "yes" : "no",
      times["pretrain"].get<double>(), times["initialise"].get<double>(),
      times["joint"].get<double>(), 100 * record["prior"]["share_of_joint"].get<double>(),
      record.contains("share_of_ceiling")
          ? fmt::format("{:.1f} %", 100 * record["share_of_ceiling"]["operations"].get<double>())
          : "");
  std::fflush(stdout);
}

/// The rates of a trained model's work as a line of a table, with its heading before the first.
void print_inference(const Json& record, bool first) {
  const Json &what = record["case"], &rates = record["per_second"];
  if (first)
    fmt::print("per second\n{:<9}{:<11}{:>6}{:>18}{:>18}{:>18}{:>18}\n", "network", "precision",
               "K", "images encoded", "images sampled", "images evaluated", "importance draws");
  fmt::print("{:<9}{:<11}{:>6}{:>18.0f}{:>18.0f}{:>18.0f}{:>18.0f}\n",
             what["network"].get<std::string>(), what["precision"].get<std::string>(),
             what["components"].get<int64_t>(), rates["encoded"].get<double>(),
             rates["sampled"].get<double>(), rates["evaluated"].get<double>(),
             rates["importance_draws"].get<double>());
  std::fflush(stdout);
}

void print_last(const Json& all) {
  if (all["inference"].empty())
    print_last_case(all);
  else
    print_inference(all["inference"].back(), all["inference"].size() == 1);
}

Json measure(const BenchArguments& arguments, bool table) {
  if (arguments.inference) {
    const Json record = measure_inference(arguments.options);
    if (table) {
      fmt::print("{}\n", machine_line(record));
      print_inference(record, true);
    }
    return record;
  }
  if (arguments.all)
    return measure_all(arguments.options, [&](const Json& all) {
      if (table) print_last(all);
    });
  const Json record = measure_steps(arguments.options);
  if (table) print_record(record);
  return record;
}

void run_bench(const BenchArguments& arguments) {
  const Json record = measure(arguments, arguments.json != "-");
  if (arguments.json == "-") fmt::print("{}\n", record.dump());
  if (!arguments.json.empty() && arguments.json != "-")
    write_text(arguments.json, record.dump(2) + "\n", "saving measurements");
}

}  // namespace

void add_bench_command(const Command& program) {
  auto arguments = std::make_shared<BenchArguments>();
  const Command command =
      program.command("bench", "Measure training steps against what the machine can do");
  const Option all =
      command.flag("--all", arguments->all,
                   "Both networks, every precision, many components, labels, inference: one table");
  const Option inference =
      command
          .flag("--inference", arguments->inference,
                "A trained model's work instead: codes, samples and bounds per second")
          .excludes(all);
  command.option("--network", arguments->options.network, "The paper's network to measure")
      .one_of({"paper28", "paper64"})
      .show_default()
      .excludes(all);
  command.option("--components", arguments->options.components, "Components of the free factor")
      .range(1, 1 << 20)
      .show_default()
      .excludes(all);
  command.option("--batch", arguments->options.batch, "Images in a step")
      .range(1, 1 << 16)
      .show_default()
      .excludes(inference);
  command.option("--precision", arguments->options.precision, "What networks multiply on a GPU")
      .one_of({"fp32", "tf32", "bf16"})
      .show_default()
      .excludes(all);
  command
      .option("--steps", arguments->options.steps,
              "Steps of each phase to time; else 30 on the CPU and 1000 on a GPU")
      .range(1, 1000000)
      .excludes(inference);
  command
      .flag("--labels", arguments->options.labels,
            "With a named factor and all terms of labels: a labelled batch, pseudo-labels, "
            "consistency")
      .excludes(all)
      .excludes(inference);
  command
      .flag("--exchange", arguments->options.exchange,
            "Exchange what several ranks would in every step, though there is one: its cost")
      .excludes(inference);
  command.option("--json", arguments->json, "Write the numbers to a file; - prints them alone");
  command.device_option(arguments->options.device);
  command.run([arguments] { run_bench(*arguments); });
}

}  // namespace facet
