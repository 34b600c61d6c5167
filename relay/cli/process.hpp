#pragma once

namespace txbox::relay {

/// What a program owes its surroundings before and after it does its work. All for the main thread, before others
/// start.

/// Opens /dev/null for each of descriptors 0 to 2 that the caller had closed. Otherwise the next file or socket takes
/// the number, and the log is written into it.
void reserve_standard_descriptors();

/// A log whose reader went away must not end the relay. For `run` alone: `ls | head` ends as such pipes do.
void ignore_broken_pipes() noexcept;

/// As many descriptors as the administrator allows: each database file takes about nine.
void raise_descriptor_limit() noexcept;

/// False where something that was printed did not arrive (a full disk, a closed descriptor).
[[nodiscard]] bool output_arrived();

}  // namespace txbox::relay
