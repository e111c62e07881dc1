#include "facet/report/initial_config.h"

#include "facet/core/device.h"
#include "facet/core/error.h"
#include "facet/core/file.h"
#include "facet/core/torch.h"
#include "facet/train/suggested_config.h"

namespace facet {

void write_initial_config(const std::string& pack, const std::filesystem::path& output,
                          const std::string& device) {
  if (std::filesystem::exists(output))
    Attempt{"writing a config to", output.string()}.fail("a file that exists", "a new name");
  write_text(output, suggested_config(read_pack(pack), pack, choose_device(device).is_cuda()),
             "writing a config");
}

}  // namespace facet
