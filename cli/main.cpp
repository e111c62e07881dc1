#include "cli/facet_program.h"

int main(int argc, char** argv) { return facet::run_facet_program(argc, argv); }
