// `facet survey RUN --out FOLDER` makes a survey of people, `facet survey FOLDER --serve` asks them
// in the browser, and `facet survey FOLDER --score` says what they saw: the paper's human study,
// for anyone to repeat. One word for the three, as they are one study; what is done stands in the
// option, so that `facet survey --score FOLDER` reads as well.
#include <fmt/format.h>

#include "cli/interruption.h"
#include "cli/picture_options.h"
#include "cli/server_address.h"
#include "facet/core/error.h"
#include "facet/core/json.h"
#include "facet/report/make_survey.h"
#include "facet/report/survey_score.h"
#include "facet/serve/survey_server.h"

namespace facet {

namespace {

struct SurveyArguments {
  std::string path, device = "auto";
  SurveyRequest request;
  int64_t controls = 2;
  bool serve = false, score = false, json = false;
  HttpOptions http;
};

void run_survey_making(SurveyArguments& arguments) {
  SurveyRequest& request = arguments.request;
  request.run = arguments.path;
  request.notice = [](const std::string& sentence) { fmt::print("{}\n", sentence); };
  const MadeSurvey made = make_survey(load_run(arguments.path, {arguments.device}), request);
  fmt::print("{} samples{} and {} photographs, {} of them shown twice\n", made.samples,
             request.refine.refined ? ", refined," : "", made.photographs, made.repeats);
  for (const std::string& question : made.questions) fmt::print("  {}\n", question);
  fmt::print("survey    {}\n", request.folder.string());
}

void run_survey_serving(SurveyArguments& arguments) {
  require_token_beyond_loopback(arguments.http);
  const auto ready = [&](int port, const std::string& notice) {
    catch_interruption();
    if (!notice.empty()) fmt::print("{}\n", notice);
    fmt::print("serving the survey {} at {} - Ctrl-C ends it, no answer is lost\n", arguments.path,
               server_address(arguments.http, port));
    std::fflush(stdout);
  };
  serve_survey({arguments.path, arguments.http}, ready, interrupted);
}

void run_survey_scoring(const SurveyArguments& arguments) {
  const SurveyScore score = score_survey({arguments.path});
  if (!score.notice.empty()) complain(score.notice);
  if (arguments.json)
    fmt::print("{}\n", to_json(score).dump(2));
  else
    print_survey_score(score);
}

}  // namespace

void add_survey_command(const Command& program) {
  auto arguments = std::make_shared<SurveyArguments>();
  const Command command =
      program.command("survey", "Ask people what they see in samples, and score their answers");
  command
      .option("path", arguments->path,
              "A run folder to make a survey of; with --serve or --score the folder of a survey")
      .required();
  const Option output =
      command.option("--out", arguments->request.folder, "Make a survey in this new folder");
  const Option serve = command.flag("--serve", arguments->serve, "Ask raters, on a page");
  const Option score =
      command.flag("--score", arguments->score, "Print what their answers say").excludes(serve);
  output.excludes(serve).excludes(score);
  command
      .option("--samples", arguments->request.samples,
              "Samples of every combination of the named factors' values")
      .range(int64_t{1}, int64_t{5000})
      .needs(output)
      .show_default();
  const Option controls =
      command
          .option("--controls", arguments->controls,
                  "Test photographs of every combination, as controls; 0 for none")
          .range(int64_t{0}, int64_t{5000})
          .needs(output)
          .show_default();
  command
      .repeated("--ask", arguments->request.wording,
                "The question about a factor in your words, FACTOR=QUESTION")
      .needs(output);
  command.option("--seed", arguments->request.seed, "Another seed draws others, in another order")
      .needs(output)
      .show_default();
  add_refine_options(command, arguments->request.refine).needs(output);
  command.option("--port", arguments->http.port, "Where to listen; 0 takes a free port")
      .range(0, 65535)
      .needs(serve)
      .show_default();
  command.option("--host", arguments->http.host, "Address of this machine to listen at")
      .needs(serve)
      .show_default();
  command
      .repeated("--allow-host", arguments->http.allowed_hosts,
                "A name that browsers may call this server by")
      .needs(serve);
  command
      .option("--token", arguments->http.token,
              "What requests must know; beyond this machine a random one, if none is given")
      .needs(serve);
  command.flag("--json", arguments->json, "Print one JSON object").needs(score);
  command.device_option(arguments->device);
  command.run([=] {
    if (controls.given()) arguments->request.controls = arguments->controls;
    if (arguments->serve) return run_survey_serving(*arguments);
    if (arguments->score) return run_survey_scoring(*arguments);
    if (!output.given())
      Attempt{"surveying", arguments->path}.fail("nothing to do", "--out, --serve or --score");
    run_survey_making(*arguments);
  });
}

}  // namespace facet
