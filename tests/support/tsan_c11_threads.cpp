// C11 threads, made of POSIX ones, for programs under the thread sanitizer. GCC 12's sanitizer knows pthread_create
// and pthread_mutex_lock but not thrd_create and mtx_lock, which librdkafka uses: a thread that it did not see begin
// crashes at its first intercepted call. The definitions here come before the C library's when librdkafka is loaded.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <memory>

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace {

// The lock itself lies in librdkafka's memory, and how librdkafka hands that from thread to thread is not visible. What
// the lock orders still is: only plain reads and writes are left out.
class LibraryMemory {
 public:
  LibraryMemory() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  LibraryMemory(const LibraryMemory&) = delete;
  LibraryMemory& operator=(const LibraryMemory&) = delete;
  ~LibraryMemory() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
};

int result_of(int error) {
  switch (error) {
    case 0: return thrd_success;
    case EBUSY: return thrd_busy;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

// glibc lays its C11 types over the POSIX ones; the sizes are all that a program may rely on.
static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && sizeof(cnd_t) >= sizeof(pthread_cond_t));

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

struct Start {
  thrd_start_t function;
  void* argument;
};

void* begin(void* raw) {
  const std::unique_ptr<Start> start(static_cast<Start*>(raw));
  return reinterpret_cast<void*>(static_cast<long>(start->function(start->argument)));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  auto start = std::make_unique<Start>(Start{function, argument});
  const int error = pthread_create(thread, nullptr, begin, start.get());
  if (error == 0) static_cast<void>(start.release());
  return result_of(error);
}

int thrd_join(thrd_t thread, int* result) {
  void* value = nullptr;
  const int error = pthread_join(thread, &value);
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<long>(value));
  return result_of(error);
}

int mtx_init(mtx_t* mutex, int type) {
  const LibraryMemory library_memory;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, (type & mtx_recursive) != 0 ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
  const int error = pthread_mutex_init(posix(mutex), &attributes);
  pthread_mutexattr_destroy(&attributes);
  return result_of(error);
}

void mtx_destroy(mtx_t* mutex) {
  const LibraryMemory library_memory;
  pthread_mutex_destroy(posix(mutex));
}

int mtx_lock(mtx_t* mutex) {
  const LibraryMemory library_memory;
  return result_of(pthread_mutex_lock(posix(mutex)));
}

int mtx_unlock(mtx_t* mutex) {
  const LibraryMemory library_memory;
  return result_of(pthread_mutex_unlock(posix(mutex)));
}

int cnd_init(cnd_t* condition) {
  const LibraryMemory library_memory;
  return result_of(pthread_cond_init(posix(condition), nullptr));
}

void cnd_destroy(cnd_t* condition) {
  const LibraryMemory library_memory;
  pthread_cond_destroy(posix(condition));
}

int cnd_signal(cnd_t* condition) {
  const LibraryMemory library_memory;
  return result_of(pthread_cond_signal(posix(condition)));
}

int cnd_broadcast(cnd_t* condition) {
  const LibraryMemory library_memory;
  return result_of(pthread_cond_broadcast(posix(condition)));
}

int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  const LibraryMemory library_memory;
  return result_of(pthread_cond_wait(posix(condition), posix(mutex)));
}

int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* deadline) {
  const LibraryMemory library_memory;
  return result_of(pthread_cond_timedwait(posix(condition), posix(mutex), deadline));
}

}  // extern "C"
#pragma GCC visibility pop
