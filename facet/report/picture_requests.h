// Pictures of a run as the commands ask for them: plain values in, a picture and what is to be said
// about it out. Each computes everything before it returns, so that a mistake leaves no file
// behind.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "facet/data/image.h"
#include "facet/model/refine_request.h"
#include "facet/train/loaded_run.h"

namespace facet {

struct DrawnPicture {
  Image image;
  std::vector<std::string> notes;  ///< sentences for the user
};

struct SampleRequest {
  int64_t count = 64;
  uint64_t seed = 1;
  std::vector<std::string> fixed;         ///< "name=value": factors at chosen components
  int64_t merge = 0;                      ///< groups of the fixed free factors; 0: components
  std::vector<std::string> redrawn;       ///< "name=SEED"
  std::vector<std::string> temperatures;  ///< "0.5" for all factors or "name=0.5"
  std::vector<std::string> offsets;       ///< "name:DIMENSION=STDDEVS"
  bool bare = false;                      ///< images alone: no gaps, no title
  int64_t scale = 0;                      ///< magnification; 0 chooses one
  std::string pixels = "mean";            ///< of p(x|z): "mean", "sample" or "distribution"
  RefineChoice refine;                    ///< of means
};
/// Images drawn from the model.
Image sample_picture(const LoadedRun& run, const SampleRequest& request);

/// Components or groups FIRST:LAST of a factor, both shown; empty for the heaviest.
using ComponentRange = std::string;

struct GridRequest {
  std::string rows, columns;  ///< factors; both empty for all combinations of the named ones
  ComponentRange row_range, column_range;
  std::vector<std::string> fixed;  ///< "name=value"
  int64_t merge = 0;               ///< groups of the free factors above; 0: components
  int64_t average = 100;           ///< samples behind each cell
  int64_t limit = 10;              ///< components of a factor without a range
  int64_t blocks = 0;  ///< so many blocks with one draw of all else, in place of averages
  int64_t draws = 6;   ///< rows of combinations
  uint64_t seed = 1;
  RefineChoice refine;  ///< a refined cell is one sample, whatever `average` is
};
/// How factors combine.
DrawnPicture grid_picture(const LoadedRun& run, const GridRequest& request);

struct ClustersRequest {
  std::string factor;
  std::vector<std::string> components;  ///< by name or number; empty for the heaviest
  int64_t merge = 0;                    ///< groups to merge them into; 0: components as they are
  int64_t limit = 16, average = 200;
  uint64_t seed = 1;
};
/// What the components of a factor look like.
DrawnPicture clusters_picture(const LoadedRun& run, const ClustersRequest& request);

/// The tree of a factor's components, from at least `limit` groups or all there are.
struct TreeRequest {
  std::string factor;
  int64_t limit = 40;
  uint64_t seed = 1;
};
DrawnPicture tree_picture(const LoadedRun& run, const TreeRequest& request);

/// The least that ClustersRequest::average may be: so many samples of a component are shown.
int64_t shown_cluster_samples();

/// The images that a command works on: files, or SPLIT:INDEX of the run's own data.
struct InputRequest {
  std::vector<std::string> images;
  std::string split;    ///< images spread over this split, as well
  int64_t count = 8;    ///< so many of it
  bool resize = false;  ///< crop, resize and convert images of another shape
};

/// Images beside what the model reconstructs.
DrawnPicture reconstruction_picture(const LoadedRun& run, const InputRequest& inputs, uint64_t seed,
                                    const RefineChoice& refine = {});

struct EditRequest {
  InputRequest inputs;
  std::vector<std::string> changes;  ///< "name=value": factors that move to another component
  bool keep_offset = true;           ///< an image keeps its place within the component
  std::string toward;                ///< the image to go to step by step, in place of changes
  std::vector<std::string> only;     ///< factors that go; empty for all
  int64_t steps = 7;                 ///< images on the way, with both ends
  uint64_t seed = 1;                 ///< of the noise of refined images
  RefineChoice refine;
};
/// Images with some of their factors changed.
DrawnPicture edit_picture(const LoadedRun& run, const EditRequest& request);

}  // namespace facet
