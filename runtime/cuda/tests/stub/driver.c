/* A stub of the CUDA driver and of cuBLAS: device memory is memory of the host, and kernels are the C functions below.
 *
 * Work in a stream is done only when the stream is waited for, so that a premature reuse of page-locked memory is detected. Every entry
 * point counts its calls and can be set to fail at one of them; live objects are counted. Contexts are per thread, as in the real
 * driver; threads take turns at the entry points. With -DANY_KERNEL every entry of an image is a kernel that does nothing. A process
 * that loads the stub as its driver cannot set anything, so -DCAPABILITY and -DDEVICES set the device, -DINIT the status of cuInit,
 * and $STUB_CALLS names a file for the calls. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Status;
enum { OUT_OF_MEMORY = 2, INVALID_VALUE = 1, INVALID_PTX = 218, INVALID_CONTEXT = 201, NOT_FOUND = 500, WRONG_CAPTURE = 900 };

/* ---- what the tests set and read ---- */

static struct { char name[48]; int calls, fail_at, status; } entries[96];
#ifndef CAPABILITY
#define CAPABILITY 90
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef INIT
#define INIT 0
#endif
static int entry_count, live, capability = CAPABILITY, devices = DEVICES;
static size_t memory_free = 1 << 28;
static __thread void *current;

static int entry(const char *name) {
  for (int at = 0; at < entry_count; at++)
    if (!strcmp(entries[at].name, name)) return at;
  strcpy(entries[entry_count].name, name);
  return entry_count++;
}
static int failing(const char *name) {
  int at = entry(name);
  entries[at].calls++;
  return entries[at].calls == entries[at].fail_at ? entries[at].status : 0;
}
void stub_fail(const char *name, int call, int status) { int at = entry(name); entries[at].fail_at = call; entries[at].status = status; }
int stub_calls(const char *name) { return entries[entry(name)].calls; }
int stub_live(void) { return live; }
void stub_capability(int value) { capability = value; }
void stub_devices(int value) { devices = value; }
void stub_memory(size_t bytes) { memory_free = bytes; }
__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("STUB_CALLS");
  FILE *file = path ? fopen(path, "w") : 0;
  if (!file) return;
  for (int at = 0; at < entry_count; at++) fprintf(file, "%s %d\n", entries[at].name, entries[at].calls);
  fclose(file);
}

/* To the end of the entry point; one may call another. */
static pthread_mutex_t driver = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int arrive(void) { return pthread_mutex_lock(&driver); }
static void leave(int *arrived) { (void)arrived, pthread_mutex_unlock(&driver); }

#define ENTER(name) \
  __attribute__((cleanup(leave), unused)) int arrived = arrive(); \
  do { int status = failing(name); if (status) return status; } while (0)
#define ENTER_CONTEXT(name) do { ENTER(name); if (!current) return INVALID_CONTEXT; } while (0)

/* ---- memory ---- */

/* Fresh and freed memory is filled with garbage, up to this number of bytes. */
enum { SPOILT = 1 << 16 };
typedef struct Block { char *start; size_t bytes; int host; struct Block *next; } Block;
static Block *blocks;

static Status allocate(size_t bytes, int host, void **start) {
  if (!host && bytes > memory_free) return OUT_OF_MEMORY;
  Block *block = malloc(sizeof *block);
  block->start = aligned_alloc(256, (bytes + 256) / 256 * 256);
  memset(block->start, 0x5a, bytes < SPOILT ? bytes : SPOILT);
  block->bytes = bytes, block->host = host, block->next = blocks, blocks = block;
  if (!host) memory_free -= bytes;
  *start = block->start;
  live++;
  return 0;
}
static Status release(void *start, int host) {
  for (Block **at = &blocks; *at; at = &(*at)->next)
    if ((*at)->start == start && (*at)->host == host) {
      Block *block = *at;
      *at = block->next;
      if (!host) memory_free += block->bytes;
      memset(block->start, 0xa5, block->bytes < SPOILT ? block->bytes : SPOILT);
      free(block->start), free(block), live--;
      return 0;
    }
  return INVALID_VALUE;
}
static int holds(const void *start, size_t bytes, int host) {
  for (Block *block = blocks; block; block = block->next)
    if (block->host == host && (char *)start >= block->start && (char *)start + bytes <= block->start + block->bytes) return 1;
  return 0;
}

/* ---- kernels ---- */

typedef void (*Body)(const uint64_t *parameters, long thread);
#define REAL(at) ((double *)parameters[at])
/* out[i] = factor * x[i] for i < elements: x, out, factor, elements */
static void scale(const uint64_t *parameters, long thread) {
  if (thread < (long)parameters[3]) REAL(1)[thread] = (double)(long)parameters[2] * REAL(0)[thread];
}
/* total += counter: counter, total */
static void add_counter(const uint64_t *parameters, long thread) {
  if (thread == 0) *REAL(1) += *(int32_t *)parameters[0];
}
/* c = a b by rows: a, b, c, m, n, k, scratch */
static void multiply(const uint64_t *parameters, long thread) {
  long m = parameters[3], n = parameters[4], k = parameters[5];
  if (thread >= m * n) return;
  double *sum = REAL(6) + thread;
  *sum = 0;
  for (long at = 0; at < k; at++) *sum += REAL(0)[thread / n * k + at] * REAL(1)[at * n + thread % n];
  REAL(2)[thread] = *sum;
}
/* to[i, :] = table[indices[i], :]: to, table, indices, words of a row, words in all */
static void gather(const uint64_t *parameters, long thread) {
  long width = parameters[3];
  if (thread >= (long)parameters[4]) return;
  uint32_t row = ((uint32_t *)parameters[2])[thread / width];
  ((uint32_t *)parameters[0])[thread] = ((uint32_t *)parameters[1])[row * width + thread % width];
}
/* l x = b, or transpose(l) x = b, a thread for each right side: l, b, x, batch, n, columns, transposed */
static void triangular(const uint64_t *parameters, long thread) {
  long n = parameters[4], columns = parameters[5], turned = parameters[6];
  if (thread >= (long)parameters[3] * columns) return;
  double *l = REAL(0) + thread / columns * n * n;
  long first = thread / columns * n * columns + thread % columns;
  for (long step = 0; step < n; step++) {
    long i = turned ? n - 1 - step : step;
    double rest = REAL(1)[first + i * columns];
    for (long j = turned ? i + 1 : 0; j < (turned ? n : i); j++)
      rest -= (turned ? l[j * n + i] : l[i * n + j]) * REAL(2)[first + j * columns];
    REAL(2)[first + i * columns] = rest / l[i * n + i];
  }
}
/* The lower factor of a block of a matrix, in place, with nothing above; a thread of each block of threads does it all. Then the rows
 * below, a thread for each: a, l, batch, n, first, rows, below */
#define FACTORS(real, root, name)                                                                                                  \
  static void factor_##name(real *l, long n, long rows) {                                                                          \
    for (long i = 0; i < rows; i++)                                                                                                \
      for (long j = 0; j < rows; j++) {                                                                                            \
        real rest = j > i ? 0 : l[i * n + j];                                                                                      \
        for (long k = 0; k < j && j <= i; k++) rest -= l[i * n + k] * l[j * n + k];                                                \
        l[i * n + j] = j > i ? 0 : i == j ? root(rest) : rest / l[j * n + j];                                                      \
      }                                                                                                                            \
  }                                                                                                                                \
  static void whole_##name(const uint64_t *parameters, long thread) {                                                              \
    long n = parameters[3], block = thread / 128;                                                                                  \
    if (thread % 128 || block >= (long)parameters[2]) return;                                                                      \
    real *l = (real *)parameters[1] + block * n * n;                                                                               \
    memcpy(l, (real *)parameters[0] + block * n * n, n * n * sizeof *l);                                                           \
    factor_##name(l, n, n);                                                                                                        \
  }                                                                                                                                \
  static void diagonal_##name(const uint64_t *parameters, long thread) {                                                           \
    long n = parameters[3], block = thread / 128;                                                                                  \
    if (thread % 128 || block >= (long)parameters[2]) return;                                                                      \
    factor_##name((real *)parameters[1] + block * n * n + parameters[4] * (n + 1), n, parameters[5]);                              \
  }                                                                                                                                \
  static void panel_##name(const uint64_t *parameters, long thread) {                                                              \
    long n = parameters[3], rows = parameters[5], below = parameters[6];                                                           \
    if (thread >= (long)parameters[2] * below) return;                                                                             \
    real *l = (real *)parameters[1] + thread / below * n * n + parameters[4] * (n + 1);                                            \
    long i = rows + thread % below;                                                                                                \
    for (long j = 0; j < rows; j++) {                                                                                              \
      for (long k = 0; k < j; k++) l[i * n + j] -= l[i * n + k] * l[j * n + k];                                                    \
      l[i * n + j] /= l[j * n + j], l[j * n + i] = 0;                                                                              \
    }                                                                                                                              \
  }
FACTORS(float, sqrtf, f32)
FACTORS(double, sqrt, f64)
static void nothing(const uint64_t *parameters, long thread) { (void)parameters, (void)thread; }
static struct { const char *name; Body body; int parameters; } kernels[] = {
  {"scale", scale, 4}, {"add_counter", add_counter, 2}, {"multiply", multiply, 7}, {"bnnc_gather", gather, 5},
  {"triangular", triangular, 7}, {"cholesky_f32", whole_f32, 4}, {"cholesky_diagonal_f32", diagonal_f32, 7},
  {"cholesky_panel_f32", panel_f32, 7}, {"cholesky_f64", whole_f64, 4}, {"cholesky_diagonal_f64", diagonal_f64, 7},
  {"cholesky_panel_f64", panel_f64, 7}, {"", nothing, 0},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* ---- streams ---- */

typedef struct { int m, n, k, turn_a, turn_b, lda, ldb, ldc, batch; long stride_a, stride_b, stride_c; int single, subtracted; } Shape;
typedef struct Work {
  enum { COPY, FILL_BYTES, FILL_WORDS, KERNEL, PRODUCT, SYSTEM, GRAPH } kind;
  char *to, *from;
  size_t bytes;
  unsigned value;
  int kernel;
  long threads;
  uint64_t parameters[8];
  Shape shape;
  void *owned;
  struct List *graph;
  struct Work *next;
} Work;
typedef struct List { Work *first, **last; int capturing; struct List *captured; } List;

static List *list(void) { List *made = calloc(1, sizeof *made); made->last = &made->first; return made; }
static void empty(List *of) {
  for (Work *work = of->first, *next; work; work = next) next = work->next, free(work->owned), free(work);
  of->first = 0, of->last = &of->first;
}
static void push(List *stream, Work work) {
  List *to = stream->capturing ? stream->captured : stream;
  Work *copy = malloc(sizeof *copy);
  *copy = work, copy->next = 0;
  *to->last = copy, to->last = &copy->next;
}
static double load(const Shape *s, const char *of, long at) { return s->single ? ((float *)of)[at] : ((double *)of)[at]; }
static void store(const Shape *s, char *of, long at, double value) {
  if (s->single) ((float *)of)[at] = value;
  else ((double *)of)[at] = value;
}
static long place(int turn, long leading, long row, long column) { return turn ? column + row * leading : row + column * leading; }
static void product(const Shape *s, char *a, char *b, char *c) {
  for (long at = 0; at < s->batch; at++)
    for (long row = 0; row < s->m; row++)
      for (long column = 0; column < s->n; column++) {
        double sum = 0;
        for (long k = 0; k < s->k; k++)
          sum += load(s, a, at * s->stride_a + place(s->turn_a, s->lda, row, k))
               * load(s, b, at * s->stride_b + place(s->turn_b, s->ldb, k, column));
        long to = at * s->stride_c + place(0, s->ldc, row, column);
        store(s, c, to, s->subtracted ? load(s, c, to) - sum : sum);
      }
}
/* X op(A) = B for an upper triangle A; X takes the place of B. */
static void solve(const Shape *s, double *a, double *x) {
  for (long step = 0; step < s->n; step++) {
    long j = s->turn_a ? s->n - 1 - step : step;
    for (long row = 0; row < s->m; row++) {
      double *rest = x + place(0, s->ldb, row, j);
      for (long k = s->turn_a ? j + 1 : 0; k < (s->turn_a ? s->n : j); k++)
        *rest -= x[place(0, s->ldb, row, k)] * a[place(s->turn_a, s->lda, k, j)];
      *rest /= a[place(0, s->lda, j, j)];
    }
  }
}
static void run(List *of) {
  for (Work *work = of->first; work; work = work->next)
    switch (work->kind) {
      case COPY: memcpy(work->to, work->from, work->bytes); break;
      case FILL_BYTES: memset(work->to, (int)work->value, work->bytes); break;
      case FILL_WORDS: for (size_t at = 0; at < work->bytes; at++) ((unsigned *)work->to)[at] = work->value; break;
      case KERNEL: for (long thread = 0; thread < work->threads; thread++) kernels[work->kernel].body(work->parameters, thread); break;
      case PRODUCT: product(&work->shape, work->to, work->from, (char *)work->parameters[0]); break;
      case SYSTEM: solve(&work->shape, (double *)work->to, (double *)work->from); break;
      case GRAPH: run(work->graph); break;
    }
}
static void flush(List *stream) { run(stream); empty(stream); }

/* ---- the driver ---- */

Status cuInit(unsigned flags) { ENTER("cuInit"); return flags ? INVALID_VALUE : INIT; }
Status cuDriverGetVersion(int *version) { ENTER("cuDriverGetVersion"); *version = 12040; return 0; }
Status cuGetErrorName(Status status, const char **text) {
  *text = status == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : status == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX"
        : status == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : status == INVALID_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
        : status == 100 ? "CUDA_ERROR_NO_DEVICE" : status == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : status == 999 ? "CUDA_ERROR_UNKNOWN" : 0;
  return *text ? 0 : INVALID_VALUE;
}
Status cuGetErrorString(Status status, const char **text) { *text = status == 999 ? "unknown error" : "the stub was told to"; return 0; }
Status cuDeviceGetCount(int *count) { ENTER("cuDeviceGetCount"); *count = devices; return 0; }
Status cuDeviceGet(int *device, int number) { ENTER("cuDeviceGet"); *device = 40 + number; return 0; }
Status cuDeviceGetName(char *name, int bytes, int device) { ENTER("cuDeviceGetName"); strncpy(name, "Stub", bytes); return device == 40 ? 0 : INVALID_VALUE; }
Status cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER("cuDeviceGetAttribute");
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : attribute == 97 ? 99 << 10 : 4;
  return device == 40 ? 0 : INVALID_VALUE;
}
Status cuDevicePrimaryCtxRetain(void **context, int device) { ENTER("cuDevicePrimaryCtxRetain"); *context = &live; live++; return device == 40 ? 0 : INVALID_VALUE; }
Status cuDevicePrimaryCtxRelease_v2(int device) { ENTER("cuDevicePrimaryCtxRelease_v2"); live--; return device == 40 ? 0 : INVALID_VALUE; }
Status cuCtxSetCurrent(void *context) { ENTER("cuCtxSetCurrent"); current = context; return 0; }
Status cuMemGetInfo_v2(size_t *free_bytes, size_t *total) { ENTER_CONTEXT("cuMemGetInfo_v2"); *free_bytes = memory_free, *total = 1 << 28; return 0; }
Status cuMemAlloc_v2(uint64_t *address, size_t bytes) { ENTER_CONTEXT("cuMemAlloc_v2"); return allocate(bytes, 0, (void **)address); }
Status cuMemFree_v2(uint64_t address) { ENTER_CONTEXT("cuMemFree_v2"); return release((void *)address, 0); }
Status cuMemHostAlloc(void **start, size_t bytes, unsigned flags) { ENTER_CONTEXT("cuMemHostAlloc"); (void)flags; return allocate(bytes, 1, start); }
Status cuMemFreeHost(void *start) { ENTER_CONTEXT("cuMemFreeHost"); return release(start, 1); }
Status cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, List *stream) {
  ENTER_CONTEXT("cuMemcpyHtoDAsync_v2");
  if (!holds((void *)to, bytes, 0)) return INVALID_VALUE;
  Work work = {.kind = COPY, .to = (char *)to, .from = (char *)from, .bytes = bytes};
  if (!holds(from, bytes, 1)) work.from = work.owned = memcpy(malloc(bytes), from, bytes);
  push(stream, work);
  return 0;
}
Status cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, List *stream) {
  ENTER_CONTEXT("cuMemcpyDtoHAsync_v2");
  if (!holds((void *)from, bytes, 0)) return INVALID_VALUE;
  push(stream, (Work){.kind = COPY, .to = to, .from = (char *)from, .bytes = bytes});
  if (!holds(to, bytes, 1)) flush(stream);
  return 0;
}
Status cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, List *stream) {
  ENTER_CONTEXT("cuMemcpyDtoDAsync_v2");
  if (!holds((void *)to, bytes, 0) || !holds((void *)from, bytes, 0)) return INVALID_VALUE;
  push(stream, (Work){.kind = COPY, .to = (char *)to, .from = (char *)from, .bytes = bytes});
  return 0;
}
Status cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, List *stream) {
  ENTER_CONTEXT("cuMemsetD8Async");
  if (!holds((void *)to, bytes, 0)) return INVALID_VALUE;
  push(stream, (Work){.kind = FILL_BYTES, .to = (char *)to, .value = value, .bytes = bytes});
  return 0;
}
Status cuMemsetD32Async(uint64_t to, unsigned value, size_t words, List *stream) {
  ENTER_CONTEXT("cuMemsetD32Async");
  if (!holds((void *)to, 4 * words, 0)) return INVALID_VALUE;
  push(stream, (Work){.kind = FILL_WORDS, .to = (char *)to, .value = value, .bytes = words});
  return 0;
}
Status cuStreamCreate(List **stream, unsigned flags) { ENTER_CONTEXT("cuStreamCreate"); *stream = list(), live++; return flags == 1 ? 0 : INVALID_VALUE; }
Status cuStreamSynchronize(List *stream) { ENTER_CONTEXT("cuStreamSynchronize"); if (stream->capturing) return WRONG_CAPTURE; flush(stream); return 0; }
Status cuStreamDestroy_v2(List *stream) { ENTER_CONTEXT("cuStreamDestroy_v2"); flush(stream), free(stream), live--; return 0; }
Status cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  ENTER_CONTEXT("cuModuleLoadDataEx");
  for (unsigned at = 0; at + 1 < count && strstr(image, "broken"); at++)
    if (options[at] == 5 && (size_t)values[at + 1] > 64) strcpy(values[at], "ptxas application, line 7; error : Unknown symbol 'broken'");
  if (strstr(image, "broken")) return INVALID_PTX;
  *module = strdup(image), live++;
  return 0;
}
Status cuModuleUnload(void *module) { ENTER_CONTEXT("cuModuleUnload"); free(module), live--; return 0; }
Status cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTER_CONTEXT("cuModuleGetFunction");
  for (int at = 0; at < KERNELS; at++)
    if (!strcmp(kernels[at].name, name) && strstr(module, name)) { *function = &kernels[at]; return 0; }
#ifdef ANY_KERNEL
  if (strstr(module, name)) { *function = &kernels[KERNELS - 1]; return 0; }
#endif
  return NOT_FOUND;
}
Status cuFuncSetAttribute(void *function, int attribute, int value) { ENTER_CONTEXT("cuFuncSetAttribute"); return function && attribute == 8 && value <= 99 << 10 ? 0 : INVALID_VALUE; }
Status cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                      List *stream, void **parameters, void **extra) {
  ENTER_CONTEXT("cuLaunchKernel");
  (void)shared;
  if (extra || !gx || !gy || !gz || !bx || !by || !bz) return INVALID_VALUE;
  Work work = {.kind = KERNEL, .threads = (long)gx * gy * gz * bx * by * bz};
  while (&kernels[work.kernel] != function) work.kernel++;
  for (int at = 0; at < kernels[work.kernel].parameters; at++) work.parameters[at] = *(uint64_t *)parameters[at];
  push(stream, work);
  return 0;
}
Status cuStreamBeginCapture_v2(List *stream, int mode) {
  ENTER_CONTEXT("cuStreamBeginCapture_v2");
  if (stream->capturing || mode != 1) return WRONG_CAPTURE;
  stream->capturing = 1, stream->captured = list();
  return 0;
}
Status cuStreamEndCapture(List *stream, List **graph) {
  if (!stream->capturing) return WRONG_CAPTURE;
  stream->capturing = 0, *graph = 0;
  int status = failing("cuStreamEndCapture");
  if (status) { empty(stream->captured), free(stream->captured); return status; }
  *graph = stream->captured, live++;
  return 0;
}
Status cuGraphInstantiateWithFlags(List **exec, List *graph, uint64_t flags) {
  ENTER_CONTEXT("cuGraphInstantiateWithFlags");
  *exec = list(), live++;
  for (Work *work = graph->first; work; work = work->next) push(*exec, *work);
  return flags ? INVALID_VALUE : 0;
}
#ifndef WITHOUT_GRAPHS
Status cuGraphLaunch(List *exec, List *stream) { ENTER_CONTEXT("cuGraphLaunch"); push(stream, (Work){.kind = GRAPH, .graph = exec}); return 0; }
#endif
Status cuGraphDestroy(List *graph) { ENTER_CONTEXT("cuGraphDestroy"); empty(graph), free(graph), live--; return 0; }
Status cuGraphExecDestroy(List *exec) { ENTER_CONTEXT("cuGraphExecDestroy"); empty(exec), free(exec), live--; return 0; }

/* ---- cuBLAS ---- */

#ifdef WITH_BLAS
typedef struct { List *stream; uint64_t workspace; } Handle;
Status cublasGetProperty(int which, int *value) { *value = which == 0 ? 12 : which == 1 ? 4 : 2; return 0; }
const char *cublasGetStatusString(Status status) { return status == 13 ? "CUBLAS_STATUS_EXECUTION_FAILED" : 0; }
Status cublasCreate_v2(Handle **handle) { ENTER_CONTEXT("cublasCreate_v2"); *handle = calloc(1, sizeof **handle), live++; return 0; }
Status cublasDestroy_v2(Handle *handle) { ENTER_CONTEXT("cublasDestroy_v2"); free(handle), live--; return 0; }
Status cublasSetStream_v2(Handle *handle, List *stream) { ENTER_CONTEXT("cublasSetStream_v2"); handle->stream = stream; return 0; }
Status cublasSetWorkspace_v2(Handle *handle, uint64_t address, size_t bytes) {
  ENTER_CONTEXT("cublasSetWorkspace_v2");
  handle->workspace = address;
  return address % 256 == 0 && holds((void *)address, bytes, 0) ? 0 : 7;
}
static Status ask(Handle *handle, Shape shape, uint64_t a, uint64_t b, uint64_t c, double one, double zero) {
  shape.subtracted = one == -1;
  if ((one != 1 || zero != 0) && (one != -1 || zero != 1)) return 7;
  if (shape.ldc < shape.m || shape.lda < (shape.turn_a ? shape.k : shape.m) || shape.ldb < (shape.turn_b ? shape.n : shape.k)) return 7;
  Work work = {.kind = PRODUCT, .to = (char *)a, .from = (char *)b, .shape = shape};
  work.parameters[0] = c;
  push(handle->stream, work);
  return 0;
}
#define PRODUCTS(letter, real, single)                                                                                             \
  Status cublas##letter##gemm_v2(Handle *handle, int ta, int tb, int m, int n, int k, const real *one, uint64_t a, int lda,        \
                                 uint64_t b, int ldb, const real *zero, uint64_t c, int ldc) {                                     \
    ENTER_CONTEXT("cublas" #letter "gemm_v2");                                                                                     \
    return ask(handle, (Shape){m, n, k, ta, tb, lda, ldb, ldc, 1, 0, 0, 0, single}, a, b, c, *one, *zero);                         \
  }                                                                                                                                \
  Status cublas##letter##gemmStridedBatched(Handle *handle, int ta, int tb, int m, int n, int k, const real *one, uint64_t a,      \
                                            int lda, long sa, uint64_t b, int ldb, long sb, const real *zero, uint64_t c, int ldc, \
                                            long sc, int batch) {                                                                  \
    ENTER_CONTEXT("cublas" #letter "gemmStridedBatched");                                                                          \
    return ask(handle, (Shape){m, n, k, ta, tb, lda, ldb, ldc, batch, sa, sb, sc, single}, a, b, c, *one, *zero);                  \
  }
PRODUCTS(D, double, 0)
PRODUCTS(S, float, 1)
Status cublasDtrsm_v2(Handle *handle, int side, int triangle, int turn, int unit, int m, int n, const double *one, uint64_t a, int lda,
                      uint64_t b, int ldb) {
  ENTER_CONTEXT("cublasDtrsm_v2");
  if (side != 1 || triangle != 1 || turn > 1 || unit || *one != 1 || lda < n || ldb < m || m < 1 || n < 1) return 7;
  if (!holds((void *)a, 8L * n * n, 0) || !holds((void *)b, 8L * m * n, 0)) return 7;
  push(handle->stream, (Work){.kind = SYSTEM, .to = (char *)a, .from = (char *)b,
                              .shape = {.m = m, .n = n, .turn_a = turn, .lda = lda, .ldb = ldb}});
  return 0;
}
Status cublasStrsm_v2(void) { return 15; }
#endif
