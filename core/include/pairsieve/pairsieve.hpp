// pairsieve in C++17 and newer, header only: owners of contexts, buffers, sorters, pair finders, trees, worlds and
// scenes; arrays as spans and vectors; errors as exceptions or as results.
//
// Every class owns one object of the C interface, can be moved and not copied, and gives the C object by get() for all
// calls that have no method here. Objects must be destroyed before their context: declare the context first. An object
// that was moved from may be assigned to or destroyed.
//
// Errors. Functions that can fail return `outcome<T>`. By default that is T, and a failure throws psv::error with the
// library's sentence and status. Where exceptions are off (-fno-exceptions), or PSV_RESULTS is defined before this
// header is included, it is psv::result<T>, which holds a value or a psv::failure, and nothing here throws but the
// standard library for want of memory. Both forms may be used in one program, in different files.
//
// Arrays are host memory. On the CPU they are used where they are; on CUDA and OpenGL they are copied to memory that
// the object keeps, and results are copied back, so those calls block. Calls that take psv_buffer or psv_box_set copy
// nothing: they are for data that is on the device already. A method without a comment does what the C call does.
//
// Sizes are checked: arrays that belong together have one length, otherwise PSV_ERROR_ARGUMENT.
#ifndef PAIRSIEVE_PAIRSIEVE_HPP
#define PAIRSIEVE_PAIRSIEVE_HPP

#include "pairsieve/core.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include("pairsieve/sort.h")
#include "pairsieve/sort.h"
#define PSV_HPP_SORT 1
#endif
#if __has_include("pairsieve/collision.h")
#include "pairsieve/collision.h"
#include "pairsieve/tree.h"
#define PSV_HPP_COLLISION 1
#endif
#if __has_include("pairsieve/sim.h")
#include "pairsieve/sim.h"
#define PSV_HPP_SIM 1
#endif
#if !defined(PSV_RESULTS) && !defined(__cpp_exceptions)
#define PSV_RESULTS
#endif

namespace psv {

// A view of `size()` elements that others own. Made from pointer and size, C arrays and all containers that have data()
// and size(), such as std::vector, std::array and std::span.
template <class T> class span {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using iterator = T *;

    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <class C, class P = decltype(std::declval<C &>().data()),
              class = std::enable_if_t<std::is_convertible_v<std::remove_pointer_t<P> (*)[], T (*)[]>>,
              class = decltype(std::declval<C &>().size())>
    constexpr span(C &&container) noexcept : data_(container.data()), size_(container.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// The C interface's name of memory that the caller owns, for calls that take psv_buffer. Calls write to it where their
// C comment says so.
template <class T> psv_buffer view(span<T> elements) noexcept {
    using value = std::remove_const_t<T>;
    return psv_buffer_of(const_cast<value *>(elements.data()), elements.size() * sizeof(T));
}
template <class C>
auto view(C &container) noexcept -> decltype(psv_buffer_of(nullptr, container.size() * sizeof(*container.data()))) {
    return view(span<std::remove_pointer_t<decltype(container.data())>>(container));
}

// What a failed call reports.
struct failure {
    psv_status status = PSV_ERROR_INTERNAL;
    std::string message; // the library's sentence
};

class error : public std::runtime_error {
  public:
    explicit error(const failure &failed) : std::runtime_error(failed.message), status_(failed.status) {}
    psv_status status() const noexcept { return status_; }

  private:
    psv_status status_;
};

// A value or a failure. operator* and operator-> need a value: test it first.
template <class T> class [[nodiscard]] result {
  public:
    result(T &&value) : value_(std::move(value)) {}
    result(failure &&failed) : failure_(std::move(failed)) {}
    explicit operator bool() const noexcept { return value_.has_value(); }
    bool has_value() const noexcept { return value_.has_value(); }
    T &operator*() & { return *value_; }
    const T &operator*() const & { return *value_; }
    T &&operator*() && { return std::move(*value_); }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }
    T value_or(T other) && { return value_ ? std::move(*value_) : std::move(other); }
    psv_status status() const noexcept { return value_ ? PSV_OK : failure_.status; }
    const std::string &message() const noexcept { return failure_.message; } // empty with a value

  private:
    std::optional<T> value_;
    failure failure_;
};

template <> class [[nodiscard]] result<void> {
  public:
    result() noexcept : failure_{PSV_OK, {}} {}
    result(failure &&failed) : failure_(std::move(failed)) {}
    explicit operator bool() const noexcept { return failure_.status == PSV_OK; }
    bool has_value() const noexcept { return failure_.status == PSV_OK; }
    psv_status status() const noexcept { return failure_.status; }
    const std::string &message() const noexcept { return failure_.message; }

  private:
    failure failure_;
};

// The two forms have names of their own, so that files of both can be linked together.
#if defined(PSV_RESULTS)
inline namespace results {
template <class T> using outcome = result<T>;
namespace detail {
template <class T> outcome<T> give(T &&value) { return outcome<T>(std::move(value)); }
inline outcome<void> give() { return {}; }
template <class T> outcome<T> fail(failure &&failed) { return outcome<T>(std::move(failed)); }
} // namespace detail
#else
inline namespace exceptions {
template <class T> using outcome = T;
namespace detail {
template <class T> outcome<T> give(T &&value) { return std::move(value); }
inline void give() {}
template <class T> [[noreturn]] outcome<T> fail(failure &&failed) { throw error(failed); }
} // namespace detail
#endif

namespace detail {
inline failure failed(psv_status status, const psv_context *context) { return {status, psv_last_error(context)}; }
inline failure mismatch(const char *what, std::size_t size, std::size_t expected) {
    return {PSV_ERROR_ARGUMENT, std::string(what) + " has " + std::to_string(size) + " elements, " +
                                    std::to_string(expected) + " are expected"};
}
inline outcome<void> end(psv_status status, const psv_context *context) {
    if (status != PSV_OK) return fail<void>(failed(status, context));
    return give();
}
template <class T> outcome<T> end(psv_status status, const psv_context *context, T &&value) {
    if (status != PSV_OK) return fail<T>(failed(status, context));
    return give<T>(std::move(value));
}

template <auto Destroy> struct destroyer {
    template <class T> void operator()(T *object) const noexcept { Destroy(object); }
};
template <class T, auto Destroy> using owned = std::unique_ptr<T, destroyer<Destroy>>;

// Memory of the backend for arrays that come from the host; it grows and stays.
class staging {
  public:
    staging() = default;
    staging(staging &&other) noexcept : context_(other.context_), buffer_(std::exchange(other.buffer_, psv_buffer{})) {}
    staging &operator=(staging &&other) noexcept {
        std::swap(context_, other.context_);
        std::swap(buffer_, other.buffer_);
        return *this;
    }
    ~staging() { psv_free_buffer(context_, &buffer_); }

    // Room for so many bytes: at `host` itself on the CPU.
    psv_status room(psv_context *context, const void *host, std::size_t bytes, psv_buffer *place) {
        if (psv_context_backend(context) == PSV_BACKEND_CPU) {
            *place = psv_buffer_of(const_cast<void *>(host), bytes);
            return PSV_OK;
        }
        if (buffer_.bytes < bytes) {
            psv_free_buffer(context_, &buffer_);
            context_ = context;
            const psv_status status = psv_alloc_buffer(context, bytes + bytes / 2, &buffer_);
            if (status != PSV_OK) return status;
        }
        *place = psv_sub_buffer(buffer_, 0, bytes);
        return PSV_OK;
    }
    template <class T> psv_status put(psv_context *context, span<T> elements, psv_buffer *place) {
        const std::size_t bytes = elements.size() * sizeof(T);
        const psv_status status = room(context, elements.data(), bytes, place);
        if (status != PSV_OK || psv_context_backend(context) == PSV_BACKEND_CPU) return status;
        return psv_upload(context, *place, elements.data(), bytes);
    }
    template <class T> static psv_status take(psv_context *context, psv_buffer place, span<T> elements) {
        if (psv_context_backend(context) == PSV_BACKEND_CPU) return PSV_OK;
        return psv_download(context, elements.data(), place, elements.size() * sizeof(T));
    }

  private:
    psv_context *context_ = nullptr;
    psv_buffer buffer_{};
};

// The first `count` elements of a buffer of the backend.
template <class T>
psv_status read(psv_context *context, psv_buffer buffer, std::uint64_t count, std::vector<T> &elements) {
    elements.resize(static_cast<std::size_t>(count));
    return psv_download(context, elements.data(), buffer, count * sizeof(T));
}
} // namespace detail

class context {
  public:
    psv_context *get() const noexcept { return handle_.get(); }
    psv_backend backend() const noexcept { return psv_context_backend(get()); }
    const char *device_name() const noexcept { return psv_context_device_name(get()); }
    outcome<void> synchronize() { return detail::end(psv_synchronize(get()), get()); }
    outcome<void> enable_profile(bool enable) { return detail::end(psv_enable_profile(get(), enable), get()); }
    // Waits for the last frame.
    outcome<psv_profile> profile() {
        psv_profile times{};
        const psv_status status = psv_wait_profile(get(), &times);
        return detail::end(status, get(), std::move(times));
    }

  private:
    explicit context(psv_context *handle) : handle_(handle) {}
    detail::owned<psv_context, psv_destroy_context> handle_;
    friend outcome<context> make_context(const psv_context_def &def);
};

inline outcome<context> make_context(const psv_context_def &def) {
    psv_context *made = nullptr;
    const psv_status status = psv_create_context(&def, &made);
    return detail::end(status, nullptr, context(made));
}
inline outcome<context> make_context(psv_backend backend = PSV_BACKEND_AUTO) {
    psv_context_def def = psv_default_context_def();
    def.backend = backend;
    return make_context(def);
}

// Elements in memory of the context's backend.
template <class T> class buffer {
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied byte by byte");

  public:
    buffer(buffer &&other) noexcept
        : context_(other.context_), buffer_(std::exchange(other.buffer_, psv_buffer{})),
          size_(std::exchange(other.size_, 0)) {}
    buffer &operator=(buffer &&other) noexcept {
        std::swap(context_, other.context_);
        std::swap(buffer_, other.buffer_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~buffer() { psv_free_buffer(context_, &buffer_); }

    psv_buffer get() const noexcept { return buffer_; }
    std::size_t size() const noexcept { return size_; }
    // The elements in place, on the CPU; empty on other backends.
    span<T> host() const noexcept {
        if (psv_context_backend(context_) != PSV_BACKEND_CPU) return {};
        return {static_cast<T *>(psv_buffer_address(buffer_)), size_};
    }
    outcome<void> upload(span<const T> elements) {
        if (elements.size() != size_) return detail::fail<void>(detail::mismatch("the array", elements.size(), size_));
        return detail::end(psv_upload(context_, buffer_, elements.data(), size_ * sizeof(T)), context_);
    }
    outcome<std::vector<T>> download() const {
        std::vector<T> elements;
        const psv_status status = detail::read(context_, buffer_, size_, elements);
        return detail::end(status, context_, std::move(elements));
    }

  private:
    buffer(psv_context *context, psv_buffer owned, std::size_t size) : context_(context), buffer_(owned), size_(size) {}
    psv_context *context_;
    psv_buffer buffer_;
    std::size_t size_;
    template <class U> friend outcome<buffer<U>> make_buffer(context &, std::size_t);
};

template <class T> outcome<buffer<T>> make_buffer(context &context, std::size_t size) {
    psv_buffer made{};
    const psv_status status = psv_alloc_buffer(context.get(), size * sizeof(T), &made);
    return detail::end(status, context.get(), buffer<T>(context.get(), made, size));
}

#if defined(PSV_HPP_SORT)
template <class K> constexpr psv_key_type key_type_of() {
    static_assert(std::is_arithmetic_v<K> && sizeof(K) <= 8, "keys are numbers of up to 8 bytes");
    if constexpr (std::is_floating_point_v<K>) return sizeof(K) == 4 ? PSV_KEY_F32 : PSV_KEY_F64;
    constexpr bool is_signed = std::is_signed_v<K>;
    if constexpr (sizeof(K) == 1) return is_signed ? PSV_KEY_I8 : PSV_KEY_U8;
    if constexpr (sizeof(K) == 2) return is_signed ? PSV_KEY_I16 : PSV_KEY_U16;
    if constexpr (sizeof(K) == 4) return is_signed ? PSV_KEY_I32 : PSV_KEY_U32;
    return is_signed ? PSV_KEY_I64 : PSV_KEY_U64;
}

// Stable sorts of keys of type K, alone or with values of 4 or 8 bytes.
template <class K> class sorter {
  public:
    psv_sorter *get() const noexcept { return handle_.get(); }
    outcome<void> sort(span<K> keys) {
        psv_buffer place{};
        psv_status status = keys_.put(context_, keys, &place);
        if (status == PSV_OK) status = psv_sort_keys(get(), place, keys.size());
        if (status == PSV_OK) status = detail::staging::take(context_, place, keys);
        return detail::end(status, context_);
    }
    template <class V> outcome<void> sort(span<K> keys, span<V> values) {
        static_assert(std::is_trivially_copyable_v<V> && (sizeof(V) == 4 || sizeof(V) == 8),
                      "values have 4 or 8 bytes");
        if (values.size() != keys.size())
            return detail::fail<void>(detail::mismatch("values", values.size(), keys.size()));
        if (sizeof(V) != value_bytes_)
            return detail::fail<void>({PSV_ERROR_ARGUMENT, "values have " + std::to_string(sizeof(V)) +
                                                               " bytes, those of the sorter " +
                                                               std::to_string(value_bytes_)});
        psv_buffer place{}, value_place{};
        psv_status status = keys_.put(context_, keys, &place);
        if (status == PSV_OK) status = values_.put(context_, values, &value_place);
        if (status == PSV_OK) status = psv_sort_pairs(get(), place, value_place, keys.size());
        if (status == PSV_OK) status = detail::staging::take(context_, place, keys);
        if (status == PSV_OK) status = detail::staging::take(context_, value_place, values);
        return detail::end(status, context_);
    }
    template <class C, class D> outcome<void> sort(C &keys, D &values) {
        return sort(span<K>(keys), span<std::remove_pointer_t<decltype(values.data())>>(values));
    }
    // The places of the keys in ascending order; the keys stay as they are.
    outcome<std::vector<std::uint32_t>> order(span<const K> keys) {
        std::vector<std::uint32_t> index(keys.size());
        psv_buffer place{}, index_place{};
        psv_status status = keys_.put(context_, keys, &place);
        if (status == PSV_OK)
            status = values_.room(context_, index.data(), index.size() * sizeof(std::uint32_t), &index_place);
        if (status == PSV_OK) status = psv_sort_index(get(), place, index_place, keys.size(), PSV_INDEX_KEYS_KEPT);
        if (status == PSV_OK) status = detail::staging::take(context_, index_place, span<std::uint32_t>(index));
        return detail::end(status, context_, std::move(index));
    }

  private:
    sorter(psv_context *context, psv_sorter *handle, std::uint32_t value_bytes)
        : context_(context), handle_(handle), value_bytes_(value_bytes) {}
    psv_context *context_;
    detail::owned<psv_sorter, psv_destroy_sorter> handle_;
    std::uint32_t value_bytes_;
    detail::staging keys_, values_;
    template <class L> friend outcome<sorter<L>> make_sorter(context &, psv_sorter_def);
};

// The def's key type becomes that of K.
template <class K> outcome<sorter<K>> make_sorter(context &context, psv_sorter_def def) {
    def.key_type = key_type_of<K>();
    psv_sorter *made = nullptr;
    const psv_status status = psv_create_sorter(context.get(), &def, &made);
    return detail::end(status, context.get(), sorter<K>(context.get(), made, def.value_bytes));
}
template <class K>
outcome<sorter<K>> make_sorter(context &context, std::uint64_t max_count, std::uint32_t value_bytes = 4) {
    psv_sorter_def def = psv_default_sorter_def();
    def.max_count = max_count;
    def.value_bytes = value_bytes;
    return make_sorter<K>(context, def);
}
#endif

#if defined(PSV_HPP_COLLISION)
inline psv_box_set boxes_of(psv_buffer boxes, std::uint64_t count) {
    return psv_boxes_of(boxes, sizeof(psv_aabb), count);
}

struct pair_events {
    std::vector<psv_pair> begin, end;
};

class pair_finder {
  public:
    psv_pair_finder *get() const noexcept { return handle_.get(); }
    outcome<void> find(const psv_box_set &boxes) { return detail::end(psv_find_pairs(get(), &boxes), context_); }
    outcome<void> find(span<const psv_aabb> boxes) {
        psv_buffer place{};
        psv_status status = boxes_.put(context_, boxes, &place);
        const psv_box_set set = boxes_of(place, boxes.size());
        if (status == PSV_OK) status = psv_find_pairs(get(), &set);
        return detail::end(status, context_);
    }
    outcome<void> find_between(const psv_box_set &a, const psv_box_set &b) {
        return detail::end(psv_find_pairs_between(get(), &a, &b), context_);
    }
    outcome<void> find_between(span<const psv_aabb> a, span<const psv_aabb> b) {
        psv_buffer place{}, other{};
        psv_status status = boxes_.put(context_, a, &place);
        if (status == PSV_OK) status = others_.put(context_, b, &other);
        const psv_box_set first = boxes_of(place, a.size()), second = boxes_of(other, b.size());
        if (status == PSV_OK) status = psv_find_pairs_between(get(), &first, &second);
        return detail::end(status, context_);
    }
    // The exact number of pairs of the last frame.
    outcome<std::uint64_t> count() {
        std::uint64_t found = 0;
        const psv_status status = psv_finish_pairs(get(), &found);
        return detail::end(status, context_, std::move(found));
    }
    // The pairs of the last frame. On the CPU they are in place, and valid until the next find call.
    outcome<span<const psv_pair>> pairs() {
        std::uint64_t found = 0;
        psv_status status = psv_finish_pairs(get(), &found);
        if (status == PSV_OK && psv_context_backend(context_) != PSV_BACKEND_CPU) {
            copied_.resize(static_cast<std::size_t>(found));
            status = psv_read_pairs(get(), copied_.data(), found, nullptr);
            return detail::end(status, context_, span<const psv_pair>(copied_));
        }
        const void *first = status == PSV_OK ? psv_buffer_address(psv_pair_buffer(get())) : nullptr;
        return detail::end(status, context_,
                           span<const psv_pair>(static_cast<const psv_pair *>(first), static_cast<std::size_t>(found)));
    }
    // Begin and end of pairs against the frame before; the def needs events. Once per frame.
    outcome<pair_events> events() {
        pair_events lists;
        psv_pair_event_lists places{};
        std::uint64_t begins = 0, ends = 0;
        psv_status status = psv_pair_events(get(), &places);
        if (status == PSV_OK) status = psv_download(context_, &begins, places.begin_count, sizeof begins);
        if (status == PSV_OK) status = psv_download(context_, &ends, places.end_count, sizeof ends);
        if (status == PSV_OK) status = detail::read(context_, places.begin, begins, lists.begin);
        if (status == PSV_OK) status = detail::read(context_, places.end, ends, lists.end);
        return detail::end(status, context_, std::move(lists));
    }
    // Tests some boxes of the last frame, which was of this set, with all others: psv_check_pairs.
    outcome<psv_pair_check> check(const psv_box_set &set, std::uint32_t samples) {
        psv_pair_check found{};
        const psv_status status = psv_check_pairs(get(), &set, nullptr, samples, &found);
        return detail::end(status, context_, std::move(found));
    }
    outcome<psv_pair_statistics> statistics() {
        psv_pair_statistics read{};
        const psv_status status = psv_read_pair_statistics(get(), &read);
        return detail::end(status, context_, std::move(read));
    }
    // What the last frame did, in plain words.
    outcome<std::string> explain() {
        std::uint64_t needed = 0;
        std::string text;
        psv_status status = psv_explain_frame(get(), nullptr, 0, &needed);
        if (needed > 0) {
            text.resize(static_cast<std::size_t>(needed));
            status = psv_explain_frame(get(), &text[0], needed, nullptr);
            text.resize(std::strlen(text.c_str()));
        }
        return detail::end(status, context_, std::move(text));
    }

  private:
    pair_finder(psv_context *context, psv_pair_finder *handle) : context_(context), handle_(handle) {}
    psv_context *context_;
    detail::owned<psv_pair_finder, psv_destroy_pair_finder> handle_;
    detail::staging boxes_, others_;
    std::vector<psv_pair> copied_;
    friend outcome<pair_finder> make_pair_finder(context &, const psv_pair_finder_def &);
};

inline outcome<pair_finder> make_pair_finder(context &context, const psv_pair_finder_def &def) {
    psv_pair_finder *made = nullptr;
    const psv_status status = psv_create_pair_finder(context.get(), &def, &made);
    return detail::end(status, context.get(), pair_finder(context.get(), made));
}
// A finder whose room for pairs grows when it is too small.
inline outcome<pair_finder> make_pair_finder(context &context, std::uint64_t max_boxes) {
    psv_pair_finder_def def = psv_default_pair_finder_def();
    def.max_boxes = max_boxes;
    def.grow_pairs = true;
    return make_pair_finder(context, def);
}

class tree {
  public:
    psv_tree *get() const noexcept { return handle_.get(); }
    outcome<void> build(span<const psv_aabb> boxes) { return with_boxes(psv_build_tree, boxes); }
    outcome<void> build(const psv_box_set &boxes) { return detail::end(psv_build_tree(get(), &boxes), context_); }
    outcome<void> refit(span<const psv_aabb> boxes) { return with_boxes(psv_refit_tree, boxes); }
    outcome<void> refit(const psv_box_set &boxes) { return detail::end(psv_refit_tree(get(), &boxes), context_); }
    // `vertices` are three floats each, `triangles` three vertex numbers each. The def needs triangles.
    outcome<void> build(span<const float> vertices, span<const std::uint32_t> triangles) {
        psv_buffer vertex_place{}, index_place{};
        psv_status status = items_.put(context_, vertices, &vertex_place);
        if (status == PSV_OK) status = indices_.put(context_, triangles, &index_place);
        const psv_triangle_set set =
            psv_triangles_of(vertex_place, vertices.size() / 3, index_place, triangles.size() / 3);
        if (status == PSV_OK) status = psv_build_triangle_tree(get(), &set);
        return detail::end(status, context_);
    }
    // One result per query.
    outcome<std::vector<psv_ray_hit>> closest_hits(span<const psv_ray> rays) {
        return ask<psv_ray_hit>(
            rays, 1, [this](const psv_query_set &set, psv_buffer out) { return psv_trace_closest(get(), &set, out); });
    }
    outcome<std::vector<psv_closest_point>> closest_points(span<const psv_sphere> spheres) {
        return ask<psv_closest_point>(spheres, 1, [this](const psv_query_set &set, psv_buffer out) {
            return psv_find_closest(get(), &set, out);
        });
    }
    // k results per query, the nearest first.
    outcome<std::vector<psv_near_item>> nearest(span<const psv_sphere> spheres, std::uint32_t k) {
        return ask<psv_near_item>(spheres, k, [this, k](const psv_query_set &set, psv_buffer out) {
            return psv_find_nearest(get(), &set, k, out);
        });
    }

  private:
    tree(psv_context *context, psv_tree *handle) : context_(context), handle_(handle) {}
    outcome<void> with_boxes(psv_status (*call)(psv_tree *, const psv_box_set *), span<const psv_aabb> boxes) {
        psv_buffer place{};
        psv_status status = items_.put(context_, boxes, &place);
        const psv_box_set set = boxes_of(place, boxes.size());
        if (status == PSV_OK) status = call(get(), &set);
        return detail::end(status, context_);
    }
    template <class R, class Q, class F>
    outcome<std::vector<R>> ask(span<const Q> queries, std::uint32_t each, F call) {
        std::vector<R> found(queries.size() * each);
        psv_buffer place{}, result_place{};
        psv_status status = queries_.put(context_, queries, &place);
        if (status == PSV_OK) status = results_.room(context_, found.data(), found.size() * sizeof(R), &result_place);
        if (status == PSV_OK) status = call(psv_queries_of(place, sizeof(Q), queries.size()), result_place);
        if (status == PSV_OK) status = detail::staging::take(context_, result_place, span<R>(found));
        return detail::end(status, context_, std::move(found));
    }
    psv_context *context_;
    detail::owned<psv_tree, psv_destroy_tree> handle_;
    detail::staging items_, indices_, queries_, results_;
    friend outcome<tree> make_tree(context &, const psv_tree_def &);
};

inline outcome<tree> make_tree(context &context, const psv_tree_def &def) {
    psv_tree *made = nullptr;
    const psv_status status = psv_create_tree(context.get(), &def, &made);
    return detail::end(status, context.get(), tree(context.get(), made));
}
inline outcome<tree> make_tree(context &context, std::uint64_t max_items) {
    psv_tree_def def = psv_default_tree_def();
    def.max_items = max_items;
    return make_tree(context, def);
}
#endif

#if defined(PSV_HPP_SIM)
struct body_ray_hit {
    psv_body_id body;
    float distance; // in lengths of the ray's direction
};

// A world that another object owns, such as a scene.
class world_view {
  public:
    explicit world_view(psv_world *world) noexcept : world_(world) {}
    psv_world *get() const noexcept { return world_; }
    outcome<std::uint32_t> make_shape(const psv_shape_def &def) {
        std::uint32_t shape = 0;
        const psv_status status = psv_create_shape(get(), &def, &shape);
        return detail::end(status, owner(), std::move(shape));
    }
    // A sphere (radius), box (half extents) or the like, with all else by default.
    outcome<std::uint32_t> make_shape(psv_shape_type type, float x, float y, float z) {
        psv_shape_def def = psv_default_shape_def();
        def.type = type;
        def.size[0] = x, def.size[1] = y, def.size[2] = z;
        return make_shape(def);
    }
    outcome<std::uint32_t> make_shape(psv_shape_type type, float size) { return make_shape(type, size, size, size); }
    outcome<psv_body_id> make_body(const psv_body_def &def) {
        psv_body_id id{};
        const psv_status status = psv_create_bodies(get(), &def, 1, &id);
        return detail::end(status, owner(), std::move(id));
    }
    outcome<std::vector<psv_body_id>> make_bodies(span<const psv_body_def> defs) {
        std::vector<psv_body_id> ids(defs.size());
        const psv_status status = psv_create_bodies(get(), defs.data(), defs.size(), ids.data());
        return detail::end(status, owner(), std::move(ids));
    }
    outcome<void> remove(psv_body_id id) { return detail::end(psv_destroy_body(get(), id), owner()); }
    bool has(psv_body_id id) { return psv_body_is_valid(get(), id); }
    outcome<void> step(float seconds) { return detail::end(psv_world_step(get(), seconds), owner()); }
    outcome<psv_body_state> state(psv_body_id id) {
        psv_body_state read{};
        const psv_status status = psv_get_body_state(get(), id, &read);
        return detail::end(status, owner(), std::move(read));
    }
    outcome<std::vector<psv_body_state>> states(span<const psv_body_id> ids) {
        std::vector<psv_body_state> read(ids.size());
        const psv_status status = psv_get_body_states(get(), ids.data(), ids.size(), read.data());
        return detail::end(status, owner(), std::move(read));
    }
    outcome<void> set_state(psv_body_id id, const psv_body_state &state) {
        return detail::end(psv_set_body_state(get(), id, &state), owner());
    }
    outcome<void> set_states(span<const psv_body_id> ids, span<const psv_body_state> states) {
        if (states.size() != ids.size())
            return detail::fail<void>(detail::mismatch("states", states.size(), ids.size()));
        return detail::end(psv_set_body_states(get(), ids.data(), ids.size(), states.data()), owner());
    }
    outcome<void> push(psv_body_id id, const psv_body_impulse &impulse) {
        return detail::end(psv_apply_impulse(get(), id, impulse.impulse, impulse.point), owner());
    }
    // The first body that the ray meets; empty when there is none.
    outcome<std::optional<body_ray_hit>> cast_ray(const psv_ray &ray) {
        body_ray_hit hit{};
        const psv_status status = psv_cast_ray(get(), ray.origin, ray.direction, ray.t_max, &hit.body, &hit.distance);
        std::optional<body_ray_hit> found;
        if (status == PSV_OK && hit.body.index1 != 0) found = hit;
        return detail::end(status, owner(), std::move(found));
    }
    // Contacts and events of the last step; the def needs contact_events.
    outcome<std::vector<psv_contact>> contacts() {
        return listed<psv_contact>(psv_world_contacts, &psv_event_counts::contacts);
    }
    outcome<std::vector<psv_contact_event>> begins() {
        return listed<psv_contact_event>(psv_world_begin_events, &psv_event_counts::begins);
    }
    outcome<std::vector<psv_contact_event>> ends() {
        return listed<psv_contact_event>(psv_world_end_events, &psv_event_counts::ends);
    }
    outcome<std::vector<psv_hit_event>> hits() {
        return listed<psv_hit_event>(psv_world_hit_events, &psv_event_counts::hits);
    }
    // x, y, z and bounding radius (0: empty slot) of each slot.
    outcome<std::vector<float>> positions() { return floats(psv_world_positions); }
    outcome<std::vector<float>> rotations() { return floats(psv_world_rotations); }
    outcome<psv_world_counters> counters() {
        psv_world_counters read{};
        const psv_status status = psv_read_world_counters(get(), &read);
        return detail::end(status, owner(), std::move(read));
    }
    outcome<std::uint64_t> hash() {
        std::uint64_t read = 0;
        const psv_status status = psv_world_hash(get(), &read);
        return detail::end(status, owner(), std::move(read));
    }
    outcome<void> save(const std::string &path) { return detail::end(psv_save_snapshot(get(), path.c_str()), owner()); }

  private:
    psv_context *owner() const noexcept { return psv_world_context(world_); }
    template <class T>
    outcome<std::vector<T>> listed(psv_buffer (*place)(const psv_world *), std::uint64_t psv_event_counts::*part) {
        psv_event_counts counts{};
        std::vector<T> read;
        const psv_buffer where = psv_world_event_counts(get());
        if (where.bytes == 0)
            return detail::fail<std::vector<T>>({PSV_ERROR_ARGUMENT, "the world's def has no contact_events"});
        psv_status status = psv_download(owner(), &counts, where, sizeof counts);
        if (status == PSV_OK) status = detail::read(owner(), place(get()), counts.*part, read);
        return detail::end(status, owner(), std::move(read));
    }
    outcome<std::vector<float>> floats(psv_buffer (*place)(const psv_world *)) {
        std::vector<float> read;
        const psv_status status = detail::read(owner(), place(get()), 4 * psv_world_slot_count(get()), read);
        return detail::end(status, owner(), std::move(read));
    }
    psv_world *world_;
};

class world : public world_view {
  private:
    explicit world(psv_world *handle) : world_view(handle), handle_(handle) {}
    detail::owned<psv_world, psv_destroy_world> handle_;
    friend outcome<world> make_world(context &, const psv_world_def &);
    friend outcome<world> restore_world(context &, const std::string &);
};

inline outcome<world> make_world(context &context, const psv_world_def &def) {
    psv_world *made = nullptr;
    const psv_status status = psv_create_world(context.get(), &def, &made);
    return detail::end(status, context.get(), world(made));
}
inline outcome<world> make_world(context &context) { return make_world(context, psv_default_world_def()); }
inline outcome<world> restore_world(context &context, const std::string &path) {
    psv_world *made = nullptr;
    const psv_status status = psv_restore_snapshot(context.get(), path.c_str(), &made);
    return detail::end(status, context.get(), world(made));
}

class scene {
  public:
    psv_scene *get() const noexcept { return handle_.get(); }
    world_view world() const noexcept { return world_view(psv_scene_world(get())); }
    outcome<void> step() { return detail::end(psv_scene_step(get()), context_); }
    float frame_seconds() const noexcept { return psv_scene_frame_seconds(get()); }

  private:
    scene(psv_context *context, psv_scene *handle) : context_(context), handle_(handle) {}
    psv_context *context_;
    detail::owned<psv_scene, psv_destroy_scene> handle_;
    friend outcome<scene> load_scene(context &, const std::string &, const psv_scene_options &);
};

// A shipped scene by its name, or a file.
inline outcome<scene> load_scene(context &context, const std::string &name, const psv_scene_options &options) {
    psv_scene *made = nullptr;
    const psv_status status = psv_load_scene(context.get(), name.c_str(), &options, &made);
    return detail::end(status, context.get(), scene(context.get(), made));
}
inline outcome<scene> load_scene(context &context, const std::string &name, std::uint64_t bodies = 0) {
    psv_scene_options options = psv_default_scene_options();
    options.bodies = bodies;
    return load_scene(context, name, options);
}
#endif

} // namespace results or exceptions
} // namespace psv
#endif
