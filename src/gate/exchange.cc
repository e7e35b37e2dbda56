#include "gate/exchange.h"

namespace ebb::gate {

void Request::rewind() {
  base::Chain again = std::move(kept);
  again.push(std::move(body));
  body = std::move(again);
}

std::size_t Request::head_memory() const {
  const base::Block* block = head.block();
  return (block == nullptr ? 0 : sizeof(base::Block) + block->capacity()) + trailers.capacity() +
         upgrade_offer.capacity();
}

std::size_t Exchange::memory() const {
  const std::size_t copied = applied == nullptr ? 0 : applied->copy.held();
  const std::size_t at_backend = attempt && attempt->end ? attempt->back->memory(attempt->end) : 0;
  return head_memory() + request.body.held() + request.kept.held() + response.out.held() + copied + at_backend;
}

}  // namespace ebb::gate
