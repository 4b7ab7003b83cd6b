package ort

/*
#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
enum { PIPE_FLUSH = 0x8040 }; // flush results to zero, read denormals as zero
static uint64_t pipe_fp_get(void) { return _mm_getcsr(); }
static void pipe_fp_set(uint64_t v) { _mm_setcsr((unsigned)v); }
#elif defined(__aarch64__)
enum { PIPE_FLUSH = 1 << 24 };
static uint64_t pipe_fp_get(void) { uint64_t v; __asm__ volatile("mrs %0, fpcr" : "=r"(v)); return v; }
static void pipe_fp_set(uint64_t v) { __asm__ volatile("msr fpcr, %0" : : "r"(v)); }
#else
enum { PIPE_FLUSH = 0 };
static uint64_t pipe_fp_get(void) { return 0; }
static void pipe_fp_set(uint64_t v) { (void)v; }
#endif

static uint64_t pipe_fp_flush(void) {
	uint64_t old = pipe_fp_get();
	pipe_fp_set(old | PIPE_FLUSH);
	return old;
}
*/
import "C"

import "runtime"

// flushingDenormals runs f on this thread with denormals flushed to zero. The runtime sets this mode for its worker
// threads, but for the calling thread only once per process, and a goroutine can be on any thread.
func flushingDenormals(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	old := C.pipe_fp_flush()
	defer C.pipe_fp_set(old)
	return f()
}

// keepingFloatMode runs f, which may change the floating-point mode of the thread, and restores the mode, because other
// Go code on that thread must not inherit it.
func keepingFloatMode(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	old := C.pipe_fp_get()
	defer func() { C.pipe_fp_set(old) }()
	return f()
}
