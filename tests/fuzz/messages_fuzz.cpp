// Input: which record (u8), then the record, or a stream of messages. What decodes has one spelling.

#include "compile/worker/worker_protocol.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln;
  fuzz::Input input(fuzz::view(data, size));
  const std::uint64_t which = input.number(1) % 4;
  const std::string_view record = input.rest();
  if (which == 0) {
    const auto request = decode_request(record);
    fuzz::require(!request || encode_request(request->job, request->standing) == record, "request");
  } else if (which == 1) {
    const auto outcome = decode_outcome(record);
    fuzz::require(!outcome || encode_outcome(*outcome) == record, "outcome");
  } else if (which == 2) {
    const auto setup = decode_setup(record);
    fuzz::require(!setup || encode_setup(*setup) == record, "setup");
  } else {
    MessageAssembler assembler;
    assembler.add(record);
    std::string again;
    while (const auto message = assembler.take())
      again += frame_of(message->kind, message->payload);
    fuzz::require(record.starts_with(again), "messages");
  }
  return 0;
}
