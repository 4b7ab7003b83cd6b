package lightgbm

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// The oldest library that is accepted, and the one that the project downloads and tests with.
const (
	minVersion    = "4.2"
	PinnedVersion = "4.7.0"
)

// Constants of LightGBM's C interface.
const (
	typeFloat32   = 0
	rowMajor      = 1
	predictNormal = 0
)

// native holds LightGBM's C functions. Each returns 0, or -1 with a message that lastError reads on the same thread.
type native struct {
	lastError       func() string
	registerLog     func(callback uintptr) int32
	datasetCreate   func(data *float32, dtype, rows, cols, isRowMajor int32, params string, reference uintptr, out *uintptr) int32
	datasetSetField func(handle uintptr, name string, data *float32, n, dtype int32) int32
	datasetFree     func(handle uintptr) int32
	boosterCreate   func(data uintptr, params string, out *uintptr) int32
	boosterUpdate   func(handle uintptr, finished *int32) int32
	boosterSave     func(handle uintptr, start, rounds, importance int32, size int64, length *int64, text *byte) int32
	boosterLoad     func(text string, rounds *int32, out *uintptr) int32
	boosterColumns  func(handle uintptr, columns *int32) int32
	boosterPredict  func(handle uintptr, data *float32, dtype, rows, cols, isRowMajor, kind, start, rounds int32, params string, length *int64, out *float64) int32
	boosterFree     func(handle uintptr) int32
	discard         uintptr                  // a log callback that drops the message
	trim            func(keep uintptr) int32 // malloc_trim of the C library; nil if it has none
}

// bind looks up every function before any is called. GetMaxThreads is not used, because only version 4.2 and newer have
// it.
func bind(handle uintptr) (*native, error) {
	n := &native{discard: discard()}
	for _, f := range []struct {
		name string
		into any
	}{
		{"LGBM_GetLastError", &n.lastError},
		{"LGBM_RegisterLogCallback", &n.registerLog},
		{"LGBM_DatasetCreateFromMat", &n.datasetCreate},
		{"LGBM_DatasetSetField", &n.datasetSetField},
		{"LGBM_DatasetFree", &n.datasetFree},
		{"LGBM_BoosterCreate", &n.boosterCreate},
		{"LGBM_BoosterUpdateOneIter", &n.boosterUpdate},
		{"LGBM_BoosterSaveModelToString", &n.boosterSave},
		{"LGBM_BoosterLoadModelFromString", &n.boosterLoad},
		{"LGBM_BoosterGetNumFeature", &n.boosterColumns},
		{"LGBM_BoosterPredictForMat", &n.boosterPredict},
		{"LGBM_BoosterFree", &n.boosterFree},
	} {
		address, err := purego.Dlsym(handle, f.name)
		if err != nil || address == 0 {
			return nil, fmt.Errorf("has no %s: not a LightGBM library", f.name)
		}
		purego.RegisterFunc(f.into, address)
	}
	if _, err := purego.Dlsym(handle, "LGBM_GetMaxThreads"); err != nil {
		return nil, fmt.Errorf("LightGBM is too old: need %s or newer", minVersion)
	}
	if address, err := purego.Dlsym(purego.RTLD_DEFAULT, "malloc_trim"); err == nil && address != 0 {
		purego.RegisterFunc(&n.trim, address)
	}
	return n, nil
}

// discard is a log callback that drops the message. A process can create only few callbacks, so there is one for all.
var discard = sync.OnceValue(func() uintptr { return purego.NewCallback(func(*byte) {}) })

// worker runs functions on one operating system thread. LightGBM keeps its last error, its log and its OpenMP thread
// team per calling thread. With one thread, errors belong to the right call, the log stays silent, and there is one
// team instead of one for every thread of the Go scheduler.
type worker chan func()

func startWorker() worker {
	w := make(worker)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range w {
			f()
		}
	}()
	return w
}

// do runs f and waits for it.
func (w worker) do(f func()) {
	done := make(chan struct{})
	w <- func() {
		defer close(done)
		f()
	}
	<-done
}

// first is the address of the first element, nil for none.
func first[T any](s []T) *T { return unsafe.SliceData(s) }
