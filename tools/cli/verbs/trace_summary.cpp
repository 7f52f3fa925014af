#include "verbs/trace_summary.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "milliseconds.h"

namespace kiln::cli {

namespace {

using nlohmann::json;

// NVRTC's name for the reading of a header, whose own name is the event's detail.
constexpr const char* reading_a_header = "Processing Header File";

using Times = std::map<std::string, TraceTime>;

// One thing that went on for some time. Microseconds.
struct Span {
  std::pair<std::int64_t, std::int64_t>
      lane;  // Process and thread: within one, spans lie in each other or apart.
  std::int64_t begin;
  std::int64_t end;
  TraceTime* phase;
  TraceTime* header;  // Null where it is of none.

  [[nodiscard]] std::int64_t length() const { return end - begin; }
};

// 0 for what no compile comes to: a trace may be anybody's file.
std::int64_t number(const json& event, const char* name) {
  constexpr double most = 1e15;  // Microseconds, 30 years.
  const auto at = event.find(name);
  const auto value = at != event.end() && at->is_number() ? at->get<double>() : 0;
  return std::abs(value) <= most ? static_cast<std::int64_t>(value) : 0;
}

std::string text(const json& event, const char* name) {
  const auto at = event.find(name);
  return at != event.end() && at->is_string() ? at->get<std::string>() : "";
}

TraceTime& time_of(Times& times, const std::string& name) {
  auto& time = times[name];
  time.name = name;
  return time;
}

// Outer spans before those in them.
bool comes_before(const Span& left, const Span& right) {
  return std::tuple(left.lane, left.begin, -left.end) <
         std::tuple(right.lane, right.begin, -right.end);
}

// Goes through the spans of one program in their order, and adds up how long each went on itself, and with all in it.
class Nesting {
 public:
  void next(const Span& span) {
    while (!open_.empty() && !lies_in(span, *open_.back().span)) close();
    if (!open_.empty()) {
      auto& [outer, inner] = open_.back();
      inner += std::min(span.length(), outer->end - span.begin);
    }
    const auto length = static_cast<std::uint64_t>(span.length());
    if (times_open_[span.phase]++ == 0) span.phase->all_us += length;
    if (span.header != nullptr) {
      ++times_open_[span.header];
      // To NVRTC a header that another one includes lasts until that one's last include: only what the program itself
      // includes has an end of its own.
      if (headers_open_++ == 0) span.header->all_us += length;
    }
    open_.push_back({&span, 0});
  }

  void finish() {
    while (!open_.empty()) close();
    for (const auto& [time, none] : times_open_) ++time->programs;
  }

 private:
  struct Open {
    const Span* span;
    std::int64_t inner;  // What the spans in it took.
  };

  static bool lies_in(const Span& inner, const Span& outer) {
    return inner.lane == outer.lane && inner.begin < outer.end;
  }

  void close() {
    const auto [span, inner] = open_.back();
    open_.pop_back();
    const auto own = std::max<std::int64_t>(span->length() - inner, 0);
    if (span->header != nullptr) --headers_open_;
    for (auto* time : {span->phase, span->header}) {
      if (time == nullptr) continue;
      time->own_us += static_cast<std::uint64_t>(own);
      --times_open_[time];
    }
  }

  std::vector<Open> open_;
  std::size_t headers_open_ = 0;
  std::unordered_map<TraceTime*, std::size_t> times_open_;  // How many spans of each are open.
};

template <class By>
std::vector<TraceTime> sorted(const Times& times, const By& by) {
  std::vector<TraceTime> all;
  all.reserve(times.size());
  for (const auto& [name, time] : times) {
    if (time.programs > 0) all.push_back(time);
  }
  std::stable_sort(all.begin(), all.end(), [by](const TraceTime& left, const TraceTime& right) {
    return by(left) > by(right);
  });
  return all;
}

}  // namespace

nlohmann::ordered_json times_json(const std::vector<TraceTime>& times) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& time : times) {
    list.push_back({{"name", time.name},
                    {"programs", time.programs},
                    {"own_ms", milliseconds(time.own_us)},
                    {"all_ms", nullptr}});
    if (time.all_us > 0) list.back()["all_ms"] = milliseconds(time.all_us);
  }
  return list;
}

bool TraceSummary::add(std::string_view text_of_trace, const SeeEvent& see) {
  std::vector<Span> spans;
  // Traces of large programs have millions of events, of which none is kept as JSON.
  const auto take = [&](int, json::parse_event_t event, json& value) {
    if (event != json::parse_event_t::object_end || !value.contains("ph")) return true;
    const auto begin = number(value, "ts");
    const auto length = number(value, "dur");
    if (text(value, "ph") == "X" && length > 0) {
      const auto name = text(value, "name");
      auto* header = name == reading_a_header && value.contains("args")
                         ? &time_of(headers_, text(value["args"], "detail"))
                         : nullptr;
      spans.push_back({{number(value, "pid"), number(value, "tid")},
                       begin,
                       begin + length,
                       &time_of(phases_, name),
                       header});
    }
    if (see) see(value);
    return false;
  };
  try {
    [[maybe_unused]] const auto rest = json::parse(text_of_trace, take);
  } catch (const json::exception&) {
    return false;
  }
  std::stable_sort(spans.begin(), spans.end(), comes_before);
  for (auto span = spans.begin(); span != spans.end(); ++programs_) {
    const auto process = span->lane.first;
    Nesting nesting;
    for (; span != spans.end() && span->lane.first == process; ++span) nesting.next(*span);
    nesting.finish();
  }
  return true;
}

std::vector<TraceTime> TraceSummary::phases() const {
  return sorted(phases_, [](const TraceTime& time) { return time.own_us; });
}

std::vector<TraceTime> TraceSummary::headers() const {
  return sorted(headers_, [](const TraceTime& time) { return std::max(time.own_us, time.all_us); });
}

}  // namespace kiln::cli
