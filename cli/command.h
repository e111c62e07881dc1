// What the commands share: how each registers itself, and what several of them print.
#pragma once

#include <string>

#include "cli/arguments.h"

namespace facet {

struct Evaluation;
struct ClassifierReport;
struct Fidelity;
struct SurveyScore;

/// Each adds one command to the program; what it was given to run does the work.
void add_bench_command(const Command& program);
void add_clusters_command(const Command& program);
void add_completion_command(const Command& program);
void add_decode_command(const Command& program);
void add_edit_command(const Command& program);
void add_encode_command(const Command& program);
void add_eval_command(const Command& program);
void add_export_command(const Command& program);
void add_fit_command(const Command& program);
void add_grid_command(const Command& program);
void add_import_command(const Command& program);
void add_index_command(const Command& program);
void add_info_command(const Command& program);
void add_check_command(const Command& program);
void add_init_command(const Command& program);
void add_label_command(const Command& program);
void add_manual_command(const Command& program);
void add_predict_command(const Command& program);
void add_reconstruct_command(const Command& program);
void add_refine_command(const Command& program);
void add_report_command(const Command& program);
void add_sample_command(const Command& program);
void add_search_command(const Command& program);
void add_serve_command(const Command& program);
void add_survey_command(const Command& program);
void add_sweep_command(const Command& program);
void add_train_command(const Command& program);

/// An evaluation as lines for a person.
void print_evaluation(const Evaluation& evaluation);
/// The same of a mixture on vectors.
void print_vector_evaluation(const Evaluation& evaluation);
void print_classifier_report(const ClassifierReport& report);
void print_fidelity(const Fidelity& fidelity);
void print_survey_score(const SurveyScore& score);

}  // namespace facet
