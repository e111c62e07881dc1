#include "facet/core/rank_watch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace facet {

namespace {

/// So many intervals without a sign of life mean that a rank is lost.
constexpr int kSilentIntervals = 4;

std::vector<uint8_t> to_bytes(const std::string& text) { return {text.begin(), text.end()}; }

std::string text_at(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string RankWatch::alive_key(int64_t rank) { return fmt::format("alive/{}", rank); }

RankWatch::RankWatch(c10::intrusive_ptr<c10d::Store> store, int64_t rank,
                     std::vector<std::string> names, std::string store_host,
                     std::chrono::milliseconds interval, RankGuard guard)
    : names_(std::move(names)),
      store_host_(std::move(store_host)),
      state_(std::make_shared<State>()) {
  state_->store = std::move(store);
  state_->rank = rank;
  state_->interval = interval;
  state_->answered = Clock::now();
  state_->ranks.resize(names_.size());
  state_->guard = std::move(guard);
  state_->guarded_name = names_[static_cast<size_t>(rank + 1) % names_.size()];
  state_->guarded.changed = Clock::now();
  thread_ = std::thread(keep_watching, state_);
}

RankWatch::~RankWatch() {
  bool blocked = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->lost = true;  // the guard's function may be gone
    state_->wake.notify_all();
    blocked = !state_->wake.wait_for(lock, 2 * state_->interval, [&] { return state_->ended; });
  }
  if (blocked)
    thread_.detach();  // in a call to a store that does not answer
  else
    thread_.join();
}

/// Reads what the others have written.
void RankWatch::look(State& state) {
  std::string failure;
  if (state.store->check({failure_key()})) failure = text_at(*state.store, failure_key());
  std::vector<std::string> values;
  for (size_t rank = 0; rank < state.ranks.size(); ++rank)
    values.push_back(text_at(*state.store, alive_key(static_cast<int64_t>(rank))));
  const std::lock_guard lock(state.mutex);
  state.failure = failure;
  for (size_t rank = 0; rank < state.ranks.size(); ++rank) {
    Sight& sight = state.ranks[rank];
    if (sight.value == values[rank]) continue;
    sight = {values[rank], Clock::now(), std::stoll(values[rank].substr(values[rank].find(' ')))};
  }
}

void RankWatch::leave(State& state, const std::string& reason) {
  {
    const std::lock_guard lock(state.mutex);
    if (state.failure.empty()) state.failure = reason;
  }
  if (!state.lost.exchange(true)) state.guard.leave();
}

/// Reads whether anybody has failed, and whether the next rank lives.
void RankWatch::look_at_next(State& state) {
  if (state.store->check({failure_key()}))
    return leave(state, text_at(*state.store, failure_key()));
  const auto next = (state.rank + 1) % static_cast<int64_t>(state.ranks.size());
  const std::string value = text_at(*state.store, alive_key(next));
  if (next == state.rank || value != state.guarded.value) {
    state.guarded = {value, Clock::now()};
  } else if (Clock::now() - state.guarded.changed > state.guard.patience) {
    const std::string reason = fmt::format("no sign of life of {}", state.guarded_name);
    state.store->compareSet(failure_key(), std::vector<uint8_t>(), to_bytes(reason));
    leave(state, text_at(*state.store, failure_key()));
  }
}

void RankWatch::keep_watching(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (int64_t beat = 0; !state->stop; ++beat) {
    const std::string reason = state->to_publish;
    const bool looking = state->looking;
    lock.unlock();
    bool lost = false;
    try {
      state->store->set(alive_key(state->rank),
                        to_bytes(fmt::format("{} {}", beat, state->entered.load())));
      if (!reason.empty())
        state->store->compareSet(failure_key(), std::vector<uint8_t>(), to_bytes(reason));
      if (looking) look(*state);
      if (state->guard.leave && !state->lost) look_at_next(*state);
    } catch (const std::exception&) {
      lost = true;
    }
    lock.lock();
    state->store_lost = lost;
    if (lost && state->guard.leave && !state->lost.exchange(true)) state->guard.leave();
    if (lost) break;
    state->answered = Clock::now();
    if (reason == state->to_publish) state->to_publish.clear();
    state->wake.notify_all();
    state->wake.wait_for(lock, looking ? state->interval / 2 : state->interval, [&] {
      return state->stop || state->looking != looking || !state->to_publish.empty();
    });
  }
  state->ended = true;
  state->wake.notify_all();
}

bool RankWatch::store_silent(const State& state) const {
  return state.store_lost || Clock::now() - state.answered > kSilentIntervals * state.interval;
}

std::string RankWatch::lost_ranks(const State& state) const {
  if (store_silent(state)) return fmt::format("{}, which cannot be reached", store_host_);
  std::vector<std::string> lost;
  for (size_t rank = 0; rank < names_.size(); ++rank) {
    const Sight& sight = state.ranks[rank];
    if (!sight.value.empty() && Clock::now() - sight.changed > kSilentIntervals * state.interval)
      lost.push_back(names_[rank]);
  }
  return lost.empty() ? "" : fmt::format("no sign of life of {}", fmt::join(lost, ", "));
}

/// All live: who has come to fewer exchanges than this rank holds it up.
std::string RankWatch::latest_rank(const State& state, const std::string& message) const {
  std::vector<std::string> late;
  for (size_t rank = 0; rank < names_.size(); ++rank)
    if (state.ranks[rank].entered < state.entered.load()) late.push_back(names_[rank]);
  return late.empty() ? fmt::format("an exchange between ranks that failed ({})", message)
                      : fmt::format("{} alive, but not at work in time", fmt::join(late, ", "));
}

std::string RankWatch::reason(const std::string& message) {
  std::unique_lock lock(state_->mutex);
  state_->looking = true;
  state_->wake.notify_all();
  const auto end = Clock::now() + (kSilentIntervals + 1) * state_->interval;
  while (Clock::now() < end) {
    if (!state_->failure.empty()) return state_->failure;
    if (const std::string lost = lost_ranks(*state_); !lost.empty()) return lost;
    state_->wake.wait_for(lock, state_->interval / 4);
  }
  return latest_rank(*state_, message);
}

void RankWatch::publish(const std::string& reason) {
  std::unique_lock lock(state_->mutex);
  state_->to_publish = reason;
  state_->wake.notify_all();
  state_->wake.wait_for(lock, kSilentIntervals * state_->interval,
                        [&] { return state_->to_publish.empty() || store_silent(*state_); });
}

}  // namespace facet
