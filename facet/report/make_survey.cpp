#include "facet/report/make_survey.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/json.h"
#include "facet/core/torch.h"
#include "facet/core/version.h"
#include "facet/data/batches.h"
#include "facet/data/image_file.h"
#include "facet/eval/component_labels.h"
#include "facet/export/export_folder.h"
#include "facet/model/fingerprint.h"
#include "facet/model/refiner.h"
#include "facet/prior/sampling.h"
#include "facet/report/survey.h"

namespace facet {

namespace {

constexpr const char* kMakingSurvey = "making a survey";
constexpr int64_t kMostPictures = 5000, kDefaultControls = 2, kRepeatEvery = 10;

/// A picture with what it is.
struct SurveyPicture {
  Image image;
  SurveyKeyItem key;  ///< without names of items
};

/// A component for every factor; -1 for the free ones.
using Combination = std::vector<int64_t>;

/// Of the named factors' values.
std::vector<Combination> all_combinations(const FactorialMixture& prior) {
  std::vector<Combination> all = {Combination(prior.size(), -1)};
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) continue;
    std::vector<Combination> longer;
    for (const Combination& combination : all)
      for (int64_t k = 0; k < prior.factors[i].components; ++k) {
        longer.push_back(combination);
        longer.back()[i] = k;
      }
    all = std::move(longer);
    if (static_cast<int64_t>(all.size()) > kMostPictures)
      Attempt{kMakingSurvey}.fail(fmt::format("{} combinations and more", all.size()),
                                  fmt::format("at most {}", kMostPictures));
  }
  return all;
}

/// The values of a combination, by named factor.
std::vector<std::string> value_names(const FactorialMixture& prior,
                                     const Combination& combination) {
  std::vector<std::string> names;
  for (size_t i = 0; i < prior.size(); ++i)
    if (prior.factors[i].named()) names.push_back(prior.factors[i].component_name(combination[i]));
  return names;
}

/// Our questions, or those of "factor=question".
std::vector<SurveyQuestion> survey_questions(const FactorialMixture& prior,
                                             const std::vector<std::string>& wording) {
  std::map<std::string, std::string> texts;
  for (const std::string& each : wording) {
    const size_t equals = each.find('=');
    if (equals == std::string::npos || equals + 1 == each.size())
      Attempt{"wording a question", each}.fail("no text", "FACTOR=QUESTION");
    texts[each.substr(0, equals)] = each.substr(equals + 1);
  }
  std::vector<SurveyQuestion> questions;
  std::vector<std::string> names;
  for (const FactorOptions& factor : prior.factors) {
    if (!factor.named()) continue;
    names.push_back(factor.name);
    const auto text = texts.find(factor.name);
    questions.push_back(survey_question(factor.name, factor.property, factor.values,
                                        text == texts.end() ? "" : text->second));
    if (text != texts.end()) texts.erase(text);
  }
  if (!texts.empty())
    Attempt{"wording a question", texts.begin()->first}.fail(
        "no named factor of this name", "one of the model's", suggest(texts.begin()->first, names));
  return questions;
}

std::vector<SurveyPicture> draw_survey_samples(const LoadedRun& run, const Key& key,
                                               const std::vector<Combination>& combinations,
                                               const SurveyRequest& request) {
  const Vae& model = *run.model;
  std::vector<LatentSample> samples;
  for (size_t c = 0; c < combinations.size(); ++c)
    samples.push_back(sample_latents(key.fold(c), model.prior, request.samples, combinations[c]));
  const auto count = static_cast<int64_t>(combinations.size()) * request.samples;
  std::vector<Image> images =
      to_images(decode_pictures(model, join(samples), load_refinement(run, request.refine),
                                PictureNoise::each(key.fold("noise"), count)));
  std::vector<SurveyPicture> pictures;
  for (size_t n = 0; n < images.size(); ++n)
    pictures.push_back(
        {std::move(images[n]),
         {"", false,
          value_names(model.prior, combinations[n / static_cast<size_t>(request.samples)]), ""}});
  return pictures;
}

/// The combination of each image, as far as its labels say; int64 [N, I], -1 where unknown.
torch::Tensor image_combinations(const FactorialMixture& prior, const ImageSet& images,
                                 const std::vector<Property>& properties) {
  torch::Tensor found =
      torch::full({images.count(), static_cast<int64_t>(prior.size())}, -1, kInt64);
  for (size_t i = 0; i < prior.size(); ++i) {
    if (!prior.factors[i].named()) continue;
    const auto property =
        std::find_if(properties.begin(), properties.end(),
                     [&](const Property& each) { return each.name == prior.factors[i].property; });
    if (property == properties.end()) continue;
    const torch::Tensor labels = images.labels.select(1, property - properties.begin());
    found.select(1, static_cast<int64_t>(i))
        .copy_(component_labels(labels.cpu(), *property, prior.factors[i]));
  }
  return found;
}

/// `each` test images of every combination, or as many as there are.
std::vector<SurveyPicture> choose_photographs(const LoadedRun& run, const Key& key,
                                              const std::vector<Combination>& combinations,
                                              int64_t each) {
  const FactorialMixture& prior = run.model->prior;
  const Pack pack = load_data(run.config.data);
  require_shape(pack, *run.model, run.config.data.pack);
  const ImageSet images = select_images(pack, {Split::test}, run.config.data, false, torch::kCPU);
  const torch::Tensor found = image_combinations(prior, images, pack.properties);
  const torch::Tensor order = permutation(key, images.count());
  std::map<Combination, int64_t> wanted;
  for (const Combination& combination : combinations) wanted[combination] = each;
  std::vector<SurveyPicture> pictures;
  for (int64_t n = 0; n < images.count(); ++n) {
    const int64_t index = order.data_ptr<int64_t>()[n];
    const int64_t* row = found[index].data_ptr<int64_t>();
    const Combination combination(row, row + prior.size());
    const auto place = wanted.find(combination);
    if (place == wanted.end() || place->second == 0) continue;
    --place->second;
    pictures.push_back({to_images(images.pixels[index].unsqueeze(0)).front(),
                        {"", true, value_names(prior, combination), ""}});
  }
  return pictures;
}

/// The same, with a word on what is missing in place of an Error where nobody asked for them.
std::vector<SurveyPicture> survey_photographs(const LoadedRun& run, const Key& key,
                                              const std::vector<Combination>& combinations,
                                              const SurveyRequest& request) {
  const int64_t each = request.controls.value_or(kDefaultControls);
  if (each == 0) return {};
  std::vector<SurveyPicture> pictures;
  try {
    pictures = choose_photographs(run, key, combinations, each);
  } catch (const Error& error) {
    if (request.controls) throw;
    if (request.notice) request.notice(fmt::format("no photographs: {}", error.what()));
    return {};
  }
  const auto all = static_cast<int64_t>(combinations.size()) * each;
  if (const auto count = static_cast<int64_t>(pictures.size()); count < all && request.notice)
    request.notice(
        fmt::format("{} photographs of {}: the test images have no more with the labels of every "
                    "combination",
                    count, all));
  return pictures;
}

std::string hex_digits(const Key& key, int digits) {
  return fmt::format("{:016x}", key.value()).substr(0, static_cast<size_t>(digits));
}

/// Repeats a tenth of the pictures and brings all into a random order with names that say nothing.
SurveyKey name_items(std::vector<SurveyPicture>& pictures, const std::string& survey,
                     const Key& key) {
  constexpr int digits = 12;
  const auto count = static_cast<int64_t>(pictures.size());
  const int64_t repeats = (count + kRepeatEvery - 1) / kRepeatEvery;
  const torch::Tensor repeated = permutation(key.fold("repeats"), count);
  for (int64_t n = 0; n < count; ++n)
    pictures[static_cast<size_t>(n)].key.item =
        hex_digits(key.fold("items").fold(static_cast<uint64_t>(n)), digits);
  for (int64_t n = 0; n < repeats; ++n) {
    SurveyPicture again = pictures[static_cast<size_t>(repeated.data_ptr<int64_t>()[n])];
    again.key.repeats = again.key.item;
    again.key.item = hex_digits(key.fold("repeated items").fold(static_cast<uint64_t>(n)), digits);
    pictures.push_back(std::move(again));
  }
  std::sort(pictures.begin(), pictures.end(),
            [](const SurveyPicture& a, const SurveyPicture& b) { return a.key.item < b.key.item; });
  SurveyKey result{survey, {}};
  for (const SurveyPicture& picture : pictures) result.items.push_back(picture.key);
  return result;
}

/// An Error for a folder that has files, with a word on those of another survey.
void require_new_folder(const std::filesystem::path& folder, const std::string& model) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return;
  const Attempt making{kMakingSurvey, folder.string()};
  ExportFolder::remove_unfinished(folder);
  if (!std::filesystem::is_directory(folder)) making.fail("a file", "a new folder");
  if (std::filesystem::is_empty(folder, error)) return;
  const SurveyFolder survey{folder};
  if (!std::filesystem::exists(survey.description()))
    making.fail("a folder that has files", "a new or empty one");
  making.fail(
      survey.read().model == model ? "a survey of this run already" : "a survey of another run",
      "a new or empty folder", "its answers stay as they are");
}

}  // namespace

MadeSurvey make_survey(const LoadedRun& run, const SurveyRequest& request) {
  torch::NoGradGuard no_gradient;
  const Vae& model = *run.model;
  const FactorialMixture& prior = model.prior;
  if (std::none_of(prior.factors.begin(), prior.factors.end(),
                   [](const FactorOptions& factor) { return factor.named(); }))
    Attempt{kMakingSurvey, request.run}.fail("a model without named factors",
                                             "a factor with a property",
                                             "raters are asked for the values of properties");
  Survey survey;
  survey.model = fingerprint(model);
  require_new_folder(request.folder, survey.model);
  survey.questions = survey_questions(prior, request.wording);
  const std::vector<Combination> combinations = all_combinations(prior);
  const int64_t each = request.samples + request.controls.value_or(kDefaultControls);
  if (static_cast<int64_t>(combinations.size()) * each > kMostPictures)
    Attempt{kMakingSurvey}.fail(
        fmt::format("{} combinations with {} pictures each", combinations.size(), each),
        fmt::format("at most {} pictures", kMostPictures));
  ExportFolder folder(request.folder, kMakingSurvey, false);

  const Key key = Key(request.seed).fold("survey").fold(survey.model);
  std::vector<SurveyPicture> pictures =
      draw_survey_samples(run, key.fold("samples"), combinations, request);
  MadeSurvey made;
  made.samples = static_cast<int64_t>(pictures.size());
  for (SurveyPicture& picture :
       survey_photographs(run, key.fold("photographs"), combinations, request))
    pictures.push_back(std::move(picture));
  made.photographs = static_cast<int64_t>(pictures.size()) - made.samples;
  const Key naming = key.fold(static_cast<uint64_t>(made.samples))
                         .fold(static_cast<uint64_t>(made.photographs))
                         .fold(request.refine.refined ? 1U : 0U);
  survey.id = hex_digits(naming, 16);
  const SurveyKey truth = name_items(pictures, survey.id, naming);
  made.repeats = static_cast<int64_t>(pictures.size()) - made.samples - made.photographs;

  survey.run = request.run;
  survey.program = fmt::format("facet {}", version());
  survey.seed = request.seed;
  survey.refined = request.refine.refined;
  survey.width = model.shape().width;
  survey.height = model.shape().height;
  for (const SurveyKeyItem& item : truth.items) survey.items.push_back(item.item);
  for (const SurveyPicture& picture : pictures)
    folder.write(fmt::format("pictures/{}.png", picture.key.item), encode_png(picture.image));
  folder.write("key.json", to_json(truth, survey).dump(2) + "\n");
  folder.write("survey.json", to_json(survey).dump(2) + "\n");  // last: now it is a survey
  folder.commit();
  for (const SurveyQuestion& question : survey.questions) made.questions.push_back(question.text);
  return made;
}

}  // namespace facet
