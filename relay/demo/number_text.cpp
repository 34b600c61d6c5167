#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first_digit = number < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first_digit + 3;) digits.insert(i -= 3, ",");
  return digits;
}

std::string in_seconds(std::chrono::milliseconds time) {
  const auto hundredths = time.count() / 10;
  const std::string fraction = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (fraction.size() == 1 ? ".0" : ".") + fraction + " s";
}

std::string counted(std::int64_t number, const std::string& singular, const std::string& plural) {
  if (number == 1) return "1 " + singular;
  return with_commas(number) + " " + (plural.empty() ? singular + "s" : plural);
}

}  // namespace txbox::relay::demo
