// How a picture is brought to a size of another aspect ratio.
#pragma once

namespace facet {

enum class Fit {
  crop,  ///< the largest centred window of the target's aspect ratio; the rest is cut off
  pad,   ///< the whole picture, with a black border
};

}  // namespace facet
