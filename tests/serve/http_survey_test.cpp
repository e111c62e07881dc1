// The server of a survey as a process of its own that is killed, or whose disk is full: no answer
// that was acknowledged is lost.
#include <csignal>

#include <gtest/gtest.h>

#include "facet/report/survey_answers.h"
#include "tests/cli/run_program.h"
#include "tests/contains.h"
#include "tests/serve/http_client.h"
#include "tests/survey_folder.h"

namespace facet {
namespace {

std::vector<std::string> serving(const TestSurvey& test) {
  return facet_command({"survey", test.folder.path.string(), "--serve", "--port", "0"});
}

/// The port that a server has printed.
int printed_port(const RunningProgram& program) {
  std::string text;
  EXPECT_TRUE(wait_until([&] {
    text = program.printed();
    return contains(text, " - Ctrl-C");
  }));
  return std::atoi(text.substr(text.find("127.0.0.1:") + 10).c_str());
}

std::string numbered_answer(const std::string& rater, int number) {
  return Json{{"rater", rater},
              {"item", number % 2 == 0 ? "a0" : "b0"},
              {"question", "glasses"},
              {"answer", "with"},
              {"milliseconds", number}}
      .dump();
}

TEST(SurveyProcess, KilledLosesNoAcknowledgedAnswer) {
  const TestSurvey test;
  size_t acknowledged = 0;
  for (int round = 0; round < 6; ++round) {
    RunningProgram server(serving(test));
    HttpClient client(printed_port(server));
    // Killed while answers are on their way; the last one is often written and not acknowledged.
    const std::jthread killer([&, round] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + 30 * round));
      server.send(SIGKILL);
    });
    for (int number = 0;; ++number) {
      const std::string rater = "r" + std::to_string(round) + "-" + std::to_string(number);
      const HttpAnswer answer = client.post("/api/v1/answer", numbered_answer(rater, number));
      if (answer.status == 0) break;
      ASSERT_EQ(answer.status, 200) << answer.body;
      ++acknowledged;
    }
    server.wait();
    const SurveyAnswers kept = read_answers(test.folder, test.survey);
    EXPECT_GE(kept.given.size(), acknowledged);
    EXPECT_LE(kept.given.size(), acknowledged + static_cast<size_t>(round) + 1);
    EXPECT_TRUE(kept.unread_lines.empty()) << test.answers();
  }
  EXPECT_GT(acknowledged, 20u);
}

TEST(SurveyProcess, WithAFullDiskSaysSoAndLosesNothing) {
  const TestSurvey test;
  test.answers("Ann,1,a0,glasses,with,100\n");
  const std::string before = test.answers();
  const rlim_t room = before.size() + 12;  // half a line
  RunningProgram server(serving(test), {.largest_file = room});
  HttpClient client(printed_port(server));
  const HttpAnswer answer = client.post("/api/v1/answer", numbered_answer("Bo", 0));
  EXPECT_EQ(answer.status, 507) << answer.body;
  EXPECT_TRUE(contains(answer.body, "is the disk full?")) << answer.body;
  server.send(SIGTERM);
  server.wait();
  EXPECT_TRUE(test.answers().starts_with(before));
  EXPECT_EQ(read_answers(test.folder, test.survey).given.size(), 1u);

  // With room again the cut line is closed, and the next answer is whole.
  RunningProgram next(serving(test));
  HttpClient another(printed_port(next));
  EXPECT_TRUE(contains(next.printed(), "line 3 is cut or damaged"));
  EXPECT_EQ(another.post("/api/v1/answer", numbered_answer("Bo", 0)).status, 200);
  EXPECT_EQ(read_answers(test.folder, test.survey).given.size(), 2u);
}

}  // namespace
}  // namespace facet
