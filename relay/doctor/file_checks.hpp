#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <txbox/store/file_survey.hpp>
#include <txbox/store/wal_readers.hpp>

#include "relay/doctor/check.hpp"

namespace txbox::relay::doctor {

/// What a file says, for the checks of its topics.
struct FileExamination {
  Checks checks;
  std::vector<std::string> topics;    ///< That its rows name.
  std::int64_t max_record_bytes = 0;  ///< 0 where it could not be read.
};

/// Every check of a file that needs no broker. The file is only read, on a connection that forbids itself to write,
/// and closing it leaves the WAL as it was.
[[nodiscard]] FileExamination examine_file(const std::string& path);

/// The single ones, as functions of what was found.
[[nodiscard]] Check file_system(const store::FileSurvey& survey);
[[nodiscard]] Check modes(const store::FileSurvey& survey);
[[nodiscard]] Check free_disk(const store::FileSurvey& survey);
[[nodiscard]] Check wal_size(const store::FileSurvey& survey);
[[nodiscard]] Check oldest_reader(const std::vector<store::WalReader>& readers, std::int64_t wal_bytes);

}  // namespace txbox::relay::doctor
