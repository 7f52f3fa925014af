#include "verbs/progress.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "output.h"

namespace kiln::cli {

namespace {

constexpr std::size_t bar_cells = 24;
constexpr auto between_lines = std::chrono::seconds(5);
constexpr auto between_frames = std::chrono::milliseconds(50);

std::size_t columns() {
  winsize size{};
  return ioctl(fileno(stderr), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

// A line that wraps could not be drawn over.
void draw(std::string line) {
  line.resize(std::min(line.size(), columns() - 1));
  say("\r{}\033[K", line);
  std::fflush(stderr);
}

std::string time_text(double seconds) {
  const auto whole = std::lround(seconds);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string bar(std::size_t done, std::size_t total) {
  const auto full = bar_cells * done / total;
  return '[' + std::string(full, '#') + std::string(bar_cells - full, '.') + ']';
}

}  // namespace

Progress::Progress(Shape shape, std::size_t total) : shape_(shape), total_(total) {}

Progress::~Progress() {
  if (drawn_) say("\r\033[K");
}

void Progress::show(std::size_t done, std::size_t worked, std::size_t failed,
                    const std::string& latest) {
  if (shape_ == Shape::none || total_ == 0) return;
  const auto now = Clock::now();
  const auto pause = shape_ == Shape::bar ? Clock::duration(between_frames) : between_lines;
  if (now - shown_ < pause && (shape_ == Shape::lines || done < total_)) return;
  shown_ = now;
  if (shape_ == Shape::lines) {
    say("kiln: {}\n", text(done, worked, failed));
    return;
  }
  draw(fmt::format("{} {}  {}", bar(done, total_), text(done, worked, failed), latest));
  drawn_ = true;
}

std::string Progress::text(std::size_t done, std::size_t worked, std::size_t failed) const {
  const auto seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  auto text = fmt::format("{}/{}", done, total_);
  if (worked > 0 && seconds > 0) {
    // What is left may be hits: then it is sooner.
    const auto left = seconds / static_cast<double>(worked) * static_cast<double>(total_ - done);
    text += fmt::format(", {:.1f}/s", static_cast<double>(worked) / seconds);
    if (done < total_) text += fmt::format(", {} left", time_text(left));
  }
  if (failed > 0) text += fmt::format(", {} failed", failed);
  return text;
}

void show_under_way(const std::string& what) {
  if (is_drawable(stderr)) draw(what);
}

void wipe_under_way() {
  if (is_drawable(stderr)) draw({});
}

Progress::Shape shape_of_progress(const Globals& globals) {
  if (globals.quiet || globals.json) return Progress::Shape::none;
  return is_drawable(stderr) ? Progress::Shape::bar : Progress::Shape::lines;
}

}  // namespace kiln::cli
