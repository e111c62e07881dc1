// Surveys without a model: how questions are worded, what the files keep when they are cut, and
// what answers score. tests/scripts/survey_test.py compares whole scores with a reference.
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "facet/report/survey_score.h"
#include "tests/contains.h"
#include "tests/message_of.h"
#include "tests/survey_folder.h"

namespace facet {
namespace {

std::string choices_text(const SurveyQuestion& question) {
  std::string text = question.text;
  for (const SurveyChoice& choice : question.choices)
    text += " | " + choice.label + "=" + choice.answer;
  return text;
}

TEST(SurveyQuestion, IsYesOrNoWhereValuesSayWhetherSomethingIsThere) {
  const auto text = [](const char* property, std::vector<std::string> values) {
    return choices_text(survey_question("f", property, values, ""));
  };
  const std::string rest = " | Cannot tell=cannot tell";
  EXPECT_EQ(text("glasses", {"without", "with"}),
            "Do you see glasses? | Yes=with | No=without" + rest);
  EXPECT_EQ(text("glasses", {"with", "without"}),
            "Do you see glasses? | Yes=with | No=without" + rest);
  EXPECT_EQ(text("smile", {"not smiling", "smiling"}),
            "Is it smiling? | Yes=smiling | No=not smiling" + rest);
  EXPECT_EQ(text("Wearing_Hat", {"no", "yes"}), "Wearing hat: yes or no? | Yes=yes | No=no" + rest);
  EXPECT_EQ(text("face", {"no beard", "beard"}),
            "Do you see beard? | Yes=beard | No=no beard" + rest);
  EXPECT_EQ(text("gender", {"female", "male"}),
            "Gender: female or male? | Female=female | Male=male" + rest);
  EXPECT_EQ(text("hair_style", {"short", "long", "very_curly"}),
            "Hair style: which one? | Short=short | Long=long | Very curly=very_curly" + rest);
}

TEST(SurveyQuestion, TakesTheWordsOfTheUser) {
  const SurveyQuestion question =
      survey_question("g", "glasses", {"without", "with"}, "Does it wear glasses?");
  EXPECT_EQ(question.text, "Does it wear glasses?");
  EXPECT_EQ(question.choices[0].label, "Yes");
}

TEST(SurveyQuestion, RefusesAValueThatMeansNoAnswer) {
  EXPECT_TRUE(contains(message_of([] {
                         survey_question("g", "glasses", {"with", "cannot tell"}, "");
                       }),
                       "a value called 'cannot tell'"));
}

TEST(Survey, OrderIsAFunctionOfTheRaterAndTheSeed) {
  TestSurvey test;
  for (int i = 0; i < 40; ++i) test.survey.items.push_back("d" + std::to_string(i));
  const auto order = test.survey.order_for("Ann");
  EXPECT_EQ(order, test.survey.order_for("Ann"));
  EXPECT_NE(order, test.survey.order_for("Bo"));
  EXPECT_EQ(std::set<std::string>(order.begin(), order.end()).size(), test.survey.items.size());
  test.survey.seed = 2;
  EXPECT_NE(order, test.survey.order_for("Ann"));
}

TEST(Survey, FilesThatDoNotBelongTogetherAreRefused) {
  TestSurvey test;
  EXPECT_EQ(test.folder.read_key(test.folder.read()).items.size(), 5u);
  test.key.survey = "another";
  test.write();
  EXPECT_TRUE(
      contains(message_of([&] { score_survey(test.folder); }), "the key of survey another"));
  test.key.survey = test.survey.id;
  test.key.items.pop_back();
  test.write();
  EXPECT_TRUE(contains(message_of([&] { score_survey(test.folder); }), "other items"));
  const std::string text = read_text(test.folder.description(), "test");
  write_text(test.folder.description(), text.substr(0, text.size() / 2), "test");
  EXPECT_TRUE(contains(message_of([&] { test.folder.read(); }), "was the file cut short?"));
  test.survey.items[0] = "../key";
  test.write();
  EXPECT_TRUE(contains(message_of([&] { test.folder.read(); }), "hexadecimal digits"));
  EXPECT_TRUE(contains(message_of([&] { require_survey_of(test.survey, "other", "folder"); }),
                       "one of another model, made from 'runs/faces'"));
}

TEST(SurveyAnswers, TheLastAnswerCounts) {
  const TestSurvey test;
  test.answers(
      "Ann,1,a0,glasses,with,100\nAnn,1,a0,glasses,cannot tell,90\nBo,2,a0,glasses,with,80\n");
  const auto last = read_answers(test.folder, test.survey).last();
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].answer, "cannot tell");
  EXPECT_EQ(last[0].milliseconds, 90);
  EXPECT_EQ(last[1].rater, "Bo");
}

TEST(SurveyAnswers, AFileCutAnywhereKeepsEveryWholeLine) {
  const TestSurvey test;
  const std::string whole =
      kAnswerColumns + "Ann,1,a0,glasses,with,100\n\"B \"\"x\"\", y\",2,a1,hair,long,2000\n";
  const size_t first_end = whole.find('\n', kAnswerColumns.size()) + 1;
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    write_text(test.folder.answers(), whole.substr(0, cut), "test");
    const SurveyAnswers answers = read_answers(test.folder, test.survey);
    const size_t lines = cut == whole.size() ? 2 : cut >= first_end ? 1 : 0;
    EXPECT_EQ(answers.given.size(), lines) << cut;
    const bool inside = cut > kAnswerColumns.size() && cut != first_end && cut != whole.size();
    EXPECT_EQ(answers.notice("answers.csv").empty(), !inside) << cut;
    EXPECT_EQ(test.answers(), whole.substr(0, cut));

    // What is appended then is read, whatever is before it, and nothing that was there is lost.
    AnswerFile(test.folder.answers()).append({"Cy", 1, "a2", "glasses", "with", 5});
    const SurveyAnswers more = read_answers(test.folder, test.survey);
    ASSERT_EQ(more.given.size(), lines + 1) << cut << "\n" << test.answers();
    EXPECT_EQ(more.given.back().rater, "Cy");
    EXPECT_EQ(more.unread_lines.size(), inside ? 1u : 0u);
    EXPECT_TRUE(test.answers().starts_with(whole.substr(0, cut)));
  }
}

TEST(SurveyAnswers, DamagedLinesAreSaidAndSkipped) {
  const TestSurvey test;
  test.answers(
      "Ann,1,a0,glasses,with,100\nAnn,1,a0,glasses\nAnn,x,a0,glasses,with,1\n"
      "Ann,1,a0,glasses,maybe,1\nBo,1,a0,glasses,with,100\n");
  const SurveyAnswers answers = read_answers(test.folder, test.survey);
  EXPECT_EQ(answers.given.size(), 2u);
  EXPECT_EQ(answers.unread_lines, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(answers.notice("answers.csv"),
            "answers.csv: lines 3, 4, 5 are cut or damaged and were skipped; the file is left as "
            "it is");
}

TEST(SurveyAnswers, ThoseOfAnotherSurveyAreRefused) {
  const TestSurvey test;
  test.answers("Ann,1,ffff,glasses,with,100\n");
  EXPECT_TRUE(contains(message_of([&] { read_answers(test.folder, test.survey); }),
                       "is the file that of another survey?"));
  write_text(test.folder.answers(), "name,glasses\nAnn,with\n", "test");
  EXPECT_TRUE(contains(message_of([&] { read_answers(test.folder, test.survey); }),
                       "another first line, 'name,glasses'"));
}

TEST(SurveyAnswers, ThreadsAppendWholeLines) {
  const TestSurvey test;
  AnswerFile file(test.folder.answers());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i)
        file.append({"r" + std::to_string(t), i, "a0", "glasses", "with", i});
    });
  for (std::thread& thread : threads) thread.join();
  const SurveyAnswers answers = read_answers(test.folder, test.survey);
  EXPECT_EQ(answers.given.size(), 100u);
  EXPECT_TRUE(answers.unread_lines.empty());
}

TEST(SurveyAnswers, APlaceThatCannotBeWrittenIsAnError) {
  EXPECT_TRUE(contains(message_of([] {
                         AnswerFile("/nowhere/answers.csv").append({"a", 1, "b", "c", "d", 1});
                       }),
                       "saving an answer '/nowhere/answers.csv'"));
}

TEST(RaterName, IsTrimmedAndChecked) {
  EXPECT_EQ(rater_name("  Zoë "), "Zoë");
  EXPECT_TRUE(contains(message_of([] { rater_name("  "); }), "no name"));
  EXPECT_TRUE(contains(message_of([] { rater_name(std::string(81, 'x')); }), "81 bytes"));
  EXPECT_TRUE(contains(message_of([] { rater_name("a\nb"); }), "characters that no name has"));
  EXPECT_TRUE(contains(message_of([] { rater_name("a\xff"); }), "characters that no name has"));
}

TEST(SurveyScore, PhotographsAndRepeatsAreCountedApart) {
  const TestSurvey test;
  test.answers(
      "Ann,1,a0,glasses,with,1000\nAnn,2,a1,glasses,with,3000\n"
      "Ann,3,b0,glasses,without,1000\nAnn,4,c0,glasses,without,1000\n"
      "Bo,1,a0,glasses,with,10\nBo,2,c0,glasses,with,10\nBo,3,a2,glasses,cannot tell,10\n");
  const SurveyScore score = score_survey(test.folder);
  EXPECT_EQ(score.samples, 3);
  EXPECT_EQ(score.photographs, 1);
  EXPECT_EQ(score.repeats, 1);
  EXPECT_EQ(score.answers(), 7);
  const QuestionScore& glasses = score.questions[0];
  EXPECT_EQ(glasses.samples.accuracy.right, 2);
  EXPECT_EQ(glasses.samples.accuracy.count, 4);
  EXPECT_EQ(glasses.samples.undecided, 1);
  EXPECT_EQ(glasses.samples.items, 3);
  EXPECT_EQ(glasses.samples.by_value[0].right, 2);  // with
  EXPECT_EQ(glasses.samples.by_value[0].count, 3);
  EXPECT_EQ(glasses.photographs.accuracy.right, 1);
  EXPECT_EQ(glasses.photographs.accuracy.count, 1);
  EXPECT_EQ(glasses.repeats.right, 1);
  EXPECT_EQ(glasses.repeats.count, 2);
  EXPECT_EQ(*glasses.samples.agreement, 1);
  EXPECT_EQ(*glasses.paper, 0.85);
  EXPECT_FALSE(score.questions[1].samples.wilson);
  EXPECT_FALSE(score.questions[1].paper);
  ASSERT_EQ(score.raters.size(), 2u);
  EXPECT_EQ(score.raters[0].samples.right, 1);
  EXPECT_EQ(score.raters[0].photographs.right, 1);
  EXPECT_EQ(score.raters[0].median_milliseconds, 1000);
}

TEST(SurveyScore, ThePaperHasThreeProperties) {
  EXPECT_EQ(paper_accuracy("gender", "Male"), 0.94);
  EXPECT_EQ(paper_accuracy("glasses", "Eyeglasses"), 0.85);
  EXPECT_EQ(paper_accuracy("smile", "Smiling"), 0.81);
  EXPECT_FALSE(paper_accuracy("hair", "hair_style"));
}

}  // namespace
}  // namespace facet
