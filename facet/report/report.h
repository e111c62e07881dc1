// The report of a run: one HTML file that holds everything, pictures and curves too, and needs no
// network and no other file. gather_report() measures and draws; report_page() writes
// what it found. A run that is not finished, has no labels or no test images gets the report that
// can be given, with a word on what is missing.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "facet/data/pack.h"
#include "facet/eval/bounds.h"
#include "facet/eval/evaluation_classifier.h"
#include "facet/model/vae.h"
#include "facet/report/curves.h"
#include "facet/report/dendrogram.h"
#include "facet/report/figures.h"
#include "facet/report/survey_score.h"
#include "facet/train/config.h"
#include "facet/train/event_file.h"
#include "facet/train/run_folder.h"

namespace facet {

struct ReportOptions {
  bool classify = false;     ///< train an evaluation classifier and apply it to samples
  Refinement refinement;     ///< of samples, combinations and reconstructions
  std::string command_path;  ///< the run as commands in the report name it
  std::string version;       ///< of the program, for the page's foot
  std::function<void(const std::string&)> notice;  ///< hears what is being done
};

/// A figure with what one sees in it and the command that draws it.
struct ReportFigure {
  Figure figure;
  std::string title, caption, command;
};

/// The tree of a factor's components, likewise.
struct ReportTree {
  Dendrogram tree;
  std::string title, caption, command;
};

/// All that the page says.
struct RunReport {
  std::string name;       ///< the folder's
  std::string reproduce;  ///< the command that trains it again
  std::string version;
  Config config;
  ImageShape shape;
  int64_t network_parameters = 0;
  int64_t training_images = 0;
  TrainingLog log;
  std::vector<EventSpan> sessions;  ///< when it was trained
  std::string written;              ///< when the report was, as a date

  /// Why there are no measures, samples and components; empty where there are.
  std::string no_mixtures;
  std::optional<Evaluation> evaluation;
  std::optional<ClassifierReport> classifier;
  std::string no_classifier;          ///< why there is none although it was requested
  std::optional<SurveyScore> survey;  ///< what people see, if they were asked
  /// The share of training images with a known label of the property, for the named factors'.
  std::map<std::string, double> label_shares;

  std::optional<ReportFigure> hero;  ///< stands beside the headline
  std::vector<ReportFigure> figures;
  std::vector<ReportFigure> components;  ///< one per factor
  std::string components_note;           ///< on factors that are not shown
  std::vector<ReportTree> trees;         ///< of free factors with many components

  /// The length of all sessions.
  double training_seconds() const;
  /// Whether all steps of the config are done.
  bool finished() const;
};

/// Measures the model on the test split (or, without one, on the train split) and draws all
/// figures; `pack` holds the run's data. Takes as long as some ten thousand images take to decode.
RunReport gather_report(const RunFolder& folder, const Config& config, Vae& model, const Pack& pack,
                        const ReportOptions& options);

/// The run in a few sentences.
std::string headline(const RunReport& report);

/// The whole page.
std::string report_page(const RunReport& report);

}  // namespace facet
