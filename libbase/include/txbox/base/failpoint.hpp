#pragma once

/// Named places where a test may stop the process (SIGKILL) or fail a step. A name is `module:step` and
/// stands next to the write that it endangers. Without TXBOX_FAILPOINTS the macro is nothing.
///
/// With it, the environment variable TXBOX_FAILPOINT arms one: `name` or `name=N`, the N-th passage
/// (1 by default) kills the process with SIGKILL, as a power cut would end it: no destructor runs. With
/// TXBOX_FAILPOINT_ACTION=hang the thread that passes stays there for ever instead, and the others go on.
#ifdef TXBOX_FAILPOINTS
namespace txbox::base {
void pass_failpoint(const char* name) noexcept;
}  // namespace txbox::base
#define TXBOX_FAILPOINT(name) ::txbox::base::pass_failpoint(name)
#else
#define TXBOX_FAILPOINT(name) static_cast<void>(0)
#endif
