// The program `facet` as a function: routes to the commands and turns what they throw into one line
// and an exit status, 2 for what the user can mend, 1 for numbers that are not finite and for a
// defect of ours.
#pragma once

namespace facet {

/// The exit status.
int run_facet_program(int argc, char** argv);

}  // namespace facet
